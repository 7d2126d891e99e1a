"""The paper's restarts."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from gnpolyak.base import trees
from gnpolyak.base.namespace import Array
from gnpolyak.base.numbers import COUNTABLE, require_whole
from gnpolyak.problem.composite import Point
from gnpolyak.steps.status import Status
from gnpolyak.steps.targets.base import Target


class _RestartAim(NamedTuple):
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

    over_xp: ClassVar[bool] = True
    lower_bound: Array | float
    inner: Array | int = 200
    outer: Array | int = 50
    fraction: ClassVar[float] = 0.5

    def init(self, start: Point) -> _RestartAim:
        h0 = self.xp.asarray(self.lower_bound, start.value.dtype)
        zero = self.xp.zeros((), np.int32)
        return _RestartAim(start, h0, h0, zero, zero)

    def level(self, aim: _RestartAim) -> Array:
        return aim.estimate

    def bound(self, aim: _RestartAim) -> Array:
        return aim.floor

    def stated(self) -> Array | float:
        return self.lower_bound

    def advance(self, aim: _RestartAim, point: Point, best: Point) -> tuple[_RestartAim, Point]:
        xp = self.xp
        crossed = point.value <= aim.estimate
        over = crossed | (aim.steps + 1 >= self.inner)
        held = over & ~crossed
        moved = _RestartAim(
            start=aim.start,
            estimate=xp.where(over, (aim.estimate + best.value) / 2, aim.estimate),
            floor=xp.where(held, xp.maximum(aim.floor, aim.estimate), aim.floor),
            steps=xp.where(over, 0, aim.steps + 1),
            restarts=aim.restarts + over.astype(np.int32),
        )
        return moved, trees.select(over, aim.start, point)

    def verdict(self, aim: _RestartAim) -> Array:
        return self.xp.where(aim.restarts >= self.outer, Status.CALL_LIMIT, Status.RUNNING)

    def settled(self, aim: _RestartAim) -> Array:
        return (aim.restarts == 0) | (aim.restarts >= self.outer)

    def default_calls(self) -> int:
        return int(self.inner) * int(self.outer) + 1

    def check(self) -> None:
        require_whole("inner", self.inner, 1, most=COUNTABLE)
        require_whole("outer", self.outer, 1, most=COUNTABLE)
