"""The fused passes as a row of the table of kernels."""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any

import jax.numpy as jnp
from jax import Array

from gnpolyak.problem.maps import SymmetricCP
from gnpolyak.problem.oracles.native.calls import power_forms, power_l1, power_product, supports
from gnpolyak.problem.oracles.native.dispatch import dispatched, evaluated
from gnpolyak.problem.oracles.products import Products
from gnpolyak.problem.oracles.table import KERNELS, Kernel
from gnpolyak.problem.penalties import L1
from gnpolyak.problem.sensing import PowerSensing


class PowerL1(Kernel):
    """Passes over the rows p, and q where there is one, in C++ on a CPU; XLA wherever else the program is sent."""

    def serves(self, c: Any, sensing: Any, penalty: Any, x: Array) -> bool:
        return penalty.rows is None and supports(sensing.p, sensing.q, x, penalty.b)

    def evaluate(self, c: Any, sensing: Any, penalty: Any, x: Array) -> tuple[Array, Array]:
        return _evaluate(sensing, c, penalty, x)

    def measure(self, c: Any, sensing: Any, penalty: Any, x: Array) -> tuple[Array, Array]:
        return _forms(sensing, c, x)

    def linearised(self, c: Any, sensing: Any, penalty: Any, x: Array, kept: Array | None = None) -> Products:
        slopes = _forms(sensing, c, x)[1] if kept is None else kept
        return Products(
            push=lambda z: _product(sensing, slopes, z, jnp.zeros(slopes.shape[1], slopes.dtype))[0],
            pull=lambda v: _product(sensing, slopes, None, v)[1],
            product=lambda z, w: _product(sensing, slopes, z, w),
        )


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


_evaluate = dispatched(lambda a, c, h, x: power_l1(a.p, a.q, h.b, x, c.n), evaluated)
_forms = dispatched(lambda a, c, x: power_forms(a.p, a.q, x, c.n), _forms_plain)
_product = dispatched(lambda a, slopes, z, w: power_product(a.p, a.q, slopes, z, w), _product_plain)

KERNELS.register(SymmetricCP, PowerSensing, L1)(PowerL1())
