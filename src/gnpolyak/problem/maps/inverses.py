"""Pseudo-inverses of small symmetric matrices, with one opinion on what is rank and what is rounding."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jax import Array, lax


def cutoff(size: int, dtype: jnp.dtype) -> float:
    """Eigenvalues below this fraction of the largest are rounding, not rank."""
    return size * float(jnp.finfo(dtype).eps)


def reciprocal(values: Array, least: float) -> Array:
    """1/λ where λ is above the cutoff relative to the largest, else 0."""
    kept = values > least * jnp.max(values)
    return jnp.where(kept, 1.0 / jnp.where(kept, values, 1.0), 0.0)


def is_regular(factor: Array) -> Array:
    """Tell from the Cholesky factor of a scaled matrix whether it has full rank to working precision."""
    pivots = jnp.diag(factor) ** 2
    # NaN pivots of a failed factorisation compare false.
    return jnp.min(pivots) > 100 * cutoff(factor.shape[0], factor.dtype) * jnp.max(pivots)


def gram_pinv(matrix: Array, damping: Array | float, rows: int) -> Array:
    """(MᵀM + μ)† from the singular values of M, whose null space is then known to eps, not to eps·cond(M)²."""
    _, singular, vt = jnp.linalg.svd(matrix, full_matrices=False)
    return (vt.T * reciprocal(singular**2 + damping, cutoff(rows, matrix.dtype))) @ vt


def symmetric_pinv(matrix: Array, size: int) -> Array:
    """The pseudo-inverse of a symmetric positive semidefinite matrix."""
    eigenvalues, v = jnp.linalg.eigh(matrix)
    return (v * reciprocal(eigenvalues, cutoff(max(size, matrix.shape[0]), matrix.dtype))) @ v.T


def scaled_inverses(
    matrices: Sequence[Array], singular: Callable[[], tuple[Array, ...]], trusted: Array | bool = True
) -> tuple[Array, ...]:
    """The M⁻¹ by Cholesky after scaling the diagonals to ones; what `singular` returns where one has lost rank.

    Factors' lengths enter a Gram to high powers, so unscaled it looks singular long before it is. Scaling changes
    the minimum-norm solution of a singular system, which is why that is left to another way.
    """
    roots = [jnp.sqrt(jnp.diag(matrix)) for matrix in matrices]
    roots = [jnp.where(root > 0, root, 1.0) for root in roots]
    factors = [jnp.linalg.cholesky(m / jnp.outer(root, root)) for m, root in zip(matrices, roots, strict=True)]

    def regular() -> tuple[Array, ...]:
        return tuple(_inverse(factor) / jnp.outer(root, root) for factor, root in zip(factors, roots, strict=True))

    return lax.cond(jnp.stack([is_regular(factor) for factor in factors]).all() & trusted, regular, singular)


def _inverse(factor: Array) -> Array:
    return jax.scipy.linalg.cho_solve((factor, True), jnp.eye(len(factor), dtype=factor.dtype))
