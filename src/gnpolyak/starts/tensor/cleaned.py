"""A tensor of low multilinear rank from entries some of which are garbage.

With L the tensor so far and R = T − L, the entries are taken as L + R, cut at ±τ, and projected to the rank, again and
again: steps of length one on Huber's loss, whose level τ never falls below three standard deviations of the residuals,
by their median. It falls no faster than by a fifth each time: entries far above the median are often signal, and are
reached as long as τ is not small yet. The ranks grow one by one, so that small singular values, which the data
do not show, are what is left of them when the large ones are explained.

Where only some entries were seen, R is zero elsewhere and divided by the share that was: its mean is then T − L.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnpolyak.base import halting
from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.numbers import is_whole
from gnpolyak.starts.tensor.seen import Seen

# Three standard deviations of the normal law with that median.
_CUT = 3 * 1.4826
_SLOWEST = 0.8
# Projections for each rank on the way, and for the last: the level falls to a tenth, and to a thousandth.
_ON_THE_WAY, _AT_LAST = 10, 30
# It falls no further: of few entries, a row that is found late would be taken for garbage by the others' median, and a
# solve that starts there would do the same.
_LEAST_FALL = 1e-3
# A change of the residuals in one projection after which more of them change nothing.
_SETTLED = 1e-4
# Where ranks are to be found: the most projections for one, in which the level falls to 1e-8; a fall of the residuals
# in ten of them that is none; and the share of the data at which nothing is left.
_FOR_RANKS, _STALLED, _EXPLAINED = 80, 0.9, 1e-5
# Ranks that are tried beyond one that explained more than the last.
_PATIENCE = 2


@dataclass(frozen=True)
class Cleaned:
    """The projection of the cleaned entries: C ×₁ A ×₂ B … with orthonormal factors."""

    core: np.ndarray
    factors: tuple[np.ndarray, ...]
    data: int
    """How many entries were seen."""
    level: float
    """τ."""
    scale: float
    """Three standard deviations of the residuals, by their median: what τ would be if it could fall at once."""

    def worth(self, before: Cleaned) -> bool:
        """Whether larger ranks earned their variables, by the Bayesian information criterion for the scale."""
        variables = self._variables() - before._variables()
        m = self.data
        return bool(m * np.log(before.scale / max(self.scale, np.finfo(float).tiny)) > variables * np.log(m) / 2)

    def _variables(self) -> int:
        return self.core.size + sum((a.shape[0] - a.shape[1]) * a.shape[1] for a in self.factors)


def cleaned(t: Seen, ranks: tuple[int, ...]) -> Cleaned:
    """The tensor of these ranks, from data of which a minority is anything."""
    found = None
    for stage in range(1, max(ranks) + 1):
        rounds = _AT_LAST if stage == max(ranks) else _ON_THE_WAY
        found = _projected(t, found, tuple(min(stage, r) for r in ranks), rounds)
    assert found is not None
    return found


def estimated(t: Seen) -> Cleaned:
    """The tensor whose rank, the same along all axes, is as large as its data speak for."""
    nothing = _nothing(t)
    kept = found = _settled(t, None, (1,) * len(t.shape))
    for stage in range(2, max(t.shape) + 1):
        if found.scale <= nothing or stage > max(kept.core.shape) + _PATIENCE or halting.is_hurried():
            break
        found = _settled(t, found, tuple(min(stage, d) for d in t.shape))
        kept = found if found.scale <= nothing or found.worth(kept) else kept
    return cleaned(t, kept.core.shape)


def trimmed(t: Seen, given: Cleaned) -> Cleaned:
    """The tensor with the ranks, along each axis, that are worth their variables."""
    found = given
    for k in range(len(t.shape)):
        while found.core.shape[k] > 1 and not halting.is_hurried():
            ranks = tuple(r - (axis == k) for axis, r in enumerate(found.core.shape))
            fewer = _settled(t, found, ranks)
            if fewer.scale > _nothing(t) and found.worth(fewer):
                break
            found = fewer
    return found if found is given else cleaned(t, found.core.shape)


def _nothing(t: Seen) -> float:
    return _EXPLAINED * _CUT * float(np.median(np.abs(t.data)))


def _settled(t: Seen, start: Cleaned | None, ranks: tuple[int, ...]) -> Cleaned:
    """The projection to these ranks, when the residuals do not fall any more or are nothing."""
    found, scale, level = start, np.inf, 0.0
    for _ in halting.rounds(_FOR_RANKS // _ON_THE_WAY):
        found = _projected(t, found, ranks, _ON_THE_WAY, level)
        stalled = found.level <= found.scale and found.scale > _STALLED * scale
        if found.scale <= _nothing(t) or stalled:
            break
        scale, level = found.scale, found.level
    assert found is not None
    return found


def _projected(t: Seen, start: Cleaned | None, ranks: tuple[int, ...], rounds: int, level: float = 0.0) -> Cleaned:
    low = np.zeros(t.shape) if start is None else times(start.core, start.factors)
    found, first, scale = start, 0.0, np.inf
    # The fewer entries were seen, the less a projection brings in.
    for _ in halting.rounds(rounds * t.passes):
        r = t.left(low)
        # The upper one of two medians: it is half the work of their mean.
        middle = r.size // 2
        last, scale = scale, _CUT * float(np.partition(np.abs(r), middle, axis=None)[middle])
        level = max(scale, _SLOWEST * level)
        first = first or level
        filled = low + t.spread(cut(r, level))
        factors = tuple(_leading(unfolded(filled, k), rank) for k, rank in enumerate(ranks))
        found = Cleaned(times(filled, [a.T for a in factors]), factors, r.size, level, scale)
        low = times(found.core, factors)
        settled = level == scale and abs(last - scale) <= _SETTLED * scale
        if settled or level <= max(_LEAST_FALL * first, 100 * np.finfo(np.float64).eps * np.max(np.abs(low))):
            break
    assert found is not None
    return found


def cut(r: np.ndarray, level: float) -> np.ndarray:
    """The residuals cut at the level, those beyond it less their mean: garbage of one sign is not taken for signal."""
    clipped = np.clip(r, -level, level)
    beyond = clipped != r
    count = np.count_nonzero(beyond)
    return clipped - beyond * (float(np.sum(clipped, where=beyond)) / count) if count else clipped


def _leading(matrix: np.ndarray, rank: int) -> np.ndarray:
    """The leading left singular vectors of a wide matrix."""
    return np.linalg.eigh(matrix @ matrix.T)[1][:, ::-1][:, :rank]


def times(core: np.ndarray, matrices: tuple[np.ndarray, ...] | list[np.ndarray]) -> np.ndarray:
    """The core times a matrix along each of its axes."""
    for matrix in matrices:
        first, *rest = core.shape
        core = (core.reshape(first, -1).T @ matrix.T).reshape(*rest, len(matrix))
    return core


def unfolded(tensor: np.ndarray, k: int) -> np.ndarray:
    """The tensor as a matrix whose rows go along axis k."""
    return np.moveaxis(tensor, k, 0).reshape(tensor.shape[k], -1)


def checked_ranks(rank: int | str | tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """One rank for each axis, from one for all or a tuple; None for "auto"."""
    if isinstance(rank, str) and rank == "auto":
        return None
    ranks: tuple[Any, ...] = tuple(rank) if isinstance(rank, (tuple, list)) else (rank,) * len(shape)
    if len(ranks) != len(shape) or not all(is_whole(r, 1) and r <= d for r, d in zip(ranks, shape, strict=True)):
        raise InputError(
            given=f"rank={shown(rank)} for a tensor of shape {shape}",
            needed="a rank for each axis, between 1 and its dimension, or 'auto'",
            missing="valid ranks",
            advice="pass rank=(3, 3, 3), or leave it at 'auto'",
        )
    return tuple(int(r) for r in ranks)
