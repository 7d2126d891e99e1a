"""An oracle whose evaluations are timed, and not begun where they would end too late or somebody wants an end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gnpolyak.base.halting import HaltedError
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.oracles.base import Oracle
from gnpolyak.problem.composite import Point
from gnpolyak.problem.oracles import Products


class Watched(Oracle):
    """Another oracle, whose evaluations, products and matrices raise `HaltedError` where they are not to be begun.

    Parameters
    ----------
    oracle : Oracle
    halted : callable
        Tells, of the seconds that the last one of a kind took, whether another is not to be begun.
    """

    def __init__(self, oracle: Oracle, halted: Callable[[float], bool]) -> None:
        self.inner, self._halted, self._watching = oracle, halted, True
        self._taken: dict[str, float] = {}
        self.problem, self.xp, self.reduce, self.forms = oracle.problem, oracle.xp, oracle.reduce, oracle.forms  # type: ignore[misc]

    @contextmanager
    def unwatched(self) -> Iterator[None]:
        """A block in which everything is evaluated, such as the first point."""
        self._watching = False
        try:
            yield
        finally:
            self._watching = True

    def _timed(self, kind: str, work: Callable[..., Any], *args: Any) -> Any:
        if self._watching and self._halted(self._taken.get(kind, 0.0)):
            raise HaltedError
        began = time.perf_counter()
        found = work(*args)
        self._taken[kind] = time.perf_counter() - began
        return found

    @property
    def data(self) -> Array:
        """The data b, flat."""
        return self.inner.data

    @property
    def scale(self) -> Any:
        """The size of the numbers whose differences make up h."""
        return self.inner.scale

    def evaluate(self, x: Tree) -> Point:
        return self._timed("evaluate", self.inner.evaluate, x)

    def residuals(self, x: Tree) -> tuple[Array, Array, Any]:
        return self._timed("residuals", self.inner.residuals, x)

    def measure(self, x: Tree) -> tuple[Array, Any]:
        return self._timed("measure", self.inner.measure, x)

    def actions(self, x: Tree, kept: Any = None) -> Products:
        products = self.inner.actions(x, kept)
        return Products(
            push=lambda z: self._timed("push", products.push, z),
            pull=lambda v: self._timed("pull", products.pull, v),
            product=lambda z, w: self._timed("product", products.product, z, w),
        )

    def matrix(self, x: Tree) -> Array:
        return self._timed("matrix", self.inner.matrix, x)

    def jacobian(self, x: Tree) -> Array:
        return self._timed("jacobian", self.inner.jacobian, x)

    def gram(self, x: Tree) -> Callable[[Tree], Tree]:
        gram = self.inner.gram(x)
        return lambda z: self._timed("gram", gram, z)

    def metric(self, x: Tree, damping: Array | float = 0.0) -> Callable[[Tree], Tree]:
        return self.inner.metric(x, damping)

    def metrics(self, x: Tree, damping: Array | float = 0.0) -> Callable[[Tree], Tree]:
        return self.inner.metrics(x, damping)

    def slopes(self, x: Tree) -> tuple[Callable[[Tree], Array], Callable[[Array], Tree]]:
        push, pull = self.inner.slopes(x)
        return lambda z: self._timed("slope", push, z), lambda v: self._timed("slope", pull, v)

    def image_subgradient(self, point: Point) -> Array | None:
        return self.inner.image_subgradient(point)

    def curvature(self, x: Tree, s: Tree) -> Array:
        return self.inner.curvature(x, s)

    def holding(self, free: Tree) -> Oracle:
        held = Watched(self.inner.holding(free), self._halted)
        held._taken, held._watching = self._taken, self._watching
        return held
