"""A map some of whose variables are held where they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import GRAM_PINV, RIGHT_GRAM, Capability
from gnpolyak.problem.maps.base import Map


class Held(Map):
    """The map c with the Jacobian JP, for the projection P on the variables that are free.

    Nothing of c is lost by it but its closed forms, which are those of all columns of J.

    Parameters
    ----------
    map : Map
        c.
    free : pytree
        Masks like the variable.
    """

    over_xp: ClassVar[bool] = True
    map: Map
    free: Tree

    @property
    def offers(self) -> frozenset[Capability]:
        return self.map.offers - {GRAM_PINV, RIGHT_GRAM}

    def has(self, capability: Capability) -> bool:
        return capability not in {GRAM_PINV, RIGHT_GRAM} and self.map.has(capability)

    def image(self, x: Tree) -> jax.ShapeDtypeStruct:
        return self.map.image(x)

    def __call__(self, x: Tree) -> Array:
        if self.xp is np:
            return self.map(x)
        return self.map(jax.tree.map(lambda kept, u: jnp.where(kept, u, lax.stop_gradient(u)), self.free, x))

    def linearize(self, x: Tree) -> tuple[Callable[[Tree], Array], Callable[[Array], Tree]]:
        return self._held(*self.map.linearize(x))

    def entries(self, x: Tree, indices: tuple[Array, ...]) -> Array:
        return self.map.entries(x, indices)

    def entries_linearized(
        self, x: Tree, indices: tuple[Array, ...]
    ) -> tuple[Callable[[Tree], Array], Callable[[Array], Tree]]:
        return self._held(*self.map.entries_linearized(x, indices))

    def gram(self, x: Tree) -> Callable[[Tree], Tree]:
        action = self.map.gram(x)
        return lambda z: self._masked(action(self._masked(z)))

    def curvature(self, x: Tree, s: Tree) -> Array:
        return self.map.curvature(x, self._masked(s))

    def inner(self, x: Tree, y: Tree) -> Array:
        return self.map.inner(x, y)

    def distance(self, x: Tree, y: Tree) -> Array:
        return self.map.distance(x, y)

    def power_forms(self, x: Array, rows: Array) -> tuple[Array, Callable[[Array], Array]]:
        values, pullback = self.map.power_forms(x, rows)
        return values, lambda w: self._masked(pullback(w))

    def power_push(self, x: Array, rows: Array) -> Callable[[Array], Array]:
        push = self.map.power_push(x, rows)
        return lambda z: push(self._masked(z))

    def intensities(
        self, x: Array, forward: Callable[[Array], Array], adjoint: Callable[[Array], Array]
    ) -> tuple[Array, Callable[[Array], Array]]:
        values, pullback = self.map.intensities(x, forward, adjoint)
        return values, lambda w: self._masked(pullback(w))

    def intensities_push(self, x: Array, forward: Callable[[Array], Array]) -> Callable[[Array], Array]:
        push = self.map.intensities_push(x, forward)
        return lambda z: push(self._masked(z))

    def bilinear_forms(self, x: Tree, left: Array, right: Array) -> tuple[Array, Callable[[Array], Tree]]:
        values, pullback = self.map.bilinear_forms(x, left, right)
        return values, lambda w: self._masked(pullback(w))

    def bilinear_push(self, x: Tree, left: Array, right: Array) -> Callable[[Tree], Array]:
        push = self.map.bilinear_push(x, left, right)
        return lambda z: push(self._masked(z))

    def _held(
        self, push: Callable[[Tree], Array], pull: Callable[[Array], Tree]
    ) -> tuple[Callable[[Tree], Array], Callable[[Array], Tree]]:
        return lambda z: push(self._masked(z)), lambda v: self._masked(pull(v))

    def _masked(self, z: Tree) -> Tree:
        where = self.xp.where
        return jax.tree.map(lambda kept, u: where(kept, u, 0.0), self.free, z)
