"""Vector-space operations on a variable that may be an array or any pytree of arrays."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

Tree = Any
"""An array or a pytree of arrays: the type of a variable x and of its subgradients."""


def dot(a: Tree, b: Tree) -> Array:
    """⟨a, b⟩, summed over all leaves."""
    products = jax.tree.leaves(jax.tree.map(lambda u, v: jnp.sum(u * v), a, b))
    return jnp.stack(products).sum()


def norm(a: Tree) -> Array:
    """‖a‖ = ⟨a, a⟩^½."""
    return jnp.sqrt(dot(a, a))


def add_scaled(a: Tree, scale: Array | float, b: Tree) -> Tree:
    """The sum a + scale · b."""
    return jax.tree.map(lambda u, v: u + scale * v, a, b)


def scale(factor: Array | float, a: Tree) -> Tree:
    """The product factor · a."""
    return jax.tree.map(lambda u: factor * u, a)


def select(condition: Array, a: Tree, b: Tree) -> Tree:
    """Return a where the scalar condition holds, else b."""
    return jax.tree.map(lambda u, v: jnp.where(condition, u, v), a, b)


def all_finite(*trees: Tree) -> Array:
    """Tell whether every entry of every leaf is finite."""
    return jnp.array([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(trees)]).all()


def equal(a: Tree, b: Tree) -> Array:
    """Tell whether two trees of one structure agree in every entry."""
    same = jax.tree.map(lambda u, v: jnp.all(u == v), a, b)
    return jnp.array(jax.tree.leaves(same)).all()


def is_zero(a: Tree) -> Array:
    """Tell whether every entry of every leaf is exactly zero."""
    return jnp.array([jnp.all(leaf == 0) for leaf in jax.tree.leaves(a)]).all()
