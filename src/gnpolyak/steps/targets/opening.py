"""A rule that ends a method's opening when that brings little more."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gnpolyak.base.namespace import Array
from gnpolyak.problem.composite import Point
from gnpolyak.steps.status import Status
from gnpolyak.steps.targets.base import Target

# The calls over which progress is judged: enough for a level to be missed and another one met.
_WINDOW = 8
# The opening is over when the last window brought less than this share of what all of it has brought.
_SHARE = 0.1


class _OpeningAim(NamedTuple):
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

    over_xp: ClassVar[bool] = True
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
        return dataclasses.replace(self, rule=self.rule.suited(cuts))

    def init(self, start: Point) -> _OpeningAim:
        recent = self.xp.full(_WINDOW, np.inf, start.value.dtype)
        return _OpeningAim(self.rule.init(start), start.value, recent, start.value)

    def level(self, aim: _OpeningAim) -> Array | float:
        return self.rule.level(aim.inner)

    def bound(self, aim: _OpeningAim) -> Array | float:
        return self.rule.bound(aim.inner)

    def stated(self) -> Array | float:
        return self.rule.stated()

    def advance(self, aim: _OpeningAim, point: Point, best: Point) -> tuple[_OpeningAim, Point]:
        inner, onward = self.rule.advance(aim.inner, point, best)
        recent = self.xp.concatenate([aim.recent[1:], self.xp.asarray(aim.best)[None]])
        return _OpeningAim(inner, aim.first, recent, best.value), onward

    def verdict(self, aim: _OpeningAim) -> Array:
        xp, known = self.xp, self.rule.verdict(aim.inner)
        over = (known == Status.RUNNING) & self._over(aim)
        return xp.where(over, xp.asarray(Status.HANDED_ON, np.int32), xp.asarray(known, np.int32))

    def _over(self, aim: _OpeningAim) -> Array:
        before = aim.recent[0]
        slow = aim.best - self.stated() > (before - self.stated()) / 2
        if not self.exact:
            slow = slow & (before - aim.best <= _SHARE * (aim.first - aim.best))
        return self.xp.isfinite(before) & slow

    def settled(self, aim: _OpeningAim) -> Array | bool:
        return self.rule.settled(aim.inner)

    def blocked(self, aim: _OpeningAim) -> Array | bool:
        return self.rule.blocked(aim.inner)

    def default_calls(self) -> int:
        return self.rule.default_calls()
