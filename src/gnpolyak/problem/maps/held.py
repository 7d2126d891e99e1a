"""A map some of whose variables are held where they are."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array, lax

from gnpolyak.base import trees
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

    map: Map
    free: Tree

    @property
    def offers(self) -> frozenset[Capability]:
        return self.map.offers - {GRAM_PINV, RIGHT_GRAM}

    def has(self, capability: Capability) -> bool:
        return capability not in {GRAM_PINV, RIGHT_GRAM} and self.map.has(capability)

    def __call__(self, x: Tree) -> Array:
        return self.map(jax.tree.map(lambda kept, u: jnp.where(kept, u, lax.stop_gradient(u)), self.free, x))

    def linearize(self, x: Tree) -> tuple[Callable[[Tree], Array], Callable[[Array], Tree]]:
        push, pull = self.map.linearize(x)
        return lambda z: push(trees.masked(self.free, z)), lambda v: trees.masked(self.free, pull(v))

    def gram(self, x: Tree) -> Callable[[Tree], Tree]:
        action = self.map.gram(x)
        return lambda z: trees.masked(self.free, action(trees.masked(self.free, z)))

    def curvature(self, x: Tree, s: Tree) -> Array:
        return self.map.curvature(x, trees.masked(self.free, s))

    def inner(self, x: Tree, y: Tree) -> Array:
        return self.map.inner(x, y)

    def distance(self, x: Tree, y: Tree) -> Array:
        return self.map.distance(x, y)
