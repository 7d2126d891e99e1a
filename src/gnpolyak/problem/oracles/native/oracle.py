"""The fused oracle as a JAX function."""

from __future__ import annotations

import ctypes

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from gnpolyak.base.errors import InputError
from gnpolyak.problem.oracles.native.library import load

# Stored and computed dtypes → the kernel that serves them.
_KINDS = {
    (np.dtype(np.float64), np.dtype(np.float64)): "f64",
    (np.dtype(np.float32), np.dtype(np.float32)): "f32",
    (np.dtype(np.float32), np.dtype(np.float64)): "mixed",
}


def supports(rows: Array, others: Array, x: Array, b: Array) -> bool:
    """Tell whether the fused oracle can serve rows and arithmetic of these dtypes on a CPU of this process."""
    known = (np.dtype(rows.dtype), np.dtype(x.dtype)) in _KINDS and b.dtype == x.dtype and others.dtype == rows.dtype
    library, _ = load()
    return known and library is not None and rows.shape[1] > 0 and x.shape[1] > 0


def power_l1(p: Array, q: Array, b: Array, x: Array, n: int) -> tuple[Array, Array]:
    """f = Σᵢ |Σⱼ (pᵢᵀxⱼ)ⁿ − (qᵢᵀxⱼ)ⁿ − bᵢ| and one of its subgradients, in one pass over the rows.

    Parameters
    ----------
    p, q : Array
        Rows of shape (m, d).
    b : Array
        Data of shape (m,).
    x : Array
        The factors, of shape (d, r).
    n : int
        The order, at least 2.

    Returns
    -------
    value : Array
        f, a scalar.
    subgradient : Array
        Of the shape of x, for the element sign(·) of ∂|·| with sign(0) = 0.
    """
    kind = _KINDS[np.dtype(p.dtype), np.dtype(x.dtype)]
    library = _required()
    # The room for partial sums is a result rather than an allocation, so that XLA reuses it from one step to the next.
    room = library.gnpolyak_scratch(kind.encode(), *p.shape, x.shape[1])
    shapes = [jax.ShapeDtypeStruct(shape, x.dtype) for shape in ((), x.shape, (room,))]
    call = jax.ffi.ffi_call(f"gnpolyak_power_l1_{kind}", shapes, vmap_method="sequential")
    value, subgradient, _ = call(p, q, b, x, n=np.int64(n))
    return value, subgradient


def read_once(p: Array, q: Array) -> Array:
    """A number that depends on every byte of p and q, as fast as memory delivers them: the floor of any oracle."""
    _required()
    call = jax.ffi.ffi_call("gnpolyak_read_once", jax.ShapeDtypeStruct((), jnp.float64))
    return call(p, q)


def _required() -> ctypes.CDLL:
    library, reason = load()
    if library is None:
        raise InputError(
            given="a call of the fused oracle",
            needed="the compiled library",
            missing=reason,
            advice="ask gnpolyak.native.status() first, and use XLA where it says no",
        )
    return library
