"""Which measurements are corrupted, once a sharp solution has told the good from the bad."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Map
from gnpolyak.problem.penalties import L1, L2
from gnpolyak.problem.sensing import Identity, Sensing

# At a sharp solution good residuals are at rounding level and bad ones are not. A factor of 1,000 between two
# neighbours in size is no accident; without one, nothing is judged.
_GAP = 1e3
# Residuals below this share of the data's median size are those of an exact fit.
_EXACT = 1e-6


def corrupted(residuals: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """The indices of corrupted measurements, or None when good and bad do not separate.

    Sorted by size, the residuals of a sharp solution fall into two groups with a wide gap between them. At least half
    of the measurements must be good.

    Parameters
    ----------
    residuals : ndarray
        A(c(x)) − b.
    b : ndarray
        The data, which set the scale below which a residual is rounding.
    """
    sizes = np.abs(residuals.ravel())
    if not sizes.size:
        return np.array([], dtype=int)
    scale = np.median(np.abs(b)) or np.max(np.abs(b))
    if scale == 0:
        # Data that are all zero set no scale by which a residual could be called small.
        return None
    eps = np.finfo(sizes.dtype).eps
    if sizes.max() <= max(_EXACT, 1e3 * eps) * scale:
        return np.array([], dtype=int)
    ordered = np.sort(sizes)
    floor = eps * scale
    good = np.maximum(ordered[(len(ordered) - 1) // 2 : -1], floor)
    ratios = ordered[(len(ordered) - 1) // 2 + 1 :] / good
    if not ratios.size or not ratios.max() >= _GAP:
        return None
    threshold = good[np.argmax(ratios)]
    return np.flatnonzero(sizes > threshold)


class _Inliers(Map):
    """x ↦ A(c(x)) with the corrupted measurements blanked: the good data as a map of their own."""

    map: Map
    sensing: Sensing
    good: Array

    def __call__(self, x: Tree) -> Array:
        measured, _ = self.sensing.measure(self.map, x)
        return jnp.where(self.good, measured, 0.0)


def on_the_inliers(problem: Composite, bad: np.ndarray) -> Composite:
    """The problem ‖A(c(x)) − b‖₂ on the good measurements.

    Its map is A∘c, so a GNP step with target 0 is x − J†r/‖Pr̂‖²: where the residual r can be fitted, exactly the
    Gauss–Newton step, which converges quadratically.
    """
    b = data(problem)
    good = np.ones(b.size, bool)
    good[bad] = False
    good = good.reshape(b.shape)
    measured = _Inliers(problem.map, problem.sensing, jnp.asarray(good))
    return Composite(measured, L2(jnp.where(good, b, 0.0)), Identity())


def data(problem: Composite) -> Array:
    """The data b of a problem with the L1 penalty."""
    assert isinstance(problem.penalty, L1)
    return problem.penalty.b
