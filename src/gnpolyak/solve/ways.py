"""From a start to a result: a method's stages, its other way, and what is said of the end."""

from __future__ import annotations

from dataclasses import replace

from gnpolyak.base import foreign
from gnpolyak.base.trees import Tree
from gnpolyak.solve.driver import Run
from gnpolyak.solve.finish import Seen, certified, finish, least_value
from gnpolyak.solve.result import Result
from gnpolyak.solve.values import is_lower
from gnpolyak.steps.methods import Method
from gnpolyak.steps.targets import Target


def solution(run: Run, method: Method, rule: Target, x: Tree) -> Result:
    """The method's stages from x, and its other way where they ended without a success."""
    res = certified(run, rule, run.through(method.stages(run.problem, rule, run.evaluation.forms), x))
    return otherwise(run, method, rule, x, res)


def otherwise(run: Run, method: Method, rule: Target, x: Tree, res: Result) -> Result:
    """The result, or that of the method's other way from x, where there is one and it is better."""
    # Asked only after the quick answers: most solves end in a success.
    if res.success or not run.room:
        return res
    fallback = method.fallback(run.problem, rule, run.evaluation.forms, res.status)
    if not fallback:
        return res
    return better(run, certified(run, rule, run.through(fallback, x)), res)


def better(run: Run, again: Result, res: Result) -> Result:
    """What a second way found, if that is a success or a lower value."""
    return run.so_far(again if again.success or is_lower(again.value, res.value) else res)


def ended(run: Run, method: Method, rule: Target, res: Result, polish: bool, seen: Seen | None = None) -> Result:
    """The result with what follows a solve."""
    if method.assisted and not polish:
        res = least_value(run, rule, res)
    return finish(run, rule, res, polish, seen)


def delivered(res: Result, method: Method, x0: Tree) -> Result:
    """The result as the user gets it, with x like his x0."""
    return replace(res, x=foreign.like(x0, res.x), method=named(method, res.method))


def named(asked: Method, label: str) -> str:
    """The method that ended a solve; one that handed on to another is named with it."""
    return label if label.startswith(asked.name) else f"{asked.name}: {label}"
