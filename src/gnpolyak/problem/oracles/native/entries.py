"""The passes over the entries of a low-rank matrix, and their row in the table of kernels."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import numpy as np

from gnpolyak.base.namespace import Array
from gnpolyak.problem.maps import LowRank
from gnpolyak.problem.oracles.native import direct
from gnpolyak.problem.oracles.native.dispatch import dispatched, evaluated
from gnpolyak.problem.oracles.native.library import required, serving
from gnpolyak.problem.oracles.products import Products
from gnpolyak.problem.oracles.table import KERNELS, Kernel
from gnpolyak.problem.penalties import L1
from gnpolyak.problem.sensing import Entries

Pair = tuple[Array, Array]
_KINDS = {np.dtype(np.float64): "f64", np.dtype(np.float32): "f32"}


class EntriesL1(Kernel):
    """Passes over the entries, both adjoints in one, in C++ on a CPU; XLA wherever else the program is sent."""

    over_xp: ClassVar[bool] = True

    def serves(self, c: Any, sensing: Any, penalty: Any, x: Pair) -> bool:
        same = {np.dtype(each.dtype) for each in (*x, penalty.b)}
        known = len(same) == 1 and same <= set(_KINDS)
        served = direct.available() if c.xp is np else serving()[0] is not None
        return sensing.sweep is not None and penalty.rows is None and known and served

    def evaluate(self, c: Any, sensing: Any, penalty: Any, x: Pair) -> tuple[Array, Pair]:
        return direct.entries_l1(sensing.sweep, penalty.b, x) if c.xp is np else _evaluate(sensing, c, penalty, x)

    def measure(self, c: Any, sensing: Any, penalty: Any, x: Pair) -> tuple[Array, None]:
        if c.xp is np:
            return direct.entries_values(sensing.sweep, x, len(sensing.indices[0])), None
        return _values(sensing, c, x), None

    def linearised(self, c: Any, sensing: Any, penalty: Any, x: Pair, kept: Any = None) -> Products:
        def product(z: Pair | None, w: Array) -> Any:
            return direct.entries_product(sensing.sweep, x, z, w) if c.xp is np else _product(sensing, c, x, z, w)

        return Products.of_product(product, c.xp.zeros(len(sensing.indices[0]), x[0].dtype))


def _product_plain(sensing: Entries, c: LowRank, x: Pair, z: Pair | None, w: Array) -> tuple[Array | None, Pair]:
    products = Products.of(sensing.push(c, x), sensing.measure(c, x)[1])
    return (None, products.pull(w)) if z is None else products.product(z, w)


def _evaluate_native(sensing: Entries, c: LowRank, penalty: L1, x: Pair) -> tuple[Array, Pair]:
    u, v = _turned(sensing, x)
    value, gu, gv = _pass("l1", sensing, (u, v, penalty.b), ((), u.shape, v.shape))
    return value, _turned(sensing, (gu, gv))


def _values_native(sensing: Entries, c: LowRank, x: Pair) -> Array:
    values = _pass("values", sensing, _turned(sensing, x), (sensing.indices[0].shape,), adjoint=False)[0]
    # Of entries that do not count, nothing was written.
    return sensing.counted(values)


def _product_native(sensing: Entries, c: LowRank, x: Pair, z: Pair | None, w: Array) -> tuple[Array | None, Pair]:
    u, v = _turned(sensing, x)
    along = tuple(each[:, :0] for each in (u, v)) if z is None else _turned(sensing, z)
    shapes = ((0,) if z is None else w.shape, u.shape, v.shape)
    pushed, gu, gv = _pass("product", sensing, (u, v, *along, w), shapes, along=z is not None)
    return None if z is None else sensing.counted(pushed), _turned(sensing, (gu, gv))


def _turned(sensing: Any, pair: Pair) -> Pair:
    """The factor along the sorted axis first."""
    return (pair[1], pair[0]) if sensing.sweep.transposed else pair


def _pass(
    name: str,
    sensing: Any,
    operands: tuple[Array, ...],
    shapes: tuple[tuple[int, ...], ...],
    *,
    along: bool = False,
    adjoint: bool = True,
) -> list[Array]:
    (u, v), sweep = operands[:2], sensing.sweep
    kind = _KINDS[np.dtype(u.dtype)]
    sizes = (u.shape[0], v.shape[0], u.shape[1], sweep.bounds.shape[0] - 1)
    room = required().gnpolyak_entries_scratch(kind == "f64", *sizes, along, adjoint)
    results = [jax.ShapeDtypeStruct(shape, u.dtype) for shape in (*shapes, (room,))]
    call = jax.ffi.ffi_call(f"gnpolyak_entries_{name}_{kind}", results, vmap_method="sequential")
    return list(call(sweep.major, sweep.minor, sweep.order, sweep.bounds, *operands)[:-1])


_evaluate = dispatched(_evaluate_native, evaluated)
_values = dispatched(_values_native, lambda sensing, c, x: sensing.measure(c, x)[0])
_product = dispatched(_product_native, _product_plain)

KERNELS.register(LowRank, Entries, L1)(EntriesL1())
