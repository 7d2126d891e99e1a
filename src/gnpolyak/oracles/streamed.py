"""The oracle of rows that are not in memory: passes over them, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import jax
import numpy as np

from gnpolyak.base import arrays, trees
from gnpolyak.base.namespace import Array
from gnpolyak.base.streams.rows import filled
from gnpolyak.base.trees import Tree
from gnpolyak.oracles.base import Oracle
from gnpolyak.oracles.model import ModelOracle, on_host
from gnpolyak.oracles.parts import PartsOracle
from gnpolyak.problem import streams
from gnpolyak.problem.composite import Composite, Point
from gnpolyak.problem.maps import Held
from gnpolyak.problem.oracles import Products
from gnpolyak.problem.penalties import Penalty
from gnpolyak.problem.sensing import Identity

# What products can use of an evaluation, some m·r numbers, is kept where so many bytes hold a few copies of it.
_KEPT_BYTES, _COPIES = streams.KEPT_BYTES, 4


class StreamedOracle(Oracle):
    """Evaluates each block of rows as a problem of its own, by the oracle that serves such a problem in memory.

    Parameters
    ----------
    problem : Composite
        With rows that are elsewhere.
    x : pytree
        A point like those that it will be asked at.
    """

    def __init__(self, problem: Composite, x: Tree) -> None:
        portable = all(part.runs_on_numpy for part in (problem.map, problem.penalty, streams.outline(problem.sensing)))
        super().__init__(problem.using(np) if portable else on_host(problem), np)
        self._x, self._portable = x, portable
        # A user's own parts are computed with JAX, on arrays of its own.
        self._source = self.problem if portable else problem
        self._count = streams.count(problem)

    def _blocks(self, penalty: Penalty | None = None) -> Iterator[tuple[streams.Block, Oracle]]:
        """The blocks, each with the oracle of its measurements; with the penalty's own part, where it can be cut."""
        for block in streams.blocks(self.sensing):
            h = self._source.penalty if penalty is None else penalty.block(block.start, block.stop)
            yield block, self._oracle(block, h)

    def _oracle(self, block: streams.Block, penalty: Penalty) -> Oracle:
        c, rows = self._source.map, list(block.rows.values())
        if self._portable:
            sensing = filled(self._source.sensing, rows)
            return PartsOracle(Composite(c, penalty.using(np), sensing).using(np), np, self._x)
        sensing = filled(self._source.sensing, [arrays.adopt(each) for each in rows])
        return ModelOracle(Composite(c, penalty, sensing), self._x, forms=False)

    def evaluate(self, x: Tree) -> Point:
        penalty = self._source.penalty
        if type(penalty).block is Penalty.block or penalty.rows is not None:
            z, kept = self.measure(x)
            pull = self.actions(x, kept).pull
            return Point(x, self.penalty.value(z), pull(self.penalty.subgradient(z).ravel()))
        points = []
        for block, oracle in self._blocks(penalty):
            point = oracle.evaluate(x)
            block.require_finite(point.value)
            points.append((np.asarray(point.value, np.float64), point.subgradient))
        values, subgradients = zip(*points, strict=True)
        dtype = np.finfo(jax.tree.leaves(x)[0].dtype).dtype
        return Point(x, np.asarray(sum(values), dtype), _added(subgradients))

    def measure(self, x: Tree) -> tuple[Array, Any]:
        # For each block what of them its products can use is kept, where there is room.
        parts: list[np.ndarray] = []
        kept: list[Any] | None = []
        for block, oracle in self._blocks():
            z, used = oracle.measure(x)
            block.require_finite(z)
            parts.append(z)
            room = _COPIES * self._count / len(z) * sum(leaf.nbytes for leaf in jax.tree.leaves(used)) <= _KEPT_BYTES
            kept = [*kept, used] if kept is not None and room else None
        return np.concatenate(parts), kept

    def actions(self, x: Tree, kept: Any = None) -> Products:
        # Each product is one pass.
        def each() -> Iterator[tuple[streams.Block, Products]]:
            for block, oracle in self._blocks():
                yield block, oracle.actions(x, None if kept is None else kept[block.place])

        def along(v: Array) -> Array:
            return v.reshape(self._count, -1)

        def push(z: Tree) -> Array:
            return np.concatenate([products.push(z) for _, products in each()])

        def pull(v: Array) -> Tree:
            return _added([products.pull(block.of(along(v)).ravel()) for block, products in each()])

        def product(z: Tree, w: Array) -> tuple[Array, Tree]:
            found = [products.product(z, block.of(along(w)).ravel()) for block, products in each()]
            pushed, pulled = zip(*found, strict=True)
            return np.concatenate(pushed), _added(pulled)

        return Products(push, pull, product)

    def matrix(self, x: Tree) -> Array:
        raise streams.refused(self.problem)

    def jacobian(self, x: Tree) -> Array:
        return self._inner.jacobian(x)

    @property
    def _inner(self) -> Oracle:
        """The oracle of the same map without measurements: the metric is that of c alone."""
        bare = Composite(self._source.map, self._source.penalty, Identity())
        if self._portable:
            return PartsOracle(bare.using(np), np, self._x)
        return ModelOracle(bare, self._x, forms=False)

    def gram(self, x: Tree) -> Callable[[Tree], Tree]:
        return self._inner.gram(x)

    def metric(self, x: Tree, damping: Array | float = 0.0) -> Callable[[Tree], Tree]:
        return self._inner.metric(x, damping)

    def metrics(self, x: Tree, damping: Array | float = 0.0) -> Callable[[Tree], Tree]:
        return self._inner.metrics(x, damping)

    def curvature(self, x: Tree, s: Tree) -> Array:
        return self._inner.curvature(x, s)

    def slopes(self, x: Tree) -> tuple[Callable[[Tree], Array], Callable[[Array], Tree]]:
        return self._inner.slopes(x)

    def image_subgradient(self, point: Point) -> Array | None:
        return None

    def holding(self, free: Tree) -> Oracle:
        c: Any = Held(self._source.map, free)
        c = c.using(np) if self._portable else c
        return StreamedOracle(Composite(c, self._source.penalty, self._source.sensing, self._source.box), self._x)


def _added(parts: Any) -> Tree:
    return reduce(lambda total, part: trees.add_scaled(total, 1.0, part), parts)
