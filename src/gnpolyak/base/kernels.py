"""Kernels for a GPU, each one program that holds a small matrix in its registers.

Written with Pallas for Triton. A machine without a GPU runs them by ``interpret=True``, which is how they are tested.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt

# Sweeps over all pairs: convergence is quadratic in the end, and 4 to 6 are usual up to 8×8.
_MOST_SWEEPS = 12

Symmetric = dict[tuple[int, int], Array]
"""A symmetric matrix by its entries (i, j) with i ≤ j."""
Square = dict[tuple[int, int], Array]
"""A square matrix by all of its entries."""


def eigh(matrix: Array, interpret: bool = False) -> tuple[Array, Array]:
    """Eigenvalues, in no order, and eigenvectors of a real symmetric r×r matrix by Jacobi's rotations.

    Every entry is a number of its own, so that a rotation is arithmetic without any exchange between threads. Small
    eigenvalues of a matrix whose size is all in its diagonal scaling keep their digits, which QR iterations lose.
    """
    r = matrix.shape[0]
    shapes = [jax.ShapeDtypeStruct((r,), matrix.dtype), jax.ShapeDtypeStruct((r, r), matrix.dtype)]

    def kernel(s: Any, values: Any, vectors: Any) -> None:
        a = {(i, j): s[i, j] for j in range(r) for i in range(j + 1)}
        # In units of the largest entry no square leaves the range.
        largest = reduce(jnp.maximum, map(jnp.abs, a.values()))
        unit = jnp.where(largest > 0, largest, 1.0)
        a, v = _diagonalised({place: entry / unit for place, entry in a.items()}, r)
        # Where anything is not a number, nothing of the result is.
        spoilt = sum((0 * entry for entry in a.values()), start=0 * a[0, 0])
        for i in range(r):
            values[i] = unit * a[i, i] + spoilt
            for j in range(r):
                vectors[i, j] = v[i, j] + spoilt

    return call(kernel, shapes, matrix, interpret=interpret)


def inverse(matrix: Array, interpret: bool = False) -> Array:
    """The inverse of a positive definite matrix, NaN where it is none, by Gauss and Jordan's elimination in place."""
    n = matrix.shape[0]
    wide = power_of_two(n)

    def kernel(given: Any, found: Any) -> None:
        found[...] = _inverted(given[...])

    # Beside the matrix a unit matrix, which stays one.
    padded = jnp.pad(matrix, ((0, wide - n),) * 2) + jnp.diag((jnp.arange(wide) >= n).astype(matrix.dtype))
    shape = jax.ShapeDtypeStruct((wide, wide), matrix.dtype)
    return call(kernel, shape, padded, warps=1 if wide <= 8 else 4, interpret=interpret)[:n, :n]


def _inverted(matrix: Array) -> Array:
    rows, columns = (lax.broadcasted_iota(jnp.int32, matrix.shape, axis) for axis in (0, 1))
    places = lax.iota(jnp.int32, matrix.shape[0])

    def eliminate(k: Array, a: Array) -> Array:
        row = jnp.sum(jnp.where(rows == k, a, 0.0), axis=0)
        column = jnp.sum(jnp.where(columns == k, a, 0.0), axis=1)
        pivot = entry(row, k)
        pivot = jnp.where(pivot > 0, pivot, jnp.nan)
        row = jnp.where(places == k, 1.0, row) / pivot
        column = jnp.where(places == k, -1.0, column)
        return jnp.where((rows == k) | (columns == k), 0.0, a) - column[:, None] * row[None, :]

    return lax.fori_loop(0, matrix.shape[0], eliminate, matrix)


def call(kernel: Any, shapes: Any, *operands: Array, warps: int = 1, interpret: bool = False) -> Any:
    """Run a kernel as a single program."""
    parameters = plt.CompilerParams(num_warps=warps)
    return pl.pallas_call(kernel, out_shape=shapes, compiler_params=parameters, interpret=interpret)(*operands)


def _diagonalised(a: Symmetric, r: int) -> tuple[Symmetric, Square]:
    """A matrix after as many sweeps as it takes, and the product of the rotations."""
    # Made of what was read: Triton takes no constants where a loop begins or ends.
    zero = a[0, 0] - a[0, 0]
    unit = {(i, j): zero + 1 if i == j else zero for i in range(r) for j in range(r)}

    def going(state: tuple[Symmetric, Square, Array, Array]) -> Array:
        return (state[2] > 0) & (state[3] < _MOST_SWEEPS)

    def sweep(state: tuple[Symmetric, Square, Array, Array]) -> tuple[Symmetric, Square, Array, Array]:
        a, v, _, sweeps = dict(state[0]), dict(state[1]), *state[2:]
        for p in range(r):
            for q in range(p + 1, r):
                _rotate(a, v, p, q)
        return a, v, _beside(a, zero), sweeps + 1

    a, v, _, _ = lax.while_loop(going, sweep, (a, unit, _beside(a, zero), zero))
    return a, v


def _beside(a: Symmetric, zero: Array) -> Array:
    """Above 0 where two axes are not orthogonal to working precision: a² > ε² |aᵢᵢ aⱼⱼ| for the entry between them."""
    least = float(jnp.finfo(zero.dtype).eps) ** 2
    left = [a[i, j] * a[i, j] - least * jnp.abs(a[i, i] * a[j, j]) for i, j in a if i < j]
    return reduce(jnp.maximum, left, zero)


def _rotate(a: Symmetric, v: Square, p: int, q: int) -> None:
    """Rotate the axes p < q so that the entry between them vanishes."""
    r, apq = max(a)[1] + 1, a[p, q]
    d, e = a[q, q] - a[p, p], 2 * apq
    square = d * d + e * e
    inverse = jnp.where(square > 0, lax.rsqrt(jnp.where(square > 0, square, 1.0)), 0.0)
    half = jnp.where(square > 0, (1 + jnp.abs(d) * inverse) / 2, 1.0)
    secant = lax.rsqrt(half)
    cosine, sine = half * secant, jnp.where(d < 0, -e, e) * inverse * secant / 2
    shift = sine * secant * apq
    a[p, p], a[q, q], a[p, q] = a[p, p] - shift, a[q, q] + shift, apq - apq
    for k in range(r):
        if k not in (p, q):
            kp, kq = (min(k, p), max(k, p)), (min(k, q), max(k, q))
            a[kp], a[kq] = cosine * a[kp] - sine * a[kq], sine * a[kp] + cosine * a[kq]
        v[k, p], v[k, q] = cosine * v[k, p] - sine * v[k, q], sine * v[k, p] + cosine * v[k, q]


def power_of_two(size: int) -> int:
    """The least one that is no smaller: arrays inside a kernel have such sizes."""
    return 1 << (size - 1).bit_length()


def entry(vector: Array, place: Array | int) -> Array:
    """The entry of a vector inside a kernel, where nothing can be indexed."""
    return jnp.sum(jnp.where(lax.iota(jnp.int32, vector.shape[0]) == place, vector, 0.0))
