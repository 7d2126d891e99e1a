"""The fused passes of bilinear measurements, as JAX functions and as a row of the table of kernels."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base.namespace import Array
from gnpolyak.problem.maps import LowRank
from gnpolyak.problem.oracles.native import direct
from gnpolyak.problem.oracles.native.calls import KERNEL_KINDS
from gnpolyak.problem.oracles.native.dispatch import dispatched, evaluated
from gnpolyak.problem.oracles.native.library import required, serving
from gnpolyak.problem.oracles.products import Products
from gnpolyak.problem.oracles.table import KERNELS, Kernel
from gnpolyak.problem.penalties import L1
from gnpolyak.problem.sensing import BilinearSensing

Pair = tuple[Array, Array]


def bilinear_l1(p: Array, q: Array, b: Array, x: Pair) -> tuple[Array, Pair]:
    """f = Σᵢ |Σⱼ (pᵢᵀuⱼ)(qᵢᵀvⱼ) − bᵢ| and one of its subgradients, in one pass over the rows.

    Parameters
    ----------
    p, q : Array
        Rows of shapes (m, d₁) and (m, d₂).
    b : Array
        Data of shape (m,).
    x : pair of Array
        The factors, of shapes (d₁, r) and (d₂, r).

    Returns
    -------
    value : Array
        f, a scalar.
    subgradient : pair of Array
        Like x, for the element sign(·) of ∂|·| with sign(0) = 0.
    """
    value, gu, gv = _pass("l1", p, q, (b, *x), ((), x[0].shape, x[1].shape))
    return value, (gu, gv)


def bilinear_forms(p: Array, q: Array, x: Pair) -> tuple[Array, Array]:
    """Σⱼ (pᵢᵀuⱼ)(qᵢᵀvⱼ) for each row i, and the slopes (2, m, r): qᵢᵀvⱼ, then pᵢᵀuⱼ."""
    m, r = p.shape[0], x[0].shape[1]
    values, slopes = _pass("forms", p, q, x, ((m,), (2, m, r)))
    return values, slopes


def bilinear_product(p: Array, q: Array, slopes: Array, z: Pair | None, w: Array) -> tuple[Array | None, Pair]:
    """AJz and (AJ)ᵀ(w ⊙ AJz) in one pass, or (AJ)ᵀw without z, from the slopes of `bilinear_forms`."""
    m, r = p.shape[0], slopes.shape[2]
    sides = [(rows.shape[1], r) for rows in (p, q)]
    along = z if z is not None else tuple(jnp.zeros((d, 0), w.dtype) for d, _ in sides)
    pushed, zu, zv = _pass("product", p, q, (slopes, *along, w), ((0 if z is None else m,), *sides))
    return None if z is None else pushed, (zu, zv)


def _pass(
    name: str, p: Array, q: Array, operands: tuple[Array, ...], shapes: tuple[tuple[int, ...], ...]
) -> tuple[Array, ...]:
    dtype = operands[-1].dtype
    kind = KERNEL_KINDS[np.dtype(p.dtype), np.dtype(dtype)]
    sizes = (*p.shape, q.shape[1], shapes[-1][-1])
    # The room for partial sums is a result rather than an allocation, so that XLA reuses it from one step to the next.
    room = required().gnpolyak_bilinear_scratch(kind.encode(), *sizes, name != "forms")
    results = [jax.ShapeDtypeStruct(shape, dtype) for shape in (*shapes, (room,))]
    call = jax.ffi.ffi_call(f"gnpolyak_bilinear_{name}_{kind}", results, vmap_method="sequential")
    return tuple(call(p, q, *operands)[:-1])


class BilinearL1(Kernel):
    """Passes over the rows p and q in C++ on a CPU; XLA wherever else the program is sent."""

    over_xp: ClassVar[bool] = True

    def serves(self, c: Any, sensing: Any, penalty: Any, x: Pair) -> bool:
        served = direct.available() if c.xp is np else serving()[0] is not None
        numbers = {np.dtype(each.dtype) for each in (*x, penalty.b)}
        rows = {np.dtype(each.dtype) for each in (sensing.p, sensing.q)}
        known = len(numbers) == len(rows) == 1 and (*rows, *numbers) in KERNEL_KINDS
        filled = 0 not in (*sensing.p.shape[1:], *sensing.q.shape[1:], x[0].shape[1])
        return served and penalty.rows is None and known and filled

    def evaluate(self, c: Any, sensing: Any, penalty: Any, x: Pair) -> tuple[Array, Pair]:
        if c.xp is np:
            return direct.bilinear_l1(sensing.p, sensing.q, penalty.b, x)
        return _evaluate(sensing, c, penalty, x)

    def measure(self, c: Any, sensing: Any, penalty: Any, x: Pair) -> tuple[Array, Array]:
        return direct.bilinear_forms(sensing.p, sensing.q, x) if c.xp is np else _forms(sensing, c, x)

    def linearised(self, c: Any, sensing: Any, penalty: Any, x: Pair, kept: Array | None = None) -> Products:
        slopes = self.measure(c, sensing, penalty, x)[1] if kept is None else kept

        def product(z: Pair | None, w: Array) -> Any:
            if c.xp is np:
                return direct.bilinear_product(sensing.p, sensing.q, slopes, z, w)
            return _product(sensing, slopes, z, w)

        return Products.of_product(product, c.xp.zeros(slopes.shape[1], slopes.dtype))


def _forms_plain(sensing: BilinearSensing, c: LowRank, x: Pair) -> tuple[Array, Array]:
    y, t = (rows @ factor for rows, factor in zip(_rows(sensing, x[0]), x, strict=True))
    return jnp.sum(y * t, axis=1), jnp.stack([t, y])


def _product_plain(sensing: BilinearSensing, slopes: Array, z: Pair | None, w: Array) -> tuple[Array | None, Pair]:
    p, q = _rows(sensing, w)
    pushed = None
    if z is not None:
        pushed = jnp.sum(slopes[0] * (p @ z[0]) + slopes[1] * (q @ z[1]), axis=1)
        w = w * pushed
    return pushed, (p.T @ (w[:, None] * slopes[0]), q.T @ (w[:, None] * slopes[1]))


def _rows(sensing: BilinearSensing, like: Array) -> Pair:
    return sensing.p.astype(like.dtype), sensing.q.astype(like.dtype)


_evaluate = dispatched(lambda a, c, h, x: bilinear_l1(a.p, a.q, h.b, x), evaluated)
_forms = dispatched(lambda a, c, x: bilinear_forms(a.p, a.q, x), _forms_plain)
_product = dispatched(lambda a, slopes, z, w: bilinear_product(a.p, a.q, slopes, z, w), _product_plain)

KERNELS.register(LowRank, BilinearSensing, L1)(BilinearL1())
