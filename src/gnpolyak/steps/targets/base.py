"""What a target rule must do."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

from gnpolyak.base.modules import field
from gnpolyak.base.namespace import Array, Portable
from gnpolyak.problem.composite import Point
from gnpolyak.steps.status import Status

Aim = Any
"""The state of a target rule, a pytree of its own choosing."""


class Target(Portable):
    """A rule for the level of each step.

    `tol` is on the gap above `bound`, relative to that gap at the start.
    """

    tol: Array | float = field(default=1e-10, kw_only=True)
    fraction: ClassVar[float]
    """The default θ of the step: 1 aims at the level itself."""
    exact: ClassVar[bool] = False
    """Whether `stated` is the optimal value itself, and not only a bound on it."""
    recovers: ClassVar[bool] = False
    """Whether the rule itself goes back to a safe point after a step that led nowhere."""

    def suited(self, cuts: int) -> Target:
        """Return the rule with what it leaves open chosen for a method of that many cuts."""
        return self

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

    @property
    def name(self) -> str:
        """How results call this rule."""
        return type(self).__name__.lower()

    def default_calls(self) -> int:
        """The call limit when the user gives none."""
        return 1000

    def check(self) -> None:
        """Raise InputError when a setting of this rule's own makes no sense."""
