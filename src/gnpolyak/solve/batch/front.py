"""`minimize_batch`, the front door for many problems of one shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from gnpolyak.base import arrays
from gnpolyak.base.interrupts import interruptible
from gnpolyak.base.numbers import require_flag
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.solve.arguments import check_callback, checked_calls, checked_seconds, target_rule
from gnpolyak.solve.batch.given import Given
from gnpolyak.solve.batch.members import part
from gnpolyak.solve.batch.solving import Batch
from gnpolyak.solve.batch.task import Task
from gnpolyak.solve.clock import Clock, Limits
from gnpolyak.solve.explaining import explained
from gnpolyak.solve.progress import members_bar
from gnpolyak.solve.result import Result
from gnpolyak.steps.methods import Method
from gnpolyak.steps.named import as_method
from gnpolyak.steps.targets import Target


def minimize_batch(
    problem: Composite | Sequence[Composite],
    x0s: Tree,
    method: str | Method = "auto",
    *,
    b: Any = None,
    bounds: Any = None,
    cuts: int | None = None,
    target: float | Target | None = None,
    lower_bound: float | None = None,
    strategy: str | None = None,
    inner: int = 200,
    outer: int = 50,
    tol: float = 1e-10,
    max_calls: int | None = None,
    max_seconds: float | None = None,
    polish: bool = False,
    callback: Callable[[int, Result], Any] | None = None,
    progress: bool = False,
) -> list[Result]:
    """Minimise h(c(x)) from many starts, for many data, or for many problems of one shape, by one compiled loop.

    Each member takes its own steps and stops by itself; its status and answer are those that `minimize` gives it alone,
    but for the rounding of sums that are taken in another order. What only few members need (another way after an end
    without a certificate, the least value in noise, polishing) each of them does alone. Models in plain NumPy, and
    fewer than a hundred problems that `minimize` solves on the host, are solved one after the other.

    Parameters
    ----------
    problem : Composite or sequence of Composite
        One for all members, or one for each, of one structure with arrays of the same shapes.
    x0s : array_like, pytree or list of those
        The starts: what `minimize` takes, with an axis for the members in front of each leaf; or a list of starts.
    method, cuts, target, lower_bound, strategy, inner, outer, tol, polish
        As for `minimize`, the same for all members.
    b : array_like, optional
        Data for each member, in place of those of the problem's penalty: an axis for the members in front.
    bounds : optional
        As for `minimize`, for one member; the same box for all.
    max_calls : int, optional
        Most oracle calls of each member.
    max_seconds : float, optional
        Most seconds of the whole call, for all of them together.
    callback : callable, optional
        Called with the number of a member and its `Result` when it is done; raising StopIteration ends the others.
    progress : bool
        Show a bar that counts the members that are done.

    Returns
    -------
    list of Result
        One for each member, in order; ``res.seconds`` is the clock of the batch when it was done. After Ctrl-C, or a
        callback's StopIteration, those that were not done have their best points so far and a status that says so;
        Ctrl-C twice raises.

    Raises
    ------
    InputError
        On input that cannot be solved, before anything is compiled.

    Examples
    --------
    >>> import numpy as np, gnpolyak as gnp
    >>> problem = gnp.composite(lambda x: x**3, gnp.L1(np.array([8.0, 27.0])))
    >>> x0s = np.array([[1.5, 2.5], [2.5, 3.5], [3.0, 1.0]])
    >>> all(np.allclose(res.x, [2.0, 3.0]) for res in gnp.minimize_batch(problem, x0s, target=0.0))
    True
    """
    clock = Clock()
    check_callback(callback)
    polish, progress = require_flag("polish", polish), require_flag("progress", progress)
    chosen = as_method(method, cuts)
    given = Given.read(problem, x0s, b, chosen, bounds)
    first = given.problems[0]
    rule = target_rule(first, target, lower_bound, strategy, {"tol": tol, "inner": inner, "outer": outer})
    limits = Limits(checked_calls(max_calls, rule), checked_seconds(max_seconds))
    convert = arrays.to_jax if arrays.is_jax(x0s) else arrays.to_numpy
    shown = members_bar(given.count, chosen.name) if progress else nullcontext(None)
    computing, explaining = arrays.computing_in(given.dtype, compiled=False), explained(first, part(given.x, 0))
    with computing, explaining, shown as report, interruptible() as interrupted:
        task = Task(chosen, rule, limits, interrupted, convert, polish, given.dtype, clock)
        return _in_order(Batch(task, given), callback, report)


def _in_order(
    batch: Batch, callback: Callable[[int, Result], Any] | None, report: Callable[[int], Any] | None
) -> list[Result]:
    """The results of all members; the callback hears of each in its turn."""
    results: dict[int, Result] = {}
    heard = 0
    for who, some in batch.results():
        results.update(zip(who, some, strict=True))
        if report is not None:
            report(len(results))
        while heard in results:
            _tell(batch.task, heard, results[heard], callback)
            heard += 1
    return [results[i] for i in range(batch.given.count)]


def _tell(task: Task, i: int, res: Result, callback: Callable[[int, Result], Any] | None) -> None:
    """Hand a result to the callback, until it has had enough."""
    try:
        if callback is not None and not task.stopped.is_set():
            callback(i, res)
    except StopIteration:
        task.stopped.set()
