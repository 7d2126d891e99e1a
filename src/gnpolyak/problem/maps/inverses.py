"""Pseudo-inverses of small symmetric matrices, with one opinion on what is rank and what is rounding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_
from typing import Any

import numpy as np

from gnpolyak.base import namespace
from gnpolyak.base.namespace import Array
from gnpolyak.base.small import factor_inverse


def cutoff(size: int, dtype: Any) -> float:
    """Eigenvalues below this fraction of the largest are rounding, not rank."""
    return size * float(np.finfo(dtype).eps)


def reciprocal(xp: Any, values: Array, least: float) -> Array:
    """1/λ where λ is above the cutoff relative to the largest, else 0."""
    return inverted(xp, values, values > least * values.max())


def inverted(xp: Any, values: Array, kept: Array) -> Array:
    """1/λ where `kept` holds, else 0."""
    return xp.where(kept, 1.0 / xp.where(kept, values, 1.0), 0.0)


def is_regular(factor: Array) -> Array:
    """Tell from the Cholesky factor of a scaled matrix whether it has full rank to working precision."""
    pivots = factor.diagonal() ** 2
    # NaN pivots of a failed factorisation compare false.
    return pivots.min() > 100 * cutoff(factor.shape[0], factor.dtype) * pivots.max()


def gram_pinv(xp: Any, matrix: Array, damping: Array | float, rows: int) -> Array:
    """(MᵀM + μ)† from the singular values of M, whose null space is then known to eps, not to eps·cond(M)²."""
    _, singular, vt = namespace.svd(xp, matrix)
    return (vt.T * reciprocal(xp, singular**2 + damping, cutoff(rows, matrix.dtype))) @ vt


def symmetric_pinv(xp: Any, matrix: Array, size: int) -> Array:
    """The pseudo-inverse of a symmetric positive semidefinite matrix."""
    eigenvalues, v = namespace.eigh(xp, matrix)
    return (v * reciprocal(xp, eigenvalues, cutoff(max(size, matrix.shape[0]), matrix.dtype))) @ v.T


def scaled_inverses(
    xp: Any, matrices: Sequence[Array], singular: Callable[[], tuple[Array, ...]], trusted: Array | bool = True
) -> tuple[Array, ...]:
    """The M⁻¹ by Cholesky after scaling the diagonals to ones; what `singular` returns where one has lost rank.

    Factors' lengths enter a Gram to high powers, so unscaled it looks singular long before it is. Scaling changes
    the minimum-norm solution of a singular system, which is why that is left to another way.
    """
    scales = [_scale(xp, matrix) for matrix in matrices]
    factors = [namespace.cholesky(xp, m / scale) for m, scale in zip(matrices, scales, strict=True)]

    def regular() -> tuple[Array, ...]:
        return tuple(factor_inverse(xp, factor) / scale for factor, scale in zip(factors, scales, strict=True))

    return namespace.cond(xp, reduce(and_, map(is_regular, factors), trusted), regular, singular)


def _scale(xp: Any, matrix: Array) -> Array:
    """The products √Mᵢᵢ √Mⱼⱼ, with ones for roots that are zero."""
    root = xp.sqrt(matrix.diagonal())
    root = xp.where(root > 0, root, 1.0)
    return root[:, None] * root
