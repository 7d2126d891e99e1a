"""The fused oracle of centred power measurements under the L1 penalty."""

from __future__ import annotations

from typing import Any

import jax
from jax import Array, lax

from gnpolyak.problem.maps import SymmetricCP
from gnpolyak.problem.oracles import native
from gnpolyak.problem.oracles.table import KERNELS, Kernel
from gnpolyak.problem.penalties import L1
from gnpolyak.problem.sensing import PowerSensing


class PowerL1(Kernel):
    """One pass over the rows p and q in C++ on a CPU; XLA wherever else the program is sent."""

    def serves(self, c: Any, sensing: Any, penalty: Any, x: Array) -> bool:
        return sensing.q is not None and native.supports(sensing.p, sensing.q, x, penalty.b)

    def evaluate(self, c: Any, sensing: Any, penalty: Any, x: Array) -> tuple[Array, Array]:
        return _fused(sensing, c, penalty, x)


def _plain(sensing: PowerSensing, c: SymmetricCP, penalty: L1, x: Array) -> tuple[Array, Array]:
    z, pullback = sensing.measure(c, x)
    return penalty.value(z), pullback(penalty.subgradient(z))


@jax.custom_jvp
def _fused(sensing: PowerSensing, c: SymmetricCP, penalty: L1, x: Array) -> tuple[Array, Array]:
    assert sensing.q is not None
    q = sensing.q
    # One trace serves every device: which branch is compiled is decided where the program is sent.
    return lax.platform_dependent(
        cpu=lambda: native.power_l1(sensing.p, q, penalty.b, x, c.n),
        default=lambda: _plain(sensing, c, penalty, x),
    )


@_fused.defjvp
def _fused_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    # The kernel has no derivative of its own; who differentiates the oracle gets XLA's.
    return jax.jvp(_plain, primals, tangents)


KERNELS.register(SymmetricCP, PowerSensing, L1)(PowerL1())
