"""Small linear algebra beside tall factors, in the form that suits where it runs.

On a CPU, and on NumPy arrays, these are the usual calls. On a GPU a call of a library for an r×r matrix takes as long
as a good part of an oracle call, and so does one for each thin product: there eigenvalues come from one kernel, and
products are written as sums that XLA fuses with what surrounds them.
"""

from __future__ import annotations

import importlib
import operator
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gnpolyak.base import namespace
from gnpolyak.base.namespace import Array

# Up to this rank the kernel holds a matrix and its eigenvectors in registers, and products are written out as sums.
LARGEST_RANK = 8
# Up to this many rows NumPy's inverse of a matrix costs no more than that of a triangle would.
_LARGEST_BLOCK = 32


def on_gpu() -> bool:
    """Whether programs are sent to a GPU unless somebody says otherwise."""
    return bool(jax.default_backend() == "gpu")


def by_platform(gpu: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """One function of two ways to compute it, on a GPU of CUDA and elsewhere.

    Without a GPU in the process the other way is not even traced. With one, which is taken is decided where the program
    is sent, since arrays may be placed on the CPU there too.
    """

    @jax.custom_jvp
    def either(*parts: Any) -> Any:
        return lax.platform_dependent(*parts, cuda=gpu, default=plain)

    @either.defjvp
    def derivative(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        # Kernels have no derivative of their own; who differentiates gets that of the plain way.
        return jax.jvp(plain, primals, tangents)

    def chosen(*parts: Any) -> Any:
        return either(*parts) if on_gpu() and kernels() is not None else plain(*parts)

    return chosen


@contextmanager
def undisturbed() -> Iterator[None]:
    """A block in which JAX does not say of the kernels that it compiles that it may drop their compiler one day.

    JAX 0.11 says so of each; once it has dropped it, `kernels` is None and the library's calls serve.
    """
    if not on_gpu():
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s).*Triton.*")
        yield


@cache
def kernels() -> Any:
    """The kernels, or None where this JAX has no means to compile them; read only where there is a GPU to run them."""
    try:
        return importlib.import_module("gnpolyak.base.kernels")
    except ImportError:
        return None


def gram(xp: Any, a: Array, b: Array) -> Array:
    """aᴴb for tall a and b."""
    # Of real arrays `conj` makes no copy, which the function of the same name would.
    return _gram(a, b) if _is_small(xp, a, b) else a.conj().swapaxes(-1, -2) @ b


def times(xp: Any, tall: Array, matrix: Array) -> Array:
    """The product of a tall factor and a small matrix."""
    return _times(tall, matrix) if _is_small(xp, tall, matrix) else tall @ matrix


def eigh(xp: Any, matrix: Array) -> tuple[Array, Array]:
    """The eigenvalues of a symmetric or Hermitian matrix, in no particular order, and its eigenvectors as columns."""
    if _is_small(xp, matrix) and not np.iscomplexobj(matrix):
        return _eigh(matrix)
    return namespace.eigh(xp, matrix)


def inverse(xp: Any, matrix: Array) -> Array:
    """The inverse of a positive definite matrix, NaN where it is none."""
    if xp is np:
        return factor_inverse(np, namespace.cholesky(np, matrix))
    return _inverse(matrix) if _is_small(xp, matrix) and not np.iscomplexobj(matrix) else _library_inverse(matrix)


def factor_inverse(xp: Any, factor: Array) -> Array:
    """(LLᴴ)⁻¹ of a lower triangular L with a positive diagonal."""
    if xp is jnp:
        return jax.scipy.linalg.cho_solve((factor, True), jnp.eye(len(factor), dtype=factor.dtype))
    half = _triangle_inverse(factor)
    return half.conj().T @ half


def _triangle_inverse(lower: Any) -> Any:
    """L⁻¹ on NumPy, whose own inverse does not know of triangles, from those of two blocks on the diagonal."""
    n = len(lower)
    if n <= _LARGEST_BLOCK:
        return np.linalg.inv(lower)
    k = n // 2
    first, last = _triangle_inverse(lower[:k, :k]), _triangle_inverse(lower[k:, k:])
    found = np.zeros_like(lower)
    found[:k, :k], found[k:, k:], found[k:, :k] = first, last, -(last @ lower[k:, :k]) @ first
    return found


def _is_small(xp: Any, *arrays: Array) -> bool:
    return xp is jnp and all(a.ndim == 2 and a.shape[1] <= LARGEST_RANK for a in arrays)


def _library_eigh(matrix: Array) -> tuple[Array, Array]:
    return namespace.eigh(jnp, matrix)


def _library_inverse(matrix: Array) -> Array:
    return factor_inverse(jnp, jnp.linalg.cholesky(matrix))


def _kernel_inverse(matrix: Array) -> Array:
    return kernels().inverse(matrix)


def _kernel_eigh(matrix: Array) -> tuple[Array, Array]:
    return kernels().eigh(matrix)


def _column_by_column(tall: Array, matrix: Array) -> Array:
    """The product as a sum over its few columns: XLA makes it part of what follows, where a reduction ends a kernel."""
    return reduce(operator.add, (tall[:, k, None] * matrix[k] for k in range(len(matrix))))


_gram = by_platform(
    lambda a, b: jnp.sum(jnp.conj(a)[:, :, None] * b[:, None, :], axis=0), lambda a, b: jnp.conj(a).T @ b
)
_times = by_platform(_column_by_column, lambda tall, matrix: tall @ matrix)
_inverse = by_platform(_kernel_inverse, _library_inverse)
_eigh = by_platform(_kernel_eigh, _library_eigh)
