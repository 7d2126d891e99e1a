"""Targets: which value a step aims at when h* is known, and when only a lower bound is.

A target rule chooses the level of each Polyak step and its fraction θ, may send the iterate elsewhere, and says
when its job is done. It knows nothing of metrics or of the problem.
"""

from __future__ import annotations

import abc
import math
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

    tol: Array | float = eqx.field(default=1e-10, kw_only=True)
    fraction: ClassVar[float]
    """The default θ of the step: 1 aims at the level itself."""
    recovers: ClassVar[bool] = False
    """Whether the rule itself goes back to a safe point after a step that led nowhere."""

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

    def settled(self, aim: Aim) -> Array | bool:
        """Tell whether a gap within tol ends the solve already."""
        return True

    def blocked(self, aim: Aim) -> Array | bool:
        """Tell whether the rule was kept from going on by points without a finite value."""
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

    The gap is measured from the largest level that a full restart did not get below. Once h₀ itself has been left
    behind, the schedule runs to its end, or to the end of what the arithmetic resolves, as the paper's does.

    Parameters
    ----------
    lower_bound : float
        h₀ ≤ h*.
    inner : int
        T, steps in one restart.
    outer : int
        K, number of restarts.
    tol : float
        The solve is a success when the best value ends within tol times the first gap of that level.
    """

    lower_bound: Array | float
    inner: Array | int = 200
    outer: Array | int = 50
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

    def settled(self, aim: _RestartAim) -> Array:
        return (aim.restarts == 0) | self.exhausted(aim)

    def default_calls(self) -> int:
        return int(self.inner) * int(self.outer) + 1

    def check(self) -> None:
        super().check()
        _require_count(self, "inner", self.inner)
        _require_count(self, "outer", self.outer)


class _LevelAim(eqx.Module):
    reference: Array
    """The best value when the current level was set."""
    delta: Array
    """How far below the reference the level lies."""
    misses: Array
    """Steps since the level was set."""
    blocked: Array
    """Whether a non-finite point was met at the current delta."""


class Level(Target):
    """Only a lower bound h₀ is known: aim at δ below the best value, and halve δ when that proves too much.

    δ starts at (f₀ − h₀)/2. As soon as the best value has fallen by δ/2 below the reference, it becomes the new
    reference. After `patience` steps without that, δ is halved and the next step starts from the best point.
    The level never goes below h₀, so that a problem with h* = h₀ is solved as if h* were known.

    A step to a point without a finite value or with a zero subgradient counts as a failed level, so a start far from
    the solution costs halvings, not the solve. Nothing is proved about this rule for nonconvex problems: δ is an
    estimate of the gap, except where the value reaches h₀ itself.

    Parameters
    ----------
    lower_bound : float
        h₀ ≤ h*.
    patience : int
        Steps after which a level is given up.
    tol : float
        Stop when δ is at most tol (f₀ − h₀).
    """

    lower_bound: Array | float
    patience: Array | int = 4
    fraction: ClassVar[float] = 1.0
    recovers: ClassVar[bool] = True

    def init(self, start: Point) -> _LevelAim:
        delta = (start.value - jnp.asarray(self.lower_bound, start.value.dtype)) / 2
        return _LevelAim(start.value, delta, jnp.zeros((), jnp.int32), jnp.asarray(False))

    def level(self, aim: _LevelAim) -> Array:
        return jnp.maximum(aim.reference - aim.delta, self.lower_bound)

    def bound(self, aim: _LevelAim) -> Array:
        return self.level(aim)

    def stated(self) -> Array | float:
        return self.lower_bound

    def advance(self, aim: _LevelAim, point: Point, best: Point) -> tuple[_LevelAim, Point]:
        infinite = ~trees.all_finite(point.value, point.subgradient)
        lost = infinite | trees.is_zero(point.subgradient)
        hit = best.value <= aim.reference - aim.delta / 2
        given_up = ~hit & ((aim.misses + 1 >= self.patience) | lost)
        moved = _LevelAim(
            reference=jnp.where(hit | given_up, best.value, aim.reference),
            delta=jnp.where(given_up, aim.delta / 2, aim.delta),
            misses=jnp.where(hit | given_up, 0, aim.misses + 1),
            blocked=jnp.where(hit, False, infinite),
        )
        return moved, trees.select(given_up, best, point)

    def blocked(self, aim: _LevelAim) -> Array:
        return aim.blocked

    def check(self) -> None:
        super().check()
        _require_count(self, "patience", self.patience)


def _require_count(rule: Target, name: str, count: Any) -> None:
    if isinstance(count, bool) or int(count) != count or count < 1:
        raise _bad_setting(rule, name, count, "a whole number of at least 1")


def _finite(number: Any) -> bool:
    try:
        return math.isfinite(number)
    except (TypeError, ValueError):
        return False


def _bad_setting(rule: Target, name: str, given: Any, needed: str) -> InputError:
    return InputError(
        given=f"{name} = {given!r} for the {type(rule).__name__} rule",
        needed=needed,
        missing=f"a valid {name}",
        advice=f"leave {name} at its default, or see help(gnpolyak.{type(rule).__name__})",
    )
