"""The fused passes as a row of the table of kernels."""

from __future__ import annotations

import importlib
import operator
from functools import reduce
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from gnpolyak.base.namespace import Array
from gnpolyak.base.small import kernels, on_gpu
from gnpolyak.problem.maps import SymmetricCP
from gnpolyak.problem.oracles.native import direct
from gnpolyak.problem.oracles.native.calls import power_forms, power_l1, power_product, supports, takes
from gnpolyak.problem.oracles.native.dispatch import dispatched, evaluated
from gnpolyak.problem.oracles.products import Products
from gnpolyak.problem.oracles.table import KERNELS, Kernel
from gnpolyak.problem.penalties import L1
from gnpolyak.problem.sensing import PowerSensing


class PowerL1(Kernel):
    """Passes over the rows p, and q where there is one, in C++ on a CPU, by a kernel on a GPU where that is faster."""

    over_xp: ClassVar[bool] = True

    def serves(self, c: Any, sensing: Any, penalty: Any, x: Array) -> bool:
        if c.xp is np:
            return penalty.rows is None and direct.available() and takes(sensing.p, sensing.q, x, penalty.b)
        natively = supports(sensing.p, sensing.q, x, penalty.b)
        by_gpu = on_gpu() and any(_shape(sensing, x, name) is not None for name in ("evaluations", "products"))
        return penalty.rows is None and (natively or by_gpu)

    def evaluate(self, c: Any, sensing: Any, penalty: Any, x: Array) -> tuple[Array, Array]:
        if c.xp is np:
            return direct.power_l1(sensing.p, sensing.q, penalty.b, x, c.n)
        return _evaluate(sensing, c, penalty, x)

    def measure(self, c: Any, sensing: Any, penalty: Any, x: Array) -> tuple[Array, Array]:
        return direct.power_forms(sensing.p, sensing.q, x, c.n) if c.xp is np else _forms(sensing, c, x)

    def linearised(self, c: Any, sensing: Any, penalty: Any, x: Array, kept: Array | None = None) -> Products:
        slopes = self.measure(c, sensing, penalty, x)[1] if kept is None else kept

        def product(z: Array | None, w: Array) -> Any:
            if c.xp is np:
                return direct.power_product(sensing.p, sensing.q, slopes, z, w)
            return _product(sensing, slopes, z, w)

        return Products.of_product(product, c.xp.zeros(slopes.shape[1], slopes.dtype))


def _forms_plain(sensing: PowerSensing, c: SymmetricCP, x: Array) -> tuple[Array, Array]:
    signed = zip((c.n, -c.n), _rows(sensing, x), strict=False)
    slopes = [factor * (rows @ x) ** (c.n - 1) for factor, rows in signed]
    return sensing.measure(c, x)[0], jnp.stack(slopes)


def _product_plain(sensing: PowerSensing, slopes: Array, z: Array | None, w: Array) -> tuple[Array | None, Array]:
    sides = list(zip(slopes, _rows(sensing, w), strict=True))
    pushed = None
    if z is not None:
        pushed = reduce(operator.add, (jnp.sum(slope * (rows @ z), axis=1) for slope, rows in sides))
        w = w * pushed
    return pushed, reduce(operator.add, (rows.T @ (w[:, None] * slope) for slope, rows in sides))


def _rows(sensing: PowerSensing, like: Array) -> list[Array]:
    return [rows.astype(like.dtype) for rows in (sensing.p, sensing.q) if rows is not None]


def _kernels() -> Any:
    """The kernels for a GPU, read only where there is one; None where they cannot be compiled."""
    return None if kernels() is None else importlib.import_module("gnpolyak.problem.oracles.gpu")


def _shape(sensing: PowerSensing, x: Array, what: str) -> Any:
    """How a kernel divides the work on these rows; None where XLA serves."""
    return None if _kernels() is None else _kernels().chosen(what, sensing.p, x)


def _native_evaluate(a: PowerSensing, c: SymmetricCP, h: L1, x: Array) -> tuple[Array, Array]:
    return power_l1(a.p, a.q, h.b, x, c.n) if supports(a.p, a.q, x, h.b) else evaluated(a, c, h, x)


def _gpu_evaluate(a: PowerSensing, c: SymmetricCP, h: L1, x: Array) -> tuple[Array, Array]:
    shape = _shape(a, x, "evaluations")
    return evaluated(a, c, h, x) if shape is None else _kernels().power_l1(a.p, a.q, h.b, x, c.n, shape)


def _native_forms(a: PowerSensing, c: SymmetricCP, x: Array) -> tuple[Array, Array]:
    return power_forms(a.p, a.q, x, c.n) if supports(a.p, a.q, x, x) else _forms_plain(a, c, x)


def _native_product(a: PowerSensing, slopes: Array, z: Array | None, w: Array) -> tuple[Array | None, Array]:
    served = supports(a.p, a.q, slopes[0], w)
    return power_product(a.p, a.q, slopes, z, w) if served else _product_plain(a, slopes, z, w)


def _gpu_product(a: PowerSensing, slopes: Array, z: Array | None, w: Array) -> tuple[Array | None, Array]:
    shape = None if z is None else _shape(a, z, "products")
    if shape is None:
        return _product_plain(a, slopes, z, w)
    return _kernels().power_product(a.p, a.q, slopes, z, w, shape)


_evaluate = dispatched(_native_evaluate, evaluated, _gpu_evaluate)
_forms = dispatched(_native_forms, _forms_plain)
_product = dispatched(_native_product, _product_plain, _gpu_product)

KERNELS.register(SymmetricCP, PowerSensing, L1)(PowerL1())
