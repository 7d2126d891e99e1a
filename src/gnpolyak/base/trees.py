"""Vector-space operations on a variable that may be an array or any pytree of arrays, real or complex.

A complex array is a vector of real and imaginary parts: ⟨a, b⟩ is the real part of Σ conj(a) b, so that norms, adjoints
and gradients are those of the real space of twice the dimension.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base.namespace import Array

Tree = Any
"""An array or a pytree of arrays: the type of a variable x and of its subgradients."""


def dot(a: Tree, b: Tree) -> Array:
    """⟨a, b⟩, summed over all leaves; a real number."""
    if hasattr(a, "ndim"):
        return (a.conj() * b).real.sum()
    products = [(u.conj() * v).real.sum() for u, v in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)]
    return reduce(operator.add, products)


def norm(a: Tree) -> Array:
    """‖a‖ = ⟨a, a⟩^½."""
    return dot(a, a) ** 0.5


def add_scaled(a: Tree, scale: Array | float, b: Tree) -> Tree:
    """The sum a + scale · b."""
    return _mapped(lambda u, v: u + scale * v, a, b)


def subtract(a: Tree, b: Tree) -> Tree:
    """The difference a − b."""
    return _mapped(lambda u, v: u - v, a, b)


def scale(factor: Array | float, a: Tree) -> Tree:
    """The product factor · a."""
    return _mapped(lambda u: factor * u, a)


def _mapped(function: Callable[..., Array], *trees: Tree) -> Tree:
    """`jax.tree.map`, which takes longer than the arithmetic where a variable is an array or a tuple of some."""
    if hasattr(trees[0], "ndim"):
        return function(*trees)
    if type(trees[0]) is tuple and all(hasattr(leaf, "ndim") for leaf in trees[0]):
        return tuple([function(*leaves) for leaves in zip(*trees, strict=True)])
    return jax.tree.map(function, *trees)


def conjugate(a: Tree) -> Tree:
    """The complex conjugate of every leaf; a real tree as it is."""
    return jax.tree.map(lambda leaf: leaf.conj(), a)


def adjoint(transpose: Callable[[Tree], Tree]) -> Callable[[Tree], Tree]:
    """The adjoint of a linear map from its transpose, which is what JAX's vjp and linear_transpose give.

    They differ where there are complex numbers: Jᴴv is the conjugate of Jᵀ applied to the conjugate of v.
    """
    return lambda v: conjugate(transpose(conjugate(v)))


def select(condition: Any, a: Tree, b: Tree) -> Tree:
    """Return a where the scalar condition holds, else b."""
    if not isinstance(condition, jax.Array):
        return a if condition else b
    return jax.tree.map(lambda u, v: jnp.where(condition, u, v), a, b)


def masked(xp: Any, kept: Tree, a: Tree) -> Tree:
    """The tree with zeros where `kept`, a tree of masks, does not hold."""
    return jax.tree.map(lambda k, u: xp.where(k, u, 0.0), kept, a)


def all_finite(*trees: Tree) -> Array:
    """Tell whether every entry of every leaf is finite."""
    # NaN compares false with everything.
    return _every([(abs(leaf) < np.inf).all() for leaf in jax.tree.leaves(trees)])


def equal(a: Tree, b: Tree) -> Array:
    """Tell whether two trees of one structure agree in every entry."""
    return _every([(u == v).all() for u, v in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)])


def is_zero(a: Tree) -> Array:
    """Tell whether every entry of every leaf is exactly zero."""
    return _every([(leaf == 0).all() for leaf in jax.tree.leaves(a)])


def _every(conditions: list[Array]) -> Array:
    """Whether all hold, one after the other: on a GPU a sum whose result goes into an array is a single thread's."""
    return reduce(operator.and_, conditions, np.True_)


def on_host(a: Tree) -> Tree:
    """The tree with NumPy arrays for leaves, which may share memory with those of JAX."""
    return jax.tree.map(np.asarray, a)


def size(a: Tree) -> int:
    """The number of real numbers in the tree; a complex one counts as two."""
    return sum(leaf.size * (2 if jnp.iscomplexobj(leaf) else 1) for leaf in jax.tree.leaves(a))


def widened(a: Tree, columns: int) -> Tree:
    """The tree with columns of zeros appended to every leaf, up to this many."""
    return jax.tree.map(lambda leaf: np.pad(leaf, ((0, 0), (0, max(columns - leaf.shape[1], 0)))), a)


def trimmed(a: Tree) -> Tree:
    """The tree without the columns that are zero in every leaf; one is left."""
    kept = np.any([np.any(np.asarray(leaf) != 0, axis=0) for leaf in jax.tree.leaves(a)], axis=0)
    kept[0] |= not kept.any()
    return jax.tree.map(lambda leaf: leaf[:, kept], a)


def ravel(a: Tree, xp: Any = jnp) -> tuple[Array, Callable[[Array], Tree]]:
    """The tree as one real vector, real parts before imaginary ones, and the way back."""
    leaves, structure = jax.tree.flatten(a)
    parts = [part for leaf in leaves for part in ((leaf.real, leaf.imag) if xp.iscomplexobj(leaf) else (leaf,))]
    ends = np.cumsum([part.size for part in parts])

    def back(u: Array) -> Tree:
        pieces = (u[end - part.size : end].reshape(part.shape) for part, end in zip(parts, ends, strict=True))
        whole = [next(pieces) + 1j * next(pieces) if xp.iscomplexobj(leaf) else next(pieces) for leaf in leaves]
        return jax.tree.unflatten(structure, whole)

    return xp.concatenate([part.ravel() for part in parts]) if parts else xp.zeros(0), back
