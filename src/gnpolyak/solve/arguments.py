"""The arguments of `minimize`, checked before anything is compiled."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from gnpolyak.base import arrays, trees
from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.numbers import COUNTABLE, as_float, is_real, is_whole, require_positive, require_whole
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.sharding import as_placed, joined
from gnpolyak.solve.bounds import bounded
from gnpolyak.steps.methods import Method
from gnpolyak.steps.targets import STRATEGIES, Known, Level, Target

# The tol that `minimize` and every rule have by default.
_TOL = Target.__dataclass_fields__["tol"].default


def check_problem(problem: Any) -> None:
    """Raise InputError unless this is a problem."""
    if not isinstance(problem, Composite):
        raise InputError(
            given=f"a problem of type {type(problem).__name__}",
            needed="a Composite",
            missing="the map and the penalty",
            advice="pass its .problem"
            if isinstance(getattr(problem, "problem", None), Composite)
            else "make one with gnpolyak.composite(model, gnpolyak.L1(b))",
        )


def target_rule(problem: Composite, target: Any, lower_bound: Any, strategy: Any, settings: dict[str, Any]) -> Target:
    """The rule that the arguments of `minimize` ask for."""
    if target is not None and (lower_bound is not None or strategy is not None):
        raise InputError(
            given=f"target={shown(target)} together with lower_bound={shown(lower_bound)}, strategy={shown(strategy)}",
            needed="either the optimum, or a lower bound and a strategy to find it",
            missing="one decision",
            advice="drop target if it is only a bound; drop the other two if it is the optimum",
        )
    settings = settings | {"tol": _as_float(settings["tol"])}
    if isinstance(target, Target):
        # A tol of its own goes with the rule, unless minimize was given another one.
        rule = target if settings["tol"] == _TOL else dataclasses.replace(target, tol=settings["tol"])
    elif target is not None:
        rule = Known(_as_float(target), tol=settings["tol"])
    else:
        kind: Any = _strategy(strategy)
        taken = {field.name for field in dataclasses.fields(kind)}
        rule = kind(_lower_bound(problem, lower_bound), **{k: v for k, v in settings.items() if k in taken})
    _check_rule(rule)
    return rule


def _check_rule(rule: Target) -> None:
    numbers = {"target or lower bound": rule.stated(), "tol": rule.tol}
    for name, number in numbers.items():
        if not is_real(number) or (name == "tol" and number < 0):
            raise InputError(
                given=f"{name} = {shown(number)} for the {type(rule).__name__} rule",
                needed="a finite number" + (" of at least 0" if name == "tol" else ""),
                missing=f"a valid {name}",
                advice=_mended(name, number, rule),
            )
    rule.check()


def _mended(name: str, number: Any, rule: Target) -> str:
    if isinstance(number, type) and issubclass(number, Target):
        return f"pass a configured rule, such as {number.__name__}(0.0)"
    return as_float(name, number) or f"leave {name} at its default, or see help(gnpolyak.{type(rule).__name__})"


def _strategy(name: Any) -> type[Target]:
    if name is None:
        return Level
    if not isinstance(name, str) or name not in STRATEGIES:
        raise InputError(
            given=f"strategy={shown(name)}",
            needed=f"one of {', '.join(map(repr, STRATEGIES))}",
            missing="a known strategy",
            advice="leave strategy out for the default, 'level'",
        )
    return STRATEGIES[name]


def _as_float(number: Any) -> Any:
    """A Python float of whatever number this is; anything else as it is, for the rule to refuse."""
    return float(number) if is_real(number) else number


def _lower_bound(problem: Composite, lower_bound: float | None) -> float:
    bound = problem.penalty.infimum if lower_bound is None else lower_bound
    if bound is None:
        raise InputError(
            given=f"neither target nor lower_bound, with {type(problem.penalty).__name__}",
            needed="a number the value cannot fall below",
            missing="an infimum: this penalty states none",
            advice="pass target=, or lower_bound=, or construct the penalty with infimum=",
        )
    return _as_float(bound)


def checked_start(
    problem: Composite, method: Method, x0: Tree, bounds: Any, grows: bool
) -> tuple[Composite, Tree, np.dtype]:
    """The problem as it is now, in its box, the start as JAX arrays, and the dtype that both are in."""
    arrays.require_no_iterator(x0, "x0")
    if arrays.is_traced((x0, problem)):
        raise InputError(
            given="minimize inside a jit, vmap or grad",
            needed="values that can be looked at",
            missing="them: inside a transformation there are only traces",
            advice="use gnpolyak.init and gnpolyak.step, the pure functions underneath",
        )
    x, problem = arrays.as_variable(x0), as_placed(problem)
    dtype = arrays.working_dtype(x, problem)
    x = trees.on_host(arrays.cast(x, dtype))
    problem, x = bounded(problem, x, bounds, grows)
    with arrays.computing_in(dtype, compiled=False):
        problem = problem.cast(dtype).settled(x)
        x = joined(problem, x)
        problem.check(x)
        method.check(problem, x)
    return problem, x, dtype


def checked_calls(max_calls: int | None, rule: Target) -> int:
    """The call limit, the rule's own if none was given; nobody lives to see the end of what can be counted."""
    given = require_whole("max_calls", rule.default_calls() if max_calls is None else max_calls, 1)
    return min(given, COUNTABLE)


def checked_seconds(max_seconds: float | None) -> float:
    """The time limit, infinite if none was given."""
    if max_seconds is None or (isinstance(max_seconds, float) and max_seconds == float("inf")):
        return float("inf")
    return require_positive("max_seconds", max_seconds)


def checked_rank(rank: Any) -> Any:
    """The rank, if it is one at all: whether the data have room for it is for the start to say."""
    several = isinstance(rank, (tuple, list)) and len(rank) > 0 and all(is_whole(each, 1) for each in rank)
    if not several and not is_whole(rank, 1) and not (isinstance(rank, str) and rank == "auto"):
        raise InputError(
            given=f"rank={shown(rank)}",
            needed="a whole number of factors of at least 1, a tuple of such for a Tucker tensor, or 'auto'",
            missing="a valid rank",
            advice="leave rank at 'auto' if it is not known",
        )
    return tuple(int(each) for each in rank) if several else rank


def check_callback(callback: Any) -> None:
    """Raise InputError unless the callback can be called."""
    if callback is not None and not callable(callback):
        raise InputError(
            given=f"callback of type {type(callback).__name__}",
            needed="a function of one Result",
            missing="something to call",
            advice="pass a function such as lambda res: print(res.calls, res.value)",
        )
