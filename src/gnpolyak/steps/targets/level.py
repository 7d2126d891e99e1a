"""A level below the best value, which shrinks when it proves too much."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp

from gnpolyak.base import trees
from gnpolyak.base.namespace import Array, eps_of
from gnpolyak.base.numbers import COUNTABLE, require_whole
from gnpolyak.problem.composite import Point
from gnpolyak.steps.status import Status
from gnpolyak.steps.targets.base import Target

# The calls of a window, and the share of the value below which its gain is little.
_WINDOW = 200
_LITTLE = 1e-4


class _LevelAim(NamedTuple):
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


class _Window(NamedTuple):
    """The progress of the last stretch of calls, to tell a value that levels off from one that converges."""

    age: Array
    start: Array
    """The best value when the window began."""
    gain: Array
    """What the window before this one gained."""
    flat: Array
    """Windows so far that gained little, and not much less than the one before."""

    def advance(self, xp: Any, best: Array, bound: Array | float) -> _Window:
        """Count one more call; at the end of a window, judge it.

        Linear convergence gains less and less by a constant factor, and ends. What has no sharp minimum goes on
        gaining about as much of nearly nothing.
        """
        gain = self.start - best
        over = self.age + 1 >= _WINDOW
        flat = over & (gain <= _LITTLE * (best - bound)) & (gain >= 0.4 * self.gain) & (gain > 0)
        moved = gain > _LITTLE * (best - bound)
        return _Window(
            age=xp.where(over, 0, self.age + 1),
            start=xp.where(over, best, self.start),
            gain=xp.where(over, gain, self.gain),
            flat=xp.where(over & moved, 0, self.flat + flat),
        )


class Level(Target):
    """Only a lower bound h₀ is known: aim at δ below the best value, and shrink δ when that proves too much.

    A *level* is the best value so far, the reference, less δ; never below h₀, so that a problem with h* = h₀ is solved
    as if h* were known. δ starts at (f₀ − h₀)/2.

    - A level is *met* when the best value has fallen by δ/2. The next level is taken from there.
    - A level is *given up* after `patience` steps without that, or at once after a step to a point without a finite
      value or with a zero subgradient. Then δ is divided by 4, and the next step starts from the best point.

    A *round* ends when δ is down to tol/100 of the first gap. A small δ alone is no proof, so the next round tests it:
    δ goes back up by a factor 256, with twice the patience, and doubles whenever a level is met. Two such rounds in a
    row that find nothing end the solve. So a method that is merely slow is given time.

    A value that *levels off* ends it as `Status.NOT_SHARP`: 200 calls that gained less than 1e-4 of it, and yet not
    much less than the 200 before them, three times. The first two times a δ of a thousandth of the value is tried.

    Nothing is proved about this rule for nonconvex problems: δ is an estimate of the gap, except where the value
    reaches h₀ itself.

    Parameters
    ----------
    lower_bound : float
        h₀ ≤ h*.
    patience : int, optional
        Steps after which a level is given up in the first round; by default 4, or 2 for a method of several cuts.
    tol : float
        The relative gap to reach.
    """

    over_xp: ClassVar[bool] = True
    lower_bound: Array | float
    patience: Array | int | None = None
    fraction: ClassVar[float] = 1.0
    recovers: ClassVar[bool] = True

    def suited(self, cuts: int) -> Level:
        # Several cuts make more of each step, so a level that is out of reach shows sooner.
        return self if self.patience is not None else dataclasses.replace(self, patience=4 if cuts == 1 else 2)

    def init(self, start: Point) -> _LevelAim:
        xp = self.xp
        gap = start.value - xp.asarray(self.lower_bound, start.value.dtype)
        rounding = 8 * eps_of(gap.dtype) * xp.abs(start.value)
        none, no = xp.zeros((), jnp.int32), xp.asarray(False)
        return _LevelAim(
            reference=start.value,
            delta=gap / 2,
            smallest=xp.maximum(self.tol * gap / 100, rounding),
            misses=none,
            patience=xp.asarray(self.patience, jnp.int32),
            mark=start.value,
            probing=no,
            quiet=none,
            blocked=no,
            window=_Window(none, start.value, xp.zeros_like(start.value), none),
        )

    def level(self, aim: _LevelAim) -> Array:
        return self.xp.maximum(aim.reference - aim.delta, self.lower_bound)

    def bound(self, aim: _LevelAim) -> Array:
        return self.level(aim)

    def stated(self) -> Array | float:
        return self.lower_bound

    def advance(self, aim: _LevelAim, point: Point, best: Point) -> tuple[_LevelAim, Point]:
        xp = self.xp
        infinite = ~trees.all_finite(point.value, point.subgradient)
        lost = infinite | trees.is_zero(point.subgradient)
        hit = best.value <= aim.reference - aim.delta / 2
        given_up = ~hit & ((aim.misses + 1 >= aim.patience) | lost)
        delta = xp.where(given_up, aim.delta / 4, xp.where(hit & aim.probing, aim.delta * 2, aim.delta))
        window = aim.window.advance(xp, best.value, self.lower_bound)
        # Small levels may creep where a larger one would stride: a flat window is answered with one.
        flattened = window.flat > aim.window.flat
        delta = xp.where(flattened, xp.maximum(delta, (best.value - self.lower_bound) / 1000), delta)
        moved = _LevelAim(
            reference=xp.where(hit | given_up, best.value, aim.reference),
            delta=delta,
            smallest=aim.smallest,
            misses=xp.where(hit | given_up, 0, aim.misses + 1),
            patience=xp.where(flattened, _doubled(xp, aim.patience), aim.patience),
            mark=aim.mark,
            probing=aim.probing,
            quiet=aim.quiet,
            blocked=xp.where(hit, False, infinite),
            window=window,
        )
        ended = given_up & (delta <= aim.smallest)
        return trees.select(ended, self._next_round(moved, best), moved), trees.select(given_up, best, point)

    def _next_round(self, aim: _LevelAim, best: Point) -> _LevelAim:
        xp = self.xp
        found = aim.mark - best.value
        quiet = aim.probing & (found <= 4 * aim.smallest)
        quiets = xp.where(quiet, aim.quiet + 1, 0)
        # The last quiet round leaves delta as it is: it is the estimate of the gap that is reported.
        wider = xp.minimum(256 * aim.smallest, (best.value - self.lower_bound) / 2)
        return aim._replace(
            delta=xp.where(quiets >= 2, aim.delta, wider),
            patience=_doubled(xp, aim.patience),
            mark=best.value,
            probing=xp.asarray(True),
            quiet=quiets,
        )

    def settled(self, aim: _LevelAim) -> Array:
        return (aim.quiet >= 2) | (aim.reference - aim.delta <= self.lower_bound)

    def verdict(self, aim: _LevelAim) -> Array:
        xp = self.xp
        flat = xp.where(aim.window.flat >= 3, Status.NOT_SHARP, Status.RUNNING)
        return xp.where(aim.quiet >= 2, Status.STALLED, flat)

    def blocked(self, aim: _LevelAim) -> Array:
        return aim.blocked

    def default_calls(self) -> int:
        return 20_000

    def check(self) -> None:
        if self.patience is not None:
            require_whole("patience", self.patience, 1, most=COUNTABLE)


def _doubled(xp: Any, patience: Array) -> Array:
    """Twice the patience, as far as it can be counted."""
    return 2 * xp.minimum(patience, COUNTABLE // 2)
