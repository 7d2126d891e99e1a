"""Targets: which value a step aims at when h* is known, and when only a lower bound is.

A target rule chooses the level of each Polyak step and its fraction θ, may send the iterate elsewhere, and says
when its job is done. It knows nothing of metrics or of the problem.
"""

import abc
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from gnpolyak import trees
from gnpolyak.errors import InputError
from gnpolyak.problem import Point

Aim = Any
"""The state of a target rule, a pytree of its own choosing."""


class Target(eqx.Module):
    """A rule for the level of each step.

    `tol` is on the gap above `bound`, relative to that gap at the start.
    """

    tol: eqx.AbstractVar[Array | float]
    fraction: ClassVar[float]
    """The default θ of the step: 1 aims at the level itself."""

    @abc.abstractmethod
    def init(self, start: Point) -> Aim:
        """The rule's state at the evaluated start."""

    @abc.abstractmethod
    def level(self, aim: Aim) -> Array | float:
        """The value the next step aims at."""

    @abc.abstractmethod
    def bound(self, aim: Aim) -> Array | float:
        """What is believed about h* from below: the gap is measured from here."""

    @abc.abstractmethod
    def stated(self) -> Array | float:
        """The user's number, which no value may undercut."""

    def advance(self, aim: Aim, point: Point, best: Point) -> tuple[Aim, Point]:
        """Take note of a newly evaluated point; return where to go on from."""
        return aim, point

    def exhausted(self, aim: Aim) -> Array | bool:
        """Tell whether the rule has run its course."""
        return False

    def default_calls(self) -> int:
        """The call limit when the user gives none."""
        return 1000

    def check(self) -> None:
        """Raise InputError when a setting makes no sense."""
        if not _finite(self.stated()):
            raise _bad_setting(self, "target or lower bound", self.stated(), "a finite number")
        if not (_finite(self.tol) and self.tol >= 0):
            raise _bad_setting(self, "tol", self.tol, "a finite tolerance of at least 0")


class Known(Target):
    """The optimal value h* is known: γ = θ (f − h*)/⟨g, s⟩ with θ in [½, 1] (the paper's Algorithm 1).

    Parameters
    ----------
    value : float
        h*.
    tol : float
        Stop at a gap of tol times the first gap.
    """

    value: Array | float
    tol: Array | float = 1e-10
    fraction: ClassVar[float] = 1.0

    def init(self, start: Point) -> Aim:
        return ()

    def level(self, aim: Aim) -> Array | float:
        return self.value

    def bound(self, aim: Aim) -> Array | float:
        return self.value

    def stated(self) -> Array | float:
        return self.value


class _RestartAim(eqx.Module):
    start: Point
    estimate: Array
    """h_k, the level of restart k."""
    floor: Array
    """The largest h_k that a whole restart could not get below."""
    steps: Array
    restarts: Array


class Restart(Target):
    """Only a lower bound h₀ is known: restarts with h_{k+1} = (h_k + best)/2 (the paper's Algorithm 2).

    Each of `outer` restarts takes `inner` steps of fraction ½ from x₀ towards h_k. By the paper's Theorem 2, with
    `inner` large enough for the method to converge and outer ≥ 1 + log₂((h* − h₀)/ε), the best value is within ε of
    h*. Two things differ from the algorithm as printed, neither of which costs an oracle call: the best point of
    *all* restarts is kept, as the proof assumes, and a restart that gets below its own level (so h_k > h*, and
    the step would turn backwards) ends there.

    The gap is measured from the largest level that a full restart did not get below.

    Parameters
    ----------
    lower_bound : float
        h₀ ≤ h*.
    inner : int
        T, steps in one restart.
    outer : int
        K, number of restarts.
    tol : float
        Stop when the best value is within tol times the first gap of that level.
    """

    lower_bound: Array | float
    inner: Array | int = 200
    outer: Array | int = 50
    tol: Array | float = 1e-10
    fraction: ClassVar[float] = 0.5

    def init(self, start: Point) -> _RestartAim:
        h0 = jnp.asarray(self.lower_bound, start.value.dtype)
        zero = jnp.zeros((), jnp.int32)
        return _RestartAim(start, h0, h0, zero, zero)

    def level(self, aim: _RestartAim) -> Array:
        return aim.estimate

    def bound(self, aim: _RestartAim) -> Array:
        return aim.floor

    def stated(self) -> Array | float:
        return self.lower_bound

    def advance(self, aim: _RestartAim, point: Point, best: Point) -> tuple[_RestartAim, Point]:
        crossed = point.value <= aim.estimate
        over = crossed | (aim.steps + 1 >= self.inner)
        held = over & ~crossed
        moved = _RestartAim(
            start=aim.start,
            estimate=jnp.where(over, (aim.estimate + best.value) / 2, aim.estimate),
            floor=jnp.where(held, jnp.maximum(aim.floor, aim.estimate), aim.floor),
            steps=jnp.where(over, 0, aim.steps + 1),
            restarts=aim.restarts + over.astype(jnp.int32),
        )
        return moved, trees.select(over, aim.start, point)

    def exhausted(self, aim: _RestartAim) -> Array:
        return aim.restarts >= self.outer

    def default_calls(self) -> int:
        return int(self.inner) * int(self.outer) + 1

    def check(self) -> None:
        super().check()
        for name, count in (("inner", self.inner), ("outer", self.outer)):
            if isinstance(count, bool) or int(count) != count or count < 1:
                raise _bad_setting(self, name, count, "a whole number of at least 1")


def _finite(number: Any) -> bool:
    try:
        return bool(jnp.isfinite(number))
    except (TypeError, ValueError):
        return False


def _bad_setting(rule: Target, name: str, given: Any, needed: str) -> InputError:
    return InputError(
        given=f"{name} = {given!r} for the {type(rule).__name__} rule",
        needed=needed,
        missing=f"a valid {name}",
        advice=f"leave {name} at its default, or see help(gnpolyak.{type(rule).__name__})",
    )
