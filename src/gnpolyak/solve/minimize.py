"""`minimize`, the front door."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from gnpolyak.base import arrays
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.solve import arguments
from gnpolyak.solve.finish import finish
from gnpolyak.solve.loop import Limits, Run, interruptible
from gnpolyak.solve.progress import progress_bar
from gnpolyak.solve.result import Result
from gnpolyak.starts import from_data
from gnpolyak.steps.methods import Method, as_method
from gnpolyak.steps.targets import Target
from gnpolyak.steps.targets.base import Settings


def minimize(
    problem: Composite,
    x0: Tree = None,
    method: str | Method = "auto",
    *,
    rank: int | str = "auto",
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
    callback: Callable[[Result], Any] | None = None,
    progress: bool = False,
) -> Result:
    """Minimise h(c(x)).

    Parameters
    ----------
    problem : Composite
        From `composite` or an instance's ``problem``.
    x0 : array_like or pytree, optional
        The start. NumPy in, NumPy out; JAX in, JAX out; computed in the dtype of the data. Without one,
        problems that have a start from the data alone use it (`starts.from_data`).
    method : str or Method
        ``"auto"`` (GNP that damps itself where rank is lost, with several cuts), the methods of the literature
        ``"gnp"``, ``"lmm"``, ``"scaledsm"`` and ``"polyak"``, or a configured object such as ``GNP(solver="cg")``.
    rank : int or "auto"
        The number of factors of a start from the data; ``"auto"`` estimates it (`starts.estimate_rank`). Better too
        large than too small: the default method can do with surplus factors. Not used when x0 is given.
    cuts : int, optional
        How many of the last points each step takes into account, 1 to 10; by default the method's own choice: 5 for
        ``"auto"``, 1 for the methods of the literature.
    target : float or Target, optional
        The optimal value h*, where it is known; or a configured rule such as ``Level(0.0, patience=8)``.
    lower_bound : float, optional
        A number that h* is known not to fall below, where h* itself is not known. With neither, the penalty's own
        infimum (0 for a norm) is taken.
    strategy : {"level", "restart"}, optional
        How to find h* from a lower bound: by a level below the best value that shrinks when it proves too much
        (`Level`, the default), or by the paper's restarts (`Restart`: RGNP, RPolyak).
    inner, outer : int
        Steps in a restart and number of restarts: the paper's T and K.
    tol : float
        Stop when the gap is at most tol times the first gap. The gap is measured from the target; with a lower
        bound, from the strategy's own estimate of h*.
    max_calls : int, optional
        Most oracle calls: 1,000 for a known target, the whole schedule for restarts, and 20,000 for the level rule,
        which ends by itself.
    max_seconds : float, optional
        Most seconds in the loop, not counting compilation. Honoured between chunks of about 0.1 s.
    polish : bool
        Once good and corrupted measurements separate (see ``res.outliers``), finish on the good ones with Gauss–Newton
        steps, to the limit of the arithmetic, with at most 6 calls on top of max_calls. Kept only if the objective
        itself falls. For the L1 penalty; not done when the solve was stopped from outside.
    callback : callable, optional
        Called with a `Result` so far (status RUNNING) between chunks; stops the solve by raising StopIteration.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Result
        The best point found, whatever happened. Ctrl-C ends the solve with what it has; twice raises.

    Raises
    ------
    InputError
        On input that cannot be solved, before anything is compiled.
    """
    arguments.check_problem(problem)
    arguments.check_callback(callback)
    chosen = as_method(method, cuts)
    rule = arguments.target_rule(problem, target, lower_bound, strategy, Settings(tol, inner, outer))
    limits = Limits(arguments.checked_calls(max_calls, rule), arguments.checked_seconds(max_seconds))
    x0 = from_data(problem, rank=rank) if x0 is None else x0
    x, dtype = arguments.checked_start(problem, chosen, x0)
    convert = _identity if arrays.is_jax(x0) else arrays.to_numpy
    chosen = chosen.suited(problem, x)
    shown = progress_bar(limits.calls, chosen.name) if progress else nullcontext(None)
    with arrays.computing_in(dtype), shown as report, interruptible() as interrupted:
        run = Run(problem.cast(dtype), chosen, rule.suited(chosen.breadth), convert)
        observers = [observer for observer in (callback, report) if observer is not None]
        res = run.loop(x, limits, interrupted, observers)
        return finish(run.problem, res, convert, polish, interrupted)


def _identity(tree: Tree) -> Tree:
    return tree
