"""A tensor of low multilinear rank from entries some of which are garbage.

With L the tensor so far and R = T − L, the entries are taken as L + clip(R, ±τ) and projected to the rank, again and
again: steps of length one on Huber's loss, whose level τ never falls below three standard deviations of the residuals,
by their median. It falls no faster than by a fifth each time: entries far above the median are often signal, and are
reached as long as τ is not small yet. The ranks grow one by one, so that small singular values, which the data
do not show, are what is left of them when the large ones are explained.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnpolyak.base.errors import InputError
from gnpolyak.base.numbers import is_whole
from gnpolyak.problem.capabilities import RESIDUALS
from gnpolyak.problem.composite import Composite

# Three standard deviations of the normal law with that median.
_CUT = 3 * 1.4826
_SLOWEST = 0.8
# Projections for each rank on the way, and for the last: the level falls to a tenth, and to a thousandth.
_ON_THE_WAY, _AT_LAST = 10, 30


@dataclass(frozen=True)
class Cleaned:
    """The projection of the cleaned entries: C ×₁ A ×₂ B … with orthonormal factors."""

    core: np.ndarray
    factors: tuple[np.ndarray, ...]
    filled: np.ndarray
    """L + clip(R, ±τ), which was projected."""
    level: float
    """τ."""

    def significant(self) -> tuple[int, ...]:
        """How many singular values of each unfolding are larger than those of entries of size τ at random would be."""
        counts = []
        for k, d in enumerate(self.filled.shape):
            values = np.linalg.svd(unfolded(self.filled, k), compute_uv=False)
            random = self.level * (np.sqrt(d) + np.sqrt(self.filled.size / d))
            counts.append(max(1, int(np.sum(values > random))))
        return tuple(counts)


def data_of(problem: Composite) -> tuple[np.ndarray, np.dtype]:
    """The tensor of data in double precision, and the type that the start is wanted in."""
    problem.penalty.require(RESIDUALS, "a start from the data", "pass x0")
    given = np.asarray(problem.penalty.b)  # type: ignore[attr-defined]
    t = given.astype(np.float64)
    if t.ndim < 2 or not np.median(np.abs(t)) > 0:
        silent = t.ndim >= 2
        raise InputError(
            given=f"data of shape {t.shape}" + (", half of which or more are zero" if silent else ""),
            needed="a tensor of data that measure something",
            missing="a signal" if silent else "two axes or more",
            advice="check how b was filled, or pass an x0 of your own",
        )
    return t, given.dtype if given.dtype.kind == "f" else np.dtype(np.float64)


def cleaned(t: np.ndarray, ranks: tuple[int, ...]) -> Cleaned:
    """The tensor of these ranks, from data of which a minority is anything."""
    found = None
    for stage in range(1, max(ranks) + 1):
        rounds = _AT_LAST if stage == max(ranks) else _ON_THE_WAY
        found = _projected(t, found, tuple(min(stage, r) for r in ranks), rounds)
    assert found is not None
    return found


def estimated(t: np.ndarray) -> Cleaned:
    """The tensor whose ranks are as large as its data speak for."""
    found, stage = None, 0
    while found is None or (max(found.significant()) > stage and stage < max(t.shape)):
        stage += 1
        found = _projected(t, found, tuple(min(stage, d) for d in t.shape), _ON_THE_WAY)
    found = _projected(t, found, found.core.shape, _AT_LAST)
    return cleaned(t, found.significant())


def _projected(t: np.ndarray, start: Cleaned | None, ranks: tuple[int, ...], rounds: int) -> Cleaned:
    low = np.zeros_like(t) if start is None else times(start.core, start.factors)
    level, found = 0.0, start
    for _ in range(rounds):
        r = t - low
        level = max(_CUT * float(np.median(np.abs(r))), _SLOWEST * level)
        filled = low + np.clip(r, -level, level)
        factors = tuple(_leading(unfolded(filled, k), rank) for k, rank in enumerate(ranks))
        found = Cleaned(times(filled, [a.T for a in factors]), factors, filled, level)
        low = times(found.core, factors)
        if level <= 100 * np.finfo(np.float64).eps * np.max(np.abs(low)):
            break
    assert found is not None
    return found


def _leading(matrix: np.ndarray, rank: int) -> np.ndarray:
    """The leading left singular vectors of a wide matrix."""
    return np.linalg.eigh(matrix @ matrix.T)[1][:, ::-1][:, :rank]


def times(core: np.ndarray, matrices: tuple[np.ndarray, ...] | list[np.ndarray]) -> np.ndarray:
    """The core times a matrix along each of its axes."""
    for matrix in matrices:
        core = np.tensordot(core, matrix, axes=(0, 1))
    return core


def unfolded(tensor: np.ndarray, k: int) -> np.ndarray:
    """The tensor as a matrix whose rows go along axis k."""
    return np.moveaxis(tensor, k, 0).reshape(tensor.shape[k], -1)


def checked_ranks(rank: int | str | tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """One rank for each axis, from one for all or a tuple; None for "auto"."""
    if isinstance(rank, str) and rank == "auto":
        return None
    ranks = tuple(rank) if isinstance(rank, (tuple, list)) else (rank,) * len(shape)
    if len(ranks) != len(shape) or not all(is_whole(r, 1) and r <= d for r, d in zip(ranks, shape, strict=True)):
        raise InputError(
            given=f"rank={rank!r} for a tensor of shape {shape}",
            needed="a rank for each axis, between 1 and its dimension, or 'auto'",
            missing="valid ranks",
            advice="pass rank=(3, 3, 3), or leave it at 'auto'",
        )
    return tuple(int(r) for r in ranks)
