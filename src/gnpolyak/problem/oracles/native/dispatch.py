"""One function of two ways to compute it, and the plain way to a value and its subgradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax import lax


def dispatched(native: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """One function of two ways to compute it, in C++ on a CPU and by XLA elsewhere."""

    @jax.custom_jvp
    def fused(*parts: Any) -> Any:
        # One trace serves every device: which branch is compiled is decided where the program is sent.
        return lax.platform_dependent(*parts, cpu=native, default=plain)

    @fused.defjvp
    def derivative(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        # The passes have no derivative of their own; who differentiates them gets XLA's.
        return jax.jvp(plain, primals, tangents)

    return fused


def evaluated(sensing: Any, c: Any, penalty: Any, x: Any) -> tuple[Any, Any]:
    """The value and a subgradient from the parts, one after the other."""
    z, pullback = sensing.measure(c, x)
    return penalty.value(z), pullback(penalty.subgradient(z))
