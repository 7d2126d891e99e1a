"""The oracle that asks the parts of a problem one after the other, or the fused kernel that stands for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.oracles.base import Oracle
from gnpolyak.problem.composite import Composite, Point
from gnpolyak.problem.maps import Held
from gnpolyak.problem.oracles import Products, linearised


class PartsOracle(Oracle):
    """Evaluates c, A and h in turn, on NumPy arrays or inside a compiled program.

    Where the table of kernels has a fused pass for exactly these parts, that pass serves instead.

    Parameters
    ----------
    problem : Composite
    xp : namespace
    x : pytree
        A point like those that it will be asked at.
    forms : bool
        Whether steps use AJ as a matrix.
    """

    def __init__(self, problem: Composite, xp: Any, x: Tree, forms: bool = False) -> None:
        super().__init__(problem, xp)
        self.forms = forms  # type: ignore[misc]
        self._x, self._kernel = x, problem.kernel(x)
        self._at: tuple[Tree, dict[Any, Any]] = (None, {})

    def evaluate(self, x: Tree) -> Point:
        c, a, h = self.map, self.sensing, self.penalty
        if self._kernel is not None:
            return Point(x, *self._kernel.evaluate(c, a, h, x))
        z, pullback = a.measure(c, x)
        v = h.subgradient(z)
        return Point(x, h.value(z), pullback(v), v)

    def measure(self, x: Tree) -> tuple[Array, Any]:
        c, a, h = self.map, self.sensing, self.penalty
        return (a.measure(c, x)[0], None) if self._kernel is None else self._kernel.measure(c, a, h, x)

    def actions(self, x: Tree, kept: Any = None) -> Products:
        c, a, h = self.map, self.sensing, self.penalty
        return linearised(c, a, h, x) if self._kernel is None else self._kernel.linearised(c, a, h, x, kept)

    def matrix(self, x: Tree) -> Array:
        flat, unravel = self.ravel(x)
        if self.xp is jnp:
            return jax.jacfwd(lambda u: self.problem.changes(unravel(u)))(flat)
        push = self.linearise(x).push
        return np.stack([push(unravel(unit)) for unit in np.eye(flat.size, dtype=flat.dtype)], axis=1)

    def gram(self, x: Tree) -> Callable[[Tree], Tree]:
        return self._once(x, "gram", lambda: self.map.gram(x))

    def metric(self, x: Tree, damping: Array | float = 0.0) -> Callable[[Tree], Tree]:
        return self._once(x, damping, lambda: self.map.preconditioner(x, damping))

    def _once(self, x: Tree, key: Any, make: Callable[[], Any]) -> Any:
        """What a step asks for several times at one point; on the host alone, since a trace must not outlive itself."""
        if self.xp is jnp:
            return make()
        if self._at[0] is not x:
            self._at = (x, {})
        known, key = self._at[1], key if isinstance(key, str) else float(key)
        if key not in known:
            known[key] = make()
        return known[key]

    def metrics(self, x: Tree, damping: Array | float = 0.0) -> Callable[[Tree], Tree]:
        # The library's closed forms broadcast; a user's, which only JAX runs, need not.
        solve = self.metric(x, damping)
        return jax.vmap(solve) if self.xp is jnp else solve

    def jacobian(self, x: Tree) -> Array:
        flat, unravel = self.ravel(x)
        if self.xp is jnp:
            return jax.jacfwd(lambda u: self.ravel(self.map(unravel(u)))[0])(flat)
        push, _ = self.map.linearize(x)
        return np.stack([self.ravel(push(unravel(unit)))[0] for unit in np.eye(flat.size, dtype=flat.dtype)], axis=1)

    def slopes(self, x: Tree) -> tuple[Callable[[Tree], Array], Callable[[Array], Tree]]:
        return self.map.linearize(x)

    def image_subgradient(self, point: Point) -> Array | None:
        return self.problem.image_subgradient(point)

    def curvature(self, x: Tree, s: Tree) -> Array:
        return self.map.curvature(x, s)

    def holding(self, free: Tree) -> Oracle:
        held = Held(self.map, free)
        held = held.using(np) if self.xp is np else held
        problem = Composite(held, self.penalty, self.sensing, self.box)
        return PartsOracle(problem, self.xp, self._x, self.forms)
