"""What `minimize` was given, checked before anything is compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnpolyak import starts
from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.sensing import PowerSensing
from gnpolyak.steps.methods import Method
from gnpolyak.steps.targets import Known, Level, Restart, Target


def target_rule(
    problem: Composite,
    method: Method,
    *,
    target: float | None,
    lower_bound: float | None,
    strategy: str | None,
    inner: int,
    outer: int,
    tol: float,
) -> Target:
    """The rule that the arguments of `minimize` ask for."""
    if not isinstance(problem, Composite):
        raise InputError(
            given=f"a problem of type {type(problem).__name__}",
            needed="a Composite",
            missing="the map and the penalty",
            advice="make one with gnpolyak.composite(model, gnpolyak.L1(b))",
        )
    if target is not None and (lower_bound is not None or strategy is not None):
        raise InputError(
            given=f"target={target!r} together with lower_bound={lower_bound!r}, strategy={strategy!r}",
            needed="either the optimum, or a lower bound and a strategy to find it",
            missing="one decision",
            advice="drop target if it is only a bound; drop the other two if it is the optimum",
        )
    if target is not None:
        rule: Target = Known(_as_float(target), tol=tol)
    elif strategy in (None, "level"):
        # Several cuts make more of each step, so a level that is out of reach shows sooner.
        rule = Level(_lower_bound(problem, lower_bound), 4 if method.cuts == 1 else 2, tol=tol)
    elif strategy == "restart":
        rule = Restart(_lower_bound(problem, lower_bound), inner, outer, tol=tol)
    else:
        raise InputError(
            given=f"strategy={strategy!r}",
            needed="'level' or 'restart'",
            missing="a known strategy",
            advice="leave strategy out for the default, 'level'",
        )
    rule.check()
    return rule


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


def start(problem: Composite, rank: int | str) -> np.ndarray:
    """A start from the data alone, where the problem is one of those that have one."""
    if not isinstance(problem.sensing, PowerSensing):
        raise InputError(
            given=f"no x0 for {problem.label}",
            needed="a start",
            missing="x0: only power measurements can be started from the data alone",
            advice="pass x0, of the shape of the variable; a least-squares fit is often near enough",
        )
    return starts.spectral(problem, rank)


def checked_start(problem: Composite, method: Method, x0: Tree) -> tuple[Tree, np.dtype]:
    """The start as JAX arrays, and the dtype to compute in."""
    if arrays.is_traced((x0, problem)):
        raise InputError(
            given="minimize inside a jit, vmap or grad",
            needed="values that can be looked at",
            missing="them: inside a transformation there are only traces",
            advice="use gnpolyak.init and gnpolyak.steps, the pure functions underneath",
        )
    x = arrays.as_variable(x0)
    dtype = arrays.working_dtype(x, problem)
    x = arrays.cast(x, dtype)
    with arrays.computing_in(dtype):
        problem.check(x)
        method.check(problem, x)
    return x, dtype


def checked_calls(max_calls: int | None, rule: Target) -> int:
    """The call limit, the rule's own if none was given."""
    calls = rule.default_calls() if max_calls is None else max_calls
    if isinstance(calls, bool) or not isinstance(calls, (int, np.integer)) or calls < 1:
        raise _bad_limit("max_calls", max_calls, "a whole number of at least 1")
    return int(calls)


def checked_seconds(max_seconds: float | None) -> float:
    """The time limit, infinite if none was given."""
    if max_seconds is None:
        return float("inf")
    if not isinstance(max_seconds, (int, float, np.number)) or not max_seconds > 0:
        raise _bad_limit("max_seconds", max_seconds, "a positive number of seconds")
    return float(max_seconds)


def _bad_limit(name: str, given: Any, needed: str) -> InputError:
    return InputError(
        given=f"{name}={given!r}",
        needed=needed,
        missing=f"a valid {name}",
        advice=f"leave {name} out for its default",
    )


def check_callback(callback: Any) -> None:
    """Raise InputError unless the callback can be called."""
    if callback is not None and not callable(callback):
        raise InputError(
            given=f"callback of type {type(callback).__name__}",
            needed="a function of one Result",
            missing="something to call",
            advice="pass a function such as lambda res: print(res.calls, res.value)",
        )
