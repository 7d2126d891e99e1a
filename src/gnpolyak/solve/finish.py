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
from gnpolyak.problem.penalties import L1
from gnpolyak.solve.loop import Limits, Run
from gnpolyak.solve.outliers import corrupted, data, on_the_inliers
from gnpolyak.solve.result import Result
from gnpolyak.steps.methods import GNP
from gnpolyak.steps.status import Status
from gnpolyak.steps.targets import Known

# Gauss–Newton steps converge quadratically: a few take any separated solution to the limit of the arithmetic.
_POLISHING_CALLS = 5
# Who was stopped from outside wants an end, and no more work.
_STOPPED = {Status.INTERRUPTED, Status.TIME_LIMIT, Status.STOPPED_BY_CALLBACK}


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
