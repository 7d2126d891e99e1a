"""A rule that ends a method's opening when that brings little more."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from gnpolyak.base.modules import Module
from gnpolyak.problem.composite import Point
from gnpolyak.steps.status import Status
from gnpolyak.steps.targets.base import Target

# The calls over which progress is judged: enough for a level to be missed and another one met.
_WINDOW = 8
# The opening is over when the last window brought less than this share of what all of it has brought.
_SHARE = 0.1


class _OpeningAim(Module):
    inner: Any
    first: Array
    """The value at the start."""
    recent: Array
    """The best values of the last calls, the oldest first; infinite before there were so many."""
    best: Array


class Opening(Target):
    """Another rule, until the method that follows it has brought what it can.

    The opening is over when eight calls have not halved the gap to the optimum, or to the lower bound where only that
    is known, and, in that case, lowered the value by less than a tenth of its whole fall so far. `Status.HANDED_ON`
    says so.

    Parameters
    ----------
    rule : Target
        The rule that is followed meanwhile.
    """

    rule: Target

    @property
    def name(self) -> str:
        return self.rule.name

    @property
    def fraction(self) -> float:  # type: ignore[override]
        """The rule's own."""
        return self.rule.fraction

    @property
    def recovers(self) -> bool:  # type: ignore[override]
        """The rule's own."""
        return self.rule.recovers

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """The rule's own."""
        return self.rule.exact

    def suited(self, cuts: int) -> Opening:
        return Opening(self.rule.suited(cuts), tol=self.tol)

    def init(self, start: Point) -> _OpeningAim:
        recent = jnp.full(_WINDOW, jnp.inf, start.value.dtype)
        return _OpeningAim(self.rule.init(start), start.value, recent, start.value)

    def level(self, aim: _OpeningAim) -> Array | float:
        return self.rule.level(aim.inner)

    def bound(self, aim: _OpeningAim) -> Array | float:
        return self.rule.bound(aim.inner)

    def stated(self) -> Array | float:
        return self.rule.stated()

    def advance(self, aim: _OpeningAim, point: Point, best: Point) -> tuple[_OpeningAim, Point]:
        inner, onward = self.rule.advance(aim.inner, point, best)
        recent = jnp.concatenate([aim.recent[1:], aim.best[None]])
        return _OpeningAim(inner, aim.first, recent, best.value), onward

    def verdict(self, aim: _OpeningAim) -> Array:
        known = jnp.asarray(self.rule.verdict(aim.inner), jnp.int32)
        over = jnp.asarray(Status.HANDED_ON, jnp.int32)
        return jnp.where((known == Status.RUNNING) & self._over(aim), over, known)

    def _over(self, aim: _OpeningAim) -> Array:
        before = aim.recent[0]
        slow = aim.best - self.stated() > (before - self.stated()) / 2
        if not self.exact:
            slow = slow & (before - aim.best <= _SHARE * (aim.first - aim.best))
        return jnp.isfinite(before) & slow

    def settled(self, aim: _OpeningAim) -> Array | bool:
        return self.rule.settled(aim.inner)

    def blocked(self, aim: _OpeningAim) -> Array | bool:
        return self.rule.blocked(aim.inner)

    def default_calls(self) -> int:
        return self.rule.default_calls()
