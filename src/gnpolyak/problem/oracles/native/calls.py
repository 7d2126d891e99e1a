"""The passes over the rows as JAX functions.

Each takes rows q or None; without q the measurements are those of p alone.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base.namespace import Array
from gnpolyak.problem.oracles.native.library import required, serving

# Stored and computed dtypes → the kernel that serves them.
KERNEL_KINDS = {
    (np.dtype(np.float64), np.dtype(np.float64)): "f64",
    (np.dtype(np.float32), np.dtype(np.float32)): "f32",
    (np.dtype(np.float32), np.dtype(np.float64)): "mixed",
}


def supports(p: Array, q: Array | None, x: Array, b: Array) -> bool:
    """Tell whether the passes can serve rows and arithmetic of these dtypes on a CPU of this process."""
    library, _ = serving()
    return library is not None and takes(p, q, x, b)


def takes(p: Array, q: Array | None, x: Array, b: Array) -> bool:
    """Tell whether there is a pass for rows and arithmetic of these dtypes."""
    known = (np.dtype(p.dtype), np.dtype(x.dtype)) in KERNEL_KINDS and b.dtype == x.dtype
    return known and (q is None or q.dtype == p.dtype) and p.shape[1] > 0 and x.shape[1] > 0


def power_l1(p: Array, q: Array | None, b: Array, x: Array, n: int) -> tuple[Array, Array]:
    """f = Σᵢ |Σⱼ (pᵢᵀxⱼ)ⁿ − (qᵢᵀxⱼ)ⁿ − bᵢ| and one of its subgradients, in one pass over the rows.

    Parameters
    ----------
    p, q : Array
        Rows of shape (m, d); q may be None.
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
    return _pass("l1", p, q, (b, x), ((), x.shape), n=np.int64(n))


def power_forms(p: Array, q: Array | None, x: Array, n: int) -> tuple[Array, Array]:
    """Σⱼ (pᵢᵀxⱼ)ⁿ − (qᵢᵀxⱼ)ⁿ for each row i, in one pass, and the slopes that `power_product` takes.

    Returns
    -------
    values : Array
        Of shape (m,).
    slopes : Array
        The derivatives n (pᵢᵀxⱼ)ⁿ⁻¹ and −n (qᵢᵀxⱼ)ⁿ⁻¹ by the products with x, (2, m, r) or, without q, (1, m, r).
    """
    m, r = p.shape[0], x.shape[1]
    return _pass("forms", p, q, (x,), ((m,), (1 if q is None else 2, m, r)), n=np.int64(n))


def power_product(p: Array, q: Array | None, slopes: Array, z: Array | None, w: Array) -> tuple[Array | None, Array]:
    """The derivative AJ of `power_forms`, and its adjoint, in one pass: AJz and (AJ)ᵀ(w ⊙ AJz), or (AJ)ᵀw without z.

    Kept slopes spare each product the forward products with x, a third of its arithmetic.

    Parameters
    ----------
    p, q : Array
        Rows of shape (m, d); q may be None.
    slopes : Array
        Those of `power_forms` at x.
    z : Array, optional
        A direction of the shape of x.
    w : Array
        Weights of shape (m,).

    Returns
    -------
    pushed : Array
        AJz, of shape (m,); None without z.
    pulled : Array
        Of the shape of x.
    """
    m, d = p.shape
    along = jnp.zeros((d, 0), w.dtype) if z is None else z
    shapes = ((0 if z is None else m,), (d, slopes.shape[2]))
    pushed, pulled = _pass("product", p, q, (slopes, along, w), shapes)
    return None if z is None else pushed, pulled


def _pass(
    name: str, p: Array, q: Array | None, operands: tuple[Array, ...], shapes: tuple[tuple[int, ...], ...], **order: Any
) -> tuple[Array, Array]:
    dtype = operands[-1].dtype
    kind = KERNEL_KINDS[np.dtype(p.dtype), np.dtype(dtype)]
    # The room for partial sums is a result rather than an allocation, so that XLA reuses it from one step to the next.
    room = required().gnpolyak_scratch(kind.encode(), *p.shape, shapes[-1][-1], name != "forms")
    results = [jax.ShapeDtypeStruct(shape, dtype) for shape in (*shapes, (room,))]
    call = jax.ffi.ffi_call(f"gnpolyak_power_{name}_{kind}", results, vmap_method=_batching())
    others = jnp.zeros((0, p.shape[1]), p.dtype) if q is None else q
    first, second, _ = call(p, others, *operands, **order)
    return first, second


def _batching() -> str:
    """How a pass serves a batch: all of it in one call, unless the library was compiled before it could."""
    return "expand_dims" if hasattr(required(), "gnpolyak_takes_batches") else "sequential"


def read_once(p: Array, q: Array) -> Array:
    """A number that depends on every byte of p and q, as fast as memory delivers them: the floor of any oracle."""
    required()
    call = jax.ffi.ffi_call("gnpolyak_read_once", jax.ShapeDtypeStruct((), jnp.float64))
    return call(p, q)
