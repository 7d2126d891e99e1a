"""What a method is: a way to propose the next point."""

from __future__ import annotations

import abc
from typing import Any, ClassVar, NamedTuple

from gnpolyak.base.namespace import Array, Portable
from gnpolyak.base.trees import Tree
from gnpolyak.oracles.base import Oracle
from gnpolyak.problem.composite import Composite, Point
from gnpolyak.steps.status import Status
from gnpolyak.steps.targets import Target

Memory = Any
"""What a method keeps from one step to the next, a pytree of its own choosing."""


class Outlook(NamedTuple):
    """What a method may know beside the point it stands at."""

    gap: Array
    """How far the value is above the level that the target rule aims at."""
    fraction: float
    """θ, as the target rule would have it."""
    budget: Array
    """How many oracle calls are left, that of the point proposed included."""


class Proposal(NamedTuple):
    """Where a method would go next."""

    x: Tree
    memory: Memory
    step: Array
    """The step size γ."""
    inner_iterations: Array
    residual: Array
    """The true residual of the inner linear system, relative."""
    solved: Array
    """Whether x may be trusted: if not, no oracle call is spent on it."""
    products: Array | int = 0
    """Products with A and its adjoint that the proposal took, each of which counts as an oracle call."""


class Method(Portable):
    """A way to propose the next point, which may keep a memory of its own between steps."""

    name: ClassVar[str]
    least_calls: ClassVar[int] = 1
    """The fewest oracle calls that a step takes."""
    leads: ClassVar[bool] = False
    """Whether the method itself decides where to go on from and when to end, and not the target rule."""
    assisted: ClassVar[bool] = False
    """Whether `minimize` may help it: with a variable in which the measurements treat all directions alike, and by
    minimising the l1 value itself where steps end above it. The methods of the literature are run as they are."""

    def evaluate(self, oracle: Oracle, x: Tree) -> tuple[Point, Any]:
        """One oracle call at x, and what else the method wants to know of it."""
        return oracle.evaluate(x), None

    def init(self, oracle: Oracle, start: Point, seen: Any) -> Memory:
        """The memory at the evaluated start; nothing by default."""
        return None

    @abc.abstractmethod
    def propose(self, oracle: Oracle, point: Point, memory: Memory, outlook: Outlook) -> Proposal:
        """The next point."""

    def follow(self, oracle: Oracle, memory: Memory, before: Point, point: Point, seen: Any) -> tuple[Memory, Point]:
        """The memory after the proposed point was evaluated, and, for a method that leads, where to go on from."""
        return memory, point

    def verdict(self, memory: Memory) -> Array | int:
        """The status with which a method that leads ends the solve, `Status.RUNNING` as long as it does not."""
        return Status.RUNNING

    def stages(self, problem: Composite, target: Target, forms: bool) -> tuple[tuple[Method, Target], ...]:
        """The methods and rules that `minimize` runs one after the other, each from the best point so far.

        `forms` tells whether AJ is formed.
        """
        return ((self, target),)

    def fallback(
        self, problem: Composite, target: Target, forms: bool, status: Status
    ) -> tuple[tuple[Method, Target], ...]:
        """The stages that are tried from the start once more where the first ones ended with this status."""
        return ()

    def suited(self, problem: Composite, x: Tree) -> Method:
        """Return the method with what it leaves open chosen for the problem, once for the whole solve."""
        return self

    def check(self, problem: Composite, x: Tree) -> None:
        """Raise InputError when this method cannot run on the problem at x."""

    @property
    def breadth(self) -> int:
        """How many points' worth of information a step uses: 1 unless the method says otherwise."""
        return 1

    @property
    def label(self) -> str:
        """How summaries call this method."""
        return self.name
