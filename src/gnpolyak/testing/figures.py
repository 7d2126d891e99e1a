"""Figures of a check: relative errors, each with the largest that is allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base import arrays, trees
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree

DOUBLE = np.dtype(np.float64)
# Two ways to the same number in float64, one of them through a dense matrix.
CLOSE = 1e-10
# Single precision, through a few hundred operations.
SINGLE = 2e-3


@dataclass
class Figures:
    """What a check of one part measured."""

    of: str
    errors: dict[str, float] = field(default_factory=dict)
    allowed: dict[str, float] = field(default_factory=dict)

    def compare(self, name: str, found: Tree, expected: Tree, allowed: float = CLOSE) -> None:
        """Note ‖found − expected‖ relative to the expected size; other shapes are infinitely far apart."""
        a, b = (np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)]) for tree in (found, expected))
        size = max(float(np.linalg.norm(b)), float(np.finfo(np.float64).tiny))
        self.note(name, float(np.linalg.norm(a - b)) / size if a.shape == b.shape else np.inf, allowed)

    def note(self, name: str, error: float, allowed: float) -> None:
        """Note an error and the largest that is allowed."""
        self.errors[name], self.allowed[name] = float(error), allowed

    def require(self, name: str, holds: bool) -> None:
        """Note something that holds or does not."""
        self.note(name, 0.0 if holds else np.inf, 0.0)

    def judged(self) -> dict[str, float]:
        """The figures; AssertionError if one is larger than allowed, or not a number."""
        bad = [name for name, error in self.errors.items() if not error <= self.allowed[name]]
        if bad:
            said = "; ".join(
                f"{name}: {self.errors[name]:.2g}, at most {self.allowed[name]:.2g} allowed" for name in bad
            )
            raise AssertionError(f"{self.of} does not conform: {said}.")
        return self.errors


@contextmanager
def computing(*points: Tree) -> Iterator[list[Any]]:
    """Yield the points as float64 JAX arrays, inside a block that computes in float64."""
    cast = [arrays.cast(arrays.as_variable(x), DOUBLE) for x in points]
    with arrays.computing_in(DOUBLE):
        yield cast


def dense(f: Callable[..., Any], *data: Any) -> np.ndarray:
    """The Jacobian of x ↦ f(*data, x) as a matrix of real numbers, the last argument being x."""
    return np.asarray(jax.jit(jacobian, static_argnums=0)(f, *data))


def jacobian(f: Callable[..., Any], *data: Any) -> Array:
    """The same inside a compiled function."""
    *others, x = data
    flat, unravel = trees.ravel(x)
    return jax.jacfwd(lambda u: trees.ravel(f(*others, unravel(u)))[0])(flat)


def vector(tree: Tree) -> np.ndarray:
    """The tree as one real NumPy vector, real parts of a leaf before its imaginary ones."""
    return np.concatenate([part.ravel() for leaf in jax.tree.leaves(tree) for part in _parts(np.asarray(leaf))])


def _parts(leaf: np.ndarray) -> tuple[np.ndarray, ...]:
    return (leaf.real, leaf.imag) if np.iscomplexobj(leaf) else (leaf,)


def shaped(flat: np.ndarray, like: Tree) -> Tree:
    """The tree of the shape of another one whose `vector` this is."""
    leaves, structure = jax.tree.flatten(like)
    counts = [leaf.size * len(_parts(np.asarray(leaf))) for leaf in leaves]
    pieces = np.split(flat, np.cumsum(counts)[:-1])
    return jax.tree.unflatten(structure, [_leaf(piece, leaf) for piece, leaf in zip(pieces, leaves, strict=True)])


def _leaf(piece: np.ndarray, like: Array) -> Array:
    if not jnp.iscomplexobj(like):
        return jnp.asarray(piece.reshape(like.shape))
    real, imag = piece.reshape(2, *like.shape)
    return jnp.asarray(real + 1j * imag)


def drawn(like: Tree, rng: np.random.Generator) -> Tree:
    """Standard normal numbers in the shape of a tree, complex where it is."""
    return shaped(rng.standard_normal(trees.size(like)), like)


def single(tree: Tree) -> Tree:
    """The tree in single precision."""
    return arrays.cast(tree, np.dtype(np.float32))


def are_numpys(tree: Tree, dtype: np.dtype) -> bool:
    """Whether all leaves are NumPy's, real ones of this dtype and complex ones with parts of it."""
    leaves = jax.tree.leaves(tree)
    return all(isinstance(leaf, (np.ndarray, np.generic)) and leaf.real.dtype == dtype for leaf in leaves)
