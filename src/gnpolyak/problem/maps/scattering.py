"""Chosen entries of a multilinear map: their derivative along its factors, and its adjoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add, mul
from typing import Any

import jax.numpy as jnp
import numpy as np

from gnpolyak.base.namespace import Array

Push = Callable[[Sequence[Array]], Array]
Pull = Callable[[Array], tuple[Array, ...]]


def scatter(xp: Any, places: Any, rows: Array, count: int, weights: Any = None) -> Array:
    """The matrix of `count` rows whose row p is the sum of the given rows with place p, weighted."""
    weighted: Any = rows if weights is None else weights[:, None] * rows
    if xp is jnp:
        return jnp.zeros((count, rows.shape[1]), rows.dtype).at[places].add(weighted)
    weighted = np.ascontiguousarray(weighted)
    # NumPy counts with real weights alone: a complex number is two of them.
    real = weighted.view(weighted.real.dtype)
    width = real.shape[1]
    entries = places[:, None] * np.int64(width) + np.arange(width)
    summed = np.bincount(entries.ravel(), real.ravel(), count * width).astype(real.dtype, copy=False)
    return summed.reshape(count, width).view(weighted.dtype).astype(rows.dtype, copy=False)


def gathered(xp: Any, factors: Sequence[Array], indices: Sequence[Array]) -> list[Array]:
    """The rows of each factor at the given places; NumPy takes rows in half the time that it indexes with them."""
    pairs = zip(factors, indices, strict=True)
    return [factor[index] if xp is jnp else factor.take(index, axis=0) for factor, index in pairs]


def row_products(xp: Any, a: Array, b: Array) -> Array:
    """The inner product of each row of one matrix and that of the other; NumPy sums short rows slowly."""
    return (a * b).sum(axis=1) if xp is jnp else np.einsum("ij,ij->i", a, b)


def products_but_one(rows: Sequence[Array]) -> list[Array]:
    """For each place the entrywise product of all other matrices."""
    return [reduce(mul, [*rows[:k], *rows[k + 1 :]]) for k in range(len(rows))]


def linearized(
    xp: Any, factors: Sequence[Array], slopes: Sequence[Array], indices: Sequence[Array]
) -> tuple[Push, Pull]:
    """The derivative z ↦ Σₖ ⟨Zₖ at row iₖ, slopeₖ⟩ of entries that are linear in each factor, and its adjoint."""

    def push(z: Sequence[Array]) -> Array:
        pairs = zip(gathered(xp, z, indices), slopes, strict=True)
        return reduce(add, [row_products(xp, rows, slope) for rows, slope in pairs])

    def pull(weights: Array) -> tuple[Array, ...]:
        parts = zip(factors, slopes, indices, strict=True)
        return tuple(scatter(xp, index, slope, factor.shape[0], weights) for factor, slope, index in parts)

    return push, pull
