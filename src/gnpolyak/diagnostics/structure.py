"""Whether the structure that a map offers is that of its derivative, each as a relative error."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from gnpolyak.base import trees
from gnpolyak.base.trees import Tree
from gnpolyak.problem.maps import Map

# What is left of a Gaussian vector outside the range of JᵀJ is of size 1, or rounding.
_NULL = 1e-4


def relative(a: Tree, b: Tree) -> Array:
    """‖a − b‖/max(‖a‖, ‖b‖)."""
    size = jnp.maximum(trees.norm(a), trees.norm(b))
    return trees.norm(trees.add_scaled(a, -1.0, b)) / jnp.where(size > 0, size, 1.0)


def image_figures(c: Map, x: Tree, y: Tree) -> dict[str, Array]:
    """`inner` and `distance` against the images themselves."""
    at_x, at_y = c(x), c(y)
    return {
        "inner": relative(c.inner(x, y), jnp.sum(at_x * at_y)),
        "distance": relative(c.distance(x, y), jnp.linalg.norm((at_x - at_y).ravel())),
    }


def pinv_figures(c: Map, x: Tree, u: Tree, w: Tree) -> dict[str, Array]:
    """`gram_pinv`: s = (JᵀJ)†JᵀJu solves its system, with the minimum norm, and (JᵀJ + λI)s = JᵀJu with damping."""
    gram = c.gram(x)
    g = gram(u)
    s = c.gram_pinv(x, g)
    damping = trees.dot(u, g) / trees.dot(u, u)
    damped = c.gram_pinv(x, g, damping)
    return {
        "gram_pinv": relative(gram(s), g),
        "gram_pinv norm": _null_part(c, x, s, w),
        "gram_pinv damped": relative(trees.add_scaled(gram(damped), damping, damped), g),
    }


def _null_part(c: Map, x: Tree, s: Tree, w: Tree) -> Array:
    """The share of s along a random null vector of J: none if s has the minimum norm.

    Where `gram_pinv` solves its system at all, w − (JᵀJ)†JᵀJw is a null vector.
    """
    null = trees.add_scaled(w, -1.0, c.gram_pinv(x, c.gram(x)(w)))
    size = trees.norm(null)
    share = jnp.abs(trees.dot(s, null)) / (trees.norm(s) * size)
    return jnp.where(size > _NULL * trees.norm(w), share, 0.0)


def right_gram_figures(c: Map, x: Array, u: Array) -> dict[str, Array]:
    """`right_gram`: JᵀJZ is a multiple of Z (XᵀX) for directions Z orthogonal to the columns of X."""
    if x.shape[0] <= x.shape[1]:
        return {}
    q, _ = jnp.linalg.qr(x)
    z = u - q @ (q.T @ u)
    ours, theirs = z @ c.right_gram(x), c.gram(x)(z)
    return {"right_gram": relative(ours / trees.norm(ours), theirs / trees.norm(theirs))}
