"""The optimal value is known."""

from __future__ import annotations

from typing import ClassVar

from gnpolyak.base.namespace import Array
from gnpolyak.problem.composite import Point
from gnpolyak.steps.targets.base import Aim, Target


class Known(Target):
    """The optimal value h* is known: γ = θ (f − h*)/⟨g, s⟩ with θ in [½, 1] (the paper's Algorithm 1).

    Parameters
    ----------
    value : float
        h*.
    tol : float
        Stop at a gap of tol times the first gap.
    """

    over_xp: ClassVar[bool] = True
    value: Array | float
    fraction: ClassVar[float] = 1.0
    exact: ClassVar[bool] = True

    def init(self, start: Point) -> Aim:
        return ()

    def level(self, aim: Aim) -> Array | float:
        return self.value

    def bound(self, aim: Aim) -> Array | float:
        return self.value

    def stated(self) -> Array | float:
        return self.value
