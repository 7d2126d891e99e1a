"""One factor more for a low-rank matrix, from what the others leave of its bilinear measurements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnpolyak.base.trees import Tree
from gnpolyak.problem.maps import LowRank
from gnpolyak.problem.sensing import BilinearSensing
from gnpolyak.starts.leading import leading_pair
from gnpolyak.starts.low_rank import opened, placed, unexplained
from gnpolyak.starts.table import LARGER


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
    p, q = (np.asarray(each, np.float64) for each in (problem.sensing.p, problem.sensing.q))
    u, v, place = opened(problem, x, (p.shape[1], q.shape[1]))
    left = unexplained(problem, (u, v), place, first=x is None)
    return None if left is None else placed(u, v, place, *_pair(p, q, *left, seed))


@dataclass(frozen=True)
class _Moment:
    """Σ wᵢ pᵢqᵢᵀ, known by its products."""

    p: np.ndarray
    q: np.ndarray
    w: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        return self.p.shape[1], self.q.shape[1]

    @property
    def T(self) -> _Moment:  # noqa: N802
        return _Moment(self.q, self.p, self.w)

    def __matmul__(self, z: np.ndarray) -> np.ndarray:
        images = (self.q @ z).T * self.w
        return self.p.T @ images.T


def _pair(p: np.ndarray, q: np.ndarray, r: np.ndarray, cut: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two vectors of one length, (pᵢᵀu)(qᵢᵀv) ≈ rᵢ for most i."""
    left, _, right = leading_pair(_Moment(p, q, cut), seed)
    length = _slope((p @ left) * (q @ right), r)
    root = np.sqrt(abs(length))
    return np.sign(length) * root * left, root * right


def _slope(t: np.ndarray, r: np.ndarray) -> float:
    """The s that minimises Σ |rᵢ − s tᵢ|: the median of r/t with weights |t|."""
    seen = (t != 0) & (r != 0)
    ratio, weight = r[seen] / t[seen], np.abs(t[seen])
    order = np.argsort(ratio)
    total = np.cumsum(weight[order])
    return float(ratio[order][np.searchsorted(total, total[-1] / 2)])
