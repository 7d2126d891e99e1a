"""One factor more for a low-rank matrix, from what the others leave of its bilinear measurements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnpolyak.base.trees import Tree
from gnpolyak.problem.maps import LowRank
from gnpolyak.problem.sensing import BilinearSensing
from gnpolyak.starts.host import on_host
from gnpolyak.starts.leading import leading_pair
from gnpolyak.starts.low_rank import opened, placed, unexplained
from gnpolyak.starts.rows import Rows
from gnpolyak.starts.table import LARGER

# Up to this many rows or columns the matrix of a moment is formed; beyond, it is known by its products.
_LARGEST_FORMED = 200


@LARGER.register(LowRank, BilinearSensing)
@on_host
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
    shape = problem.sensing.p.shape[1], problem.sensing.q.shape[1]
    u, v, place = opened(problem, x, shape)
    rows = Rows.of([problem.sensing.p, problem.sensing.q], u.dtype)
    z = rows.joined(lambda p, q: np.einsum("ij,ij->i", p @ u, q @ v))
    left = unexplained(problem, z, place < min(shape), first=x is None)
    return None if left is None else placed(u, v, place, *_pair(rows, *left, seed))


@dataclass(frozen=True)
class _Moment:
    """Σ wᵢ pᵢqᵢᵀ, known by its products."""

    rows: Rows
    w: np.ndarray
    flipped: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        first, second = self._turned(*self.rows.stored)
        return first.shape[1], second.shape[1]

    @property
    def T(self) -> _Moment:  # noqa: N802
        return _Moment(self.rows, self.w, not self.flipped)

    def __matmul__(self, z: np.ndarray) -> np.ndarray:
        def some(p: np.ndarray, q: np.ndarray, w: np.ndarray) -> np.ndarray:
            first, second = self._turned(p, q)
            return first.T @ (w * (second @ z).T).T

        return self.rows.summed(some, self.w)

    def formed(self) -> np.ndarray:
        """The sum as a matrix."""
        return self.rows.summed(lambda p, q, w: p.T @ (w[:, None] * q), self.w)

    def _turned(self, p: Any, q: Any) -> tuple[Any, Any]:
        return (q, p) if self.flipped else (p, q)


def _pair(rows: Rows, r: np.ndarray, cut: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two vectors of one length, (pᵢᵀu)(qᵢᵀv) ≈ rᵢ for most i."""
    moment = _Moment(rows, cut.astype(rows.dtype))
    small = min(moment.shape) <= _LARGEST_FORMED
    left, _, right = leading_pair(moment.formed() if small else moment, seed)
    length = _slope(rows.joined(lambda p, q: (p @ left.astype(p.dtype)) * (q @ right.astype(q.dtype))), r)
    root = np.sqrt(abs(length))
    return np.sign(length) * root * left, root * right


def _slope(t: np.ndarray, r: np.ndarray) -> float:
    """The s that minimises Σ |rᵢ − s tᵢ|: the median of r/t with weights |t|."""
    seen = (t != 0) & (r != 0)
    ratio, weight = r[seen] / t[seen], np.abs(t[seen])
    order = np.argsort(ratio)
    total = np.cumsum(weight[order])
    return float(ratio[order][np.searchsorted(total, total[-1] / 2)])
