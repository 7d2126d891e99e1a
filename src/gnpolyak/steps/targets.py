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

from gnpolyak.base import trees
from gnpolyak.base.errors import InputError
from gnpolyak.problem.composite import Point
from gnpolyak.solve.result import Status

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

    def verdict(self, aim: Aim) -> Array | int:
        """The status with which the rule gives up, `Status.RUNNING` as long as it does not."""
        return Status.RUNNING

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

    def verdict(self, aim: _RestartAim) -> Array:
        return jnp.where(aim.restarts >= self.outer, Status.CALL_LIMIT, Status.RUNNING)

    def settled(self, aim: _RestartAim) -> Array:
        return (aim.restarts == 0) | (aim.restarts >= self.outer)

    def default_calls(self) -> int:
        return int(self.inner) * int(self.outer) + 1

    def check(self) -> None:
        super().check()
        _require_count(self, "inner", self.inner)
        _require_count(self, "outer", self.outer)


# The calls of a window, and the share of the value below which its gain is little.
_WINDOW = 200
_LITTLE = 1e-4


class _LevelAim(eqx.Module):
    reference: Array
    """The best value when the current level was set."""
    delta: Array
    """How far below the reference the level lies."""
    smallest: Array
    """The delta at which a round ends."""
    misses: Array
    """Steps since the level was set."""
    patience: Array
    """Steps after which a level is given up, in this round."""
    mark: Array
    """The best value when this round began."""
    probing: Array
    """Whether the first round is over."""
    quiet: Array
    """Rounds in a row that found nothing."""
    blocked: Array
    """Whether a non-finite point was met at the current delta."""
    window: _Window


class _Window(eqx.Module):
    """The progress of the last stretch of calls, to tell a value that levels off from one that converges."""

    age: Array
    start: Array
    """The best value when the window began."""
    gain: Array
    """What the window before this one gained."""
    flat: Array
    """Windows so far that gained little, and not much less than the one before."""

    def advance(self, best: Array, bound: Array | float) -> _Window:
        """Count one more call; at the end of a window, judge it.

        Linear convergence gains less and less by a constant factor, and ends. What has no sharp minimum goes on
        gaining about as much of nearly nothing.
        """
        gain = self.start - best
        over = self.age + 1 >= _WINDOW
        flat = over & (gain <= _LITTLE * (best - bound)) & (gain >= 0.4 * self.gain) & (gain > 0)
        moved = gain > _LITTLE * (best - bound)
        return _Window(
            age=jnp.where(over, 0, self.age + 1),
            start=jnp.where(over, best, self.start),
            gain=jnp.where(over, gain, self.gain),
            flat=jnp.where(over & moved, 0, self.flat + flat),
        )


class Level(Target):
    """Only a lower bound h₀ is known: aim at δ below the best value, and shrink δ when that proves too much.

    δ starts at (f₀ − h₀)/2. As soon as the best value has fallen by δ/2 below the reference, it becomes the new
    reference. After `patience` steps without that, δ is divided by 4 and the next step starts from the best point. The
    level never goes below h₀, so a problem with h* = h₀ is solved as if h* were known. A step to a point without
    a finite value or with a zero subgradient counts as a failed level: a start far from the solution costs
    a few divisions, not the solve.

    When δ is down to tol/100 of the first gap, the round is over and is put to the test: δ goes back up by a factor
    256 with twice the patience, and from now on doubles when a level is met. Two rounds in a row that find nothing end
    the solve. So a method that is merely slow is given time, and success is not claimed on the word of a small δ alone.
    A value that has levelled off, with 200 calls that gained less than 1e-4 of it and yet not much less than the 200
    before them, and that three times, each answered with a δ of a thousandth of the value, ends it as
    `Status.NOT_SHARP`.

    Nothing is proved about this rule for nonconvex problems: δ is an estimate of the gap, except where the value
    reaches h₀ itself.

    Parameters
    ----------
    lower_bound : float
        h₀ ≤ h*.
    patience : int
        Steps after which a level is given up in the first round.
    tol : float
        The relative gap to reach.
    """

    lower_bound: Array | float
    patience: Array | int = 4
    fraction: ClassVar[float] = 1.0
    recovers: ClassVar[bool] = True

    def init(self, start: Point) -> _LevelAim:
        gap = start.value - jnp.asarray(self.lower_bound, start.value.dtype)
        rounding = 8 * float(jnp.finfo(gap.dtype).eps) * jnp.abs(start.value)
        none, no = jnp.zeros((), jnp.int32), jnp.asarray(False)
        return _LevelAim(
            reference=start.value,
            delta=gap / 2,
            smallest=jnp.maximum(self.tol * gap / 100, rounding),
            misses=none,
            patience=jnp.asarray(self.patience, jnp.int32),
            mark=start.value,
            probing=no,
            quiet=none,
            blocked=no,
            window=_Window(none, start.value, jnp.zeros_like(start.value), none),
        )

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
        given_up = ~hit & ((aim.misses + 1 >= aim.patience) | lost)
        delta = jnp.where(given_up, aim.delta / 4, jnp.where(hit & aim.probing, aim.delta * 2, aim.delta))
        window = aim.window.advance(best.value, self.lower_bound)
        # Small levels may creep where a larger one would stride: a flat window is answered with one.
        flattened = window.flat > aim.window.flat
        delta = jnp.where(flattened, jnp.maximum(delta, (best.value - self.lower_bound) / 1000), delta)
        moved = _LevelAim(
            reference=jnp.where(hit | given_up, best.value, aim.reference),
            delta=delta,
            smallest=aim.smallest,
            misses=jnp.where(hit | given_up, 0, aim.misses + 1),
            patience=jnp.where(flattened, 2 * aim.patience, aim.patience),
            mark=aim.mark,
            probing=aim.probing,
            quiet=aim.quiet,
            blocked=jnp.where(hit, False, infinite),
            window=window,
        )
        ended = given_up & (delta <= aim.smallest)
        return trees.select(ended, self._next_round(moved, best), moved), trees.select(given_up, best, point)

    def _next_round(self, aim: _LevelAim, best: Point) -> _LevelAim:
        found = aim.mark - best.value
        quiet = aim.probing & (found <= 4 * aim.smallest)
        quiets = jnp.where(quiet, aim.quiet + 1, 0)
        # The last quiet round leaves delta as it is: it is the estimate of the gap that is reported.
        wider = jnp.minimum(256 * aim.smallest, (best.value - self.lower_bound) / 2)
        return eqx.tree_at(
            lambda a: (a.delta, a.patience, a.mark, a.probing, a.quiet),
            aim,
            (
                jnp.where(quiets >= 2, aim.delta, wider),
                2 * aim.patience,
                best.value,
                jnp.asarray(True),
                quiets,
            ),
        )

    def settled(self, aim: _LevelAim) -> Array:
        return (aim.quiet >= 2) | (aim.reference - aim.delta <= self.lower_bound)

    def verdict(self, aim: _LevelAim) -> Array:
        flat = jnp.where(aim.window.flat >= 3, Status.NOT_SHARP, Status.RUNNING)
        return jnp.where(aim.quiet >= 2, Status.STALLED, flat)

    def blocked(self, aim: _LevelAim) -> Array:
        return aim.blocked

    def default_calls(self) -> int:
        return 20_000

    def check(self) -> None:
        super().check()
        _require_count(self, "patience", self.patience)


def _require_count(rule: Target, name: str, count: Any) -> None:
    whole = _finite(count) and not isinstance(count, bool) and int(count) == count
    if not whole or count < 1:
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
