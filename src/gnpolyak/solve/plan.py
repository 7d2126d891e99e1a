"""The plan of a solve: every decision, taken once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.halting import hurried_by
from gnpolyak.base.numbers import require_flag
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.solve.arguments import checked_calls, checked_rank, checked_seconds, checked_start, target_rule
from gnpolyak.solve.clock import Clock, Limits
from gnpolyak.solve.evaluation import chosen_runner
from gnpolyak.solve.resuming import Asked
from gnpolyak.solve.starting import goes_by_factors, start
from gnpolyak.steps.methods import Method
from gnpolyak.steps.named import as_method
from gnpolyak.steps.targets import Target


@dataclass(frozen=True)
class Plan:
    """What is solved, how, from where, and within which limits."""

    given: Composite
    """The problem as it was given, in its box and in the dtype of the solve."""
    problem: Composite
    """The problem as it is solved: in a variable in which its measurements treat all directions alike."""
    x0: Tree
    """The start that was given, or that the data gave."""
    start: Tree
    """The same as a point of `problem`, in the arrays that are computed with."""
    dtype: np.dtype
    method: Method
    rule: Target
    limits: Limits
    rank: Any
    walks: bool
    """Whether the number of factors is grown from one on."""
    grows: bool
    """Whether factors are added after a first solve."""
    polish: bool
    runner: str
    convert: Callable[[Tree], Tree]
    """Arrays as the user's own are."""

    @property
    def settings(self) -> dict[str, Any]:
        """What decides the course of the solve beside the problem and the start."""
        return {"method": self.method, "rule": self.rule, "rank": self.rank, "polish": self.polish}


def planned(
    problem: Composite,
    asked: Asked,
    max_calls: Any,
    max_seconds: Any,
    before: Tree,
    clock: Clock,
    *,
    hurries: bool,
) -> Plan:
    """Check the arguments of `minimize` and decide on everything.

    Parameters
    ----------
    problem : Composite
    asked : Asked
    max_calls, max_seconds
        The limits that were asked for.
    before : pytree, optional
        The start of the solve that this one goes on from.
    clock : Clock
        What the caller has waited.
    hurries : bool
        Whether a start from the data makes do with fewer rounds where the time is over.
    """
    rank, polish = checked_rank(asked.rank), require_flag("polish", asked.polish)
    method = as_method(asked.method, asked.cuts)
    schedule = {"tol": asked.tol, "inner": asked.inner, "outer": asked.outer}
    rule = target_rule(problem, asked.target, asked.lower_bound, asked.strategy, schedule)
    limits = Limits(checked_calls(max_calls, rule), checked_seconds(max_seconds))
    walks = asked.x0 is None and goes_by_factors(problem)
    grows = asked.x0 is None and rank == "auto" and not walks
    with clock.on("start"), hurried_by(lambda: hurries and clock.seconds >= limits.seconds):
        x0 = asked.x0 if asked.x0 is not None else start(problem, rank) if before is None else before
    given, x, dtype = checked_start(problem, method, x0, asked.bounds, walks or grows)
    with arrays.computing_in(dtype, compiled=False):
        solved = given.whitened() if method.assisted else given
        method, x = method.suited(solved, x), solved.sensing.into(x)
        rule = rule.suited(method.breadth)
    return Plan(
        given=given,
        problem=solved,
        x0=x0,
        start=x,
        dtype=dtype,
        method=method,
        rule=rule,
        limits=limits,
        rank=rank,
        walks=walks,
        grows=grows,
        polish=polish,
        runner=chosen_runner(solved, method, rule),
        convert=arrays.to_jax if arrays.is_jax(x0) else arrays.to_numpy,
    )
