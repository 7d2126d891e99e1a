"""The rank that grows by itself: factors are added as long as the residuals say so."""

from __future__ import annotations

from collections.abc import Callable

import jax
import numpy as np

from gnpolyak.base import trees
from gnpolyak.base.halting import go_on
from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import COLUMNS, RESIDUALS
from gnpolyak.solve.driver import Run
from gnpolyak.solve.finish import noise_scale, residuals_and_data
from gnpolyak.solve.result import Result
from gnpolyak.solve.starting import larger_for
from gnpolyak.steps.status import STOPPED, Status
from gnpolyak.steps.weights import ROUNDING, TUKEY


def grown(run: Run, res: Result, solve: Callable[[Tree], Result], rank: int | str | tuple[int, ...] = "auto") -> Result:
    """The result with `rank` factors, or for "auto" with as many as make the residuals fall.

    Exact data end it by being fitted. In noise, where the rank is not known, one factor too many is tried: it explains
    no more than it would of any noise, and is dropped.
    """
    larger = larger_for(run.given)
    while larger is not None and run.room and _columns(res.x) != rank and not _explained(run, res):
        go_on()
        x = larger(res.x)
        if x is None:
            break
        x = _with_room(run, x) if rank == "auto" else x
        more = solve(_into(run, x))
        better = rank != "auto" or _explains_more(run, more, res)
        kept = more if better else res
        res = run.so_far(kept)
        if not better:
            break
    return res


def last_factor(run: Run, x: Tree, solve: Callable[[Tree], Result], rank: int) -> Tree:
    """A start with `rank` factors, the last of which no solve has seen yet."""
    if rank == _columns(x):
        return x
    res = grown(run, solve(x), solve, rank - 1)
    larger = larger_for(run.given)
    more = None if larger is None else larger(res.x)
    return res.state.best.x if more is None else _into(run, more)


def _into(run: Run, x: Tree) -> Tree:
    """A point of the problem that was given as one of that which is solved."""
    return run.into(x)


def _columns(x: Tree) -> int:
    """How many factors there are, not counting room for others."""
    leaf = jax.tree.leaves(trees.trimmed(x))[0]
    return int(leaf.shape[1]) if leaf.ndim == 2 else 1


def _with_room(run: Run, x: Tree) -> Tree:
    """The point with room for as many factors again, where it has none left and columns of zeros say nothing."""
    full = _columns(x) == jax.tree.leaves(x)[0].shape[-1]
    return trees.widened(x, 2 * _columns(x)) if full and run.given.map.has(COLUMNS) else x


def _explained(run: Run, res: Result) -> bool:
    """Whether nothing is left to explain, or nothing more is to be done."""
    if res.status in STOPPED or not np.isfinite(res.value) or not run.given.penalty.has(RESIDUALS):
        return True
    if run.proved(res.value):
        return True
    r, b = residuals_and_data(run, res)
    # A gap between good and bad residuals is not enough: outliers may be far away, and factors as small as rounding.
    scale = np.median(np.abs(b)) or np.max(np.abs(b), initial=0.0)
    return bool(np.median(np.abs(r)) <= ROUNDING * np.finfo(r.dtype).eps * scale)


def _explains_more(run: Run, more: Result, res: Result) -> bool:
    """Whether the larger rank is worth its variables by the Bayesian information criterion, with Tukey's loss.

    Twice the loss falls by about one for each variable that fits noise, and by more if the best of many are chosen:
    ln m for each is asked for, of m data. The loss is bounded, so no outlier takes part in it.
    """
    before, after = (np.abs(_residuals(run, each)) for each in (res, more))
    sizes = [trees.size(trees.trimmed(each.x)) for each in (res, more)]
    scale = max(noise_scale(after, sizes[1]), np.finfo(after.dtype).tiny)
    # Beside an exact fit, whose scale is nothing, all residuals are infinitely large, and cost what an outlier does.
    with np.errstate(over="ignore"):
        fall = np.sum(_loss(before / scale)) - np.sum(_loss(after / scale))
    return bool(2 * fall > (sizes[1] - sizes[0]) * np.log(before.size))


def _loss(u: np.ndarray) -> np.ndarray:
    """Tukey's loss, u²/2 for small u and constant for outliers."""
    inside = 1 - np.minimum(u / TUKEY, 1.0) ** 2
    return TUKEY**2 / 6 * (1 - inside**3)


def _residuals(run: Run, res: Result) -> np.ndarray:
    """Those of the efficient estimate in noise, where the minimiser of the value makes as many as it can zero."""
    point = res.state.point if res.status is Status.NOISE else res.state.best
    return run.evaluation.residuals(point.x)
