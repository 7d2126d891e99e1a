"""One function of two ways to compute it, and the plain way to a value and its subgradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax import lax

from gnpolyak.base.small import on_gpu


def dispatched(
    native: Callable[..., Any], plain: Callable[..., Any], gpu: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """One function of several ways to compute it: in C++ on a CPU, by a kernel on a GPU, by XLA elsewhere."""

    @jax.custom_jvp
    def fused(*parts: Any) -> Any:
        # One trace serves every device: which branch is compiled is decided where the program is sent.
        cuda = {"cuda": gpu} if gpu is not None and on_gpu() else {}
        return lax.platform_dependent(*parts, cpu=native, default=plain, **cuda)

    @fused.defjvp
    def derivative(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        # The passes have no derivative of their own; who differentiates them gets XLA's.
        return jax.jvp(plain, primals, tangents)

    return fused


def evaluated(sensing: Any, c: Any, penalty: Any, x: Any) -> tuple[Any, Any]:
    """The value and a subgradient from the parts, one after the other."""
    z, pullback = sensing.measure(c, x)
    return penalty.value(z), pullback(penalty.subgradient(z))
