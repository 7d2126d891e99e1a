"""NumPy or jax.numpy, whichever the arrays at hand belong to.

What is written with these runs inside compiled programs, and as well on the host, on NumPy arrays and without compiling
anything: a small problem takes less time to solve there than its program takes to compile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

_T = TypeVar("_T")


def namespace(*trees: Any) -> Any:
    """jax.numpy where any leaf is an array of JAX or a trace, else NumPy."""
    return jnp if any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(trees)) else np


def cond(condition: Any, then: Callable[[], _T], otherwise: Callable[[], _T]) -> _T:
    """One of two results, of which on the host only that one is computed."""
    if isinstance(condition, jax.Array):
        return lax.cond(condition, then, otherwise)
    return then() if condition else otherwise()


def while_loop(going: Callable[[_T], Any], body: Callable[[_T], _T], state: _T) -> _T:
    """The state after as many turns as `going` allows."""
    if namespace(state) is jnp:
        return lax.while_loop(going, body, state)
    while going(state):
        state = body(state)
    return state


def svd(matrix: Any) -> tuple[Any, Any, Any]:
    """The thin singular value decomposition, full of NaN where there is none."""
    xp = namespace(matrix)
    try:
        return xp.linalg.svd(matrix, full_matrices=False)
    except np.linalg.LinAlgError:
        k, (m, n) = min(matrix.shape), matrix.shape
        return tuple(np.full(shape, np.nan, matrix.dtype) for shape in ((m, k), (k,), (k, n)))  # type: ignore[return-value]


def solve_triangular(upper: Any, b: Any) -> Any:
    """The solution of an upper triangular system, NaN where there is none."""
    if isinstance(upper, jax.Array):
        return jax.scipy.linalg.solve_triangular(upper, b)
    try:
        return np.linalg.solve(upper, b)
    except np.linalg.LinAlgError:
        return np.full_like(b, np.nan)


def cholesky_solver(matrix: Any) -> Callable[[Any], Any]:
    """b ↦ matrix⁻¹b for a positive definite matrix, NaN where it is none."""
    if isinstance(matrix, jax.Array):
        factor = jax.scipy.linalg.cho_factor(matrix)
        return lambda b: jax.scipy.linalg.cho_solve(factor, b)
    try:
        # NumPy solves no triangular systems; of these few rows the inverse of the factor is as good.
        inverse = np.linalg.inv(np.linalg.cholesky(matrix))
    except np.linalg.LinAlgError:
        return lambda b: np.full_like(b, np.nan)
    return lambda b: inverse.T @ (inverse @ b)
