"""After the loop: which measurements are corrupted, and a last polish on the others."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Map
from gnpolyak.problem.penalties import L1, L2
from gnpolyak.problem.sensing import Identity, Sensing
from gnpolyak.solve.loop import Limits, Run
from gnpolyak.solve.result import Result
from gnpolyak.steps.methods import GNP
from gnpolyak.steps.status import Status
from gnpolyak.steps.targets import Known

# Gauss–Newton steps converge quadratically: a few take any separated solution to the limit of the arithmetic.
_POLISHING_CALLS = 5
# Who was stopped from outside wants an end, and no more work.
_STOPPED = {Status.INTERRUPTED, Status.TIME_LIMIT, Status.STOPPED_BY_CALLBACK}
# At a sharp solution good residuals are at rounding level and bad ones are not. A factor of 1,000 between two
# neighbours in size is no accident; without one, nothing is judged.
_GAP = 1e3
# Residuals below this share of the data's median size are those of an exact fit.
_EXACT = 1e-6


@jax.jit
def _residuals(problem: Composite, x: Tree) -> Array:
    measured, _ = problem.sensing.measure(problem.map, x)
    return measured - data(problem)


@jax.jit
def _value(problem: Composite, x: Tree) -> Array:
    return problem.evaluate(x).value


def finish(
    problem: Composite, res: Result, convert: Callable[[Tree], Tree], polish: bool, interrupted: threading.Event
) -> Result:
    """Tell which measurements are corrupted, and polish on the others if asked to."""
    if not isinstance(problem.penalty, L1) or not np.isfinite(res.value):
        return res
    b = np.asarray(data(problem))
    bad = corrupted(np.asarray(_residuals(problem, res.x)), b)
    res = replace(res, outliers=bad, measurements=b.size)
    polish = polish and res.status not in _STOPPED
    return res if bad is None or not polish else _polished(problem, res, bad, convert, interrupted)


def _polished(
    problem: Composite, res: Result, bad: np.ndarray, convert: Callable[[Tree], Tree], interrupted: threading.Event
) -> Result:
    run = Run(problem=on_the_inliers(problem, bad), method=GNP(), target=Known(0.0, tol=0.0), convert=convert)
    better = run.loop(jax.tree.map(jnp.asarray, res.x), Limits(_POLISHING_CALLS, float("inf")), interrupted)
    value = float(_value(problem, better.x))
    calls = better.calls + 1
    res = replace(res, calls=res.calls + calls, polish_calls=calls, seconds=res.seconds + better.seconds)
    return replace(res, x=better.x, value=value, bound=min(res.bound, value)) if value < res.value else res


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
