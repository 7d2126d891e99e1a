"""One factor more for a low-rank matrix, from what the others leave of its bilinear measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnpolyak.base.streams import is_streamed
from gnpolyak.base.trees import Tree
from gnpolyak.problem.maps import LowRank
from gnpolyak.problem.sensing import BilinearSensing
from gnpolyak.problem.streams import blocks
from gnpolyak.starts.leading import leading_pair
from gnpolyak.starts.low_rank import opened, placed, unexplained
from gnpolyak.starts.table import LARGER

Pair = tuple[np.ndarray, np.ndarray]


@LARGER.register(LowRank, BilinearSensing)
def larger(problem: Any, x: Tree | None = None, *, seed: int = 0) -> Tree | None:
    """(U, V) with one factor more: the pair that explains most of b − A(UVᵀ).

    For rows with independent entries, (1/m) Σ ψ(rᵢ) pᵢqᵢᵀ is the matrix that is left, but for a factor and for noise;
    ψ cuts at two standard deviations, so that an outlier weighs no more than a good datum. Its leading singular pair
    gives the directions, and the median of what is left of the data along them gives the length.

    Parameters
    ----------
    problem : Composite
        A penalty of residuals (L1) of `BilinearSensing` of `LowRank`.
    x : pair of ndarray, optional
        Factors (U, V) that do not explain the data; the first column that is zero in both is filled. None for a
        first one.
    seed : int
        Seed of the few random numbers used.

    Returns
    -------
    pair of numpy.ndarray or None
        In the problem's floating type; None where nothing is left to explain, or the rank is full.
    """
    sensing = problem.sensing
    u, v, place = opened(problem, x, (sensing.p.shape[1], sensing.q.shape[1]))
    left = unexplained(problem, (u, v), place, first=x is None)
    return None if left is None else placed(u, v, place, *_pair(sensing, *left, seed))


@dataclass(frozen=True)
class _Moment:
    """Σ wᵢ pᵢqᵢᵀ, known by its products."""

    sides: Callable[[], Iterator[Pair]]
    """Some rows of p and q at a time, each pair once."""
    shape: tuple[int, int]
    w: np.ndarray

    @property
    def T(self) -> _Moment:  # noqa: N802
        return _Moment(lambda: ((q, p) for p, q in self.sides()), self.shape[::-1], self.w)

    def __matmul__(self, z: np.ndarray) -> np.ndarray:
        total, at = np.zeros((self.shape[0], *z.shape[1:])), 0
        for p, q in self.sides():
            images = (q @ z).T * self.w[at : at + len(q)]
            total, at = total + p.T @ images.T, at + len(q)
        return total


def _rows(sensing: BilinearSensing) -> Iterator[Pair]:
    """All rows at once where they are in memory, else a block of them at a time."""
    for part in (block.part for block in blocks(sensing)) if is_streamed(sensing) else (sensing,):
        yield np.asarray(part.p, np.float64), np.asarray(part.q, np.float64)


def _pair(sensing: BilinearSensing, r: np.ndarray, cut: np.ndarray, seed: int) -> Pair:
    """Two vectors of one length, (pᵢᵀu)(qᵢᵀv) ≈ rᵢ for most i."""
    shape = sensing.p.shape[1], sensing.q.shape[1]
    left, _, right = leading_pair(_Moment(lambda: _rows(sensing), shape, cut), seed)
    length = _slope(np.concatenate([(p @ left) * (q @ right) for p, q in _rows(sensing)]), r)
    root = np.sqrt(abs(length))
    return np.sign(length) * root * left, root * right


def _slope(t: np.ndarray, r: np.ndarray) -> float:
    """The s that minimises Σ |rᵢ − s tᵢ|: the median of r/t with weights |t|."""
    seen = (t != 0) & (r != 0)
    ratio, weight = r[seen] / t[seen], np.abs(t[seen])
    order = np.argsort(ratio)
    total = np.cumsum(weight[order])
    return float(ratio[order][np.searchsorted(total, total[-1] / 2)])
