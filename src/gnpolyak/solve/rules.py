"""The rule for the target that the arguments of `minimize` ask for."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from gnpolyak.base.errors import InputError
from gnpolyak.base.numbers import is_real
from gnpolyak.problem.composite import Composite
from gnpolyak.steps.targets import STRATEGIES, Known, Level, Target

# The tol that `minimize` and every rule have by default.
_TOL = Target.__dataclass_fields__["tol"].default


def target_rule(problem: Composite, target: Any, lower_bound: Any, strategy: Any, settings: dict[str, Any]) -> Target:
    """The rule that the arguments of `minimize` ask for."""
    if target is not None and (lower_bound is not None or strategy is not None):
        raise InputError(
            given=f"target={target!r} together with lower_bound={lower_bound!r}, strategy={strategy!r}",
            needed="either the optimum, or a lower bound and a strategy to find it",
            missing="one decision",
            advice="drop target if it is only a bound; drop the other two if it is the optimum",
        )
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
                given=f"{name} = {number!r} for the {type(rule).__name__} rule",
                needed="a finite number" + (" of at least 0" if name == "tol" else ""),
                missing=f"a valid {name}",
                advice=f"leave {name} at its default, or see help(gnpolyak.{type(rule).__name__})",
            )
    rule.check()


def _strategy(name: Any) -> type[Target]:
    if name is None:
        return Level
    if not isinstance(name, str) or name not in STRATEGIES:
        raise InputError(
            given=f"strategy={name!r}",
            needed=f"one of {', '.join(map(repr, STRATEGIES))}",
            missing="a known strategy",
            advice="leave strategy out for the default, 'level'",
        )
    return STRATEGIES[name]


def _as_float(number: Any) -> Any:
    """A Python float of whatever number this is; anything else as it is, for the rule to refuse."""
    return float(number) if isinstance(number, (int, np.number)) and not isinstance(number, bool) else number


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
