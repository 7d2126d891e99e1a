"""Penalties h: a value and one explicitly chosen subgradient, written out rather than differentiated.

Autodiff through |·| and ‖·‖ gives 1 or NaN at a kink, and a sharp problem's solution is a kink. So each
penalty states which element of ∂h it returns.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from gnpolyak.base.arrays import as_data, as_real_array
from gnpolyak.base.errors import InputError


class Penalty(eqx.Module):
    """A Lipschitz function h of a measurement vector z."""

    @abc.abstractmethod
    def value(self, z: Array) -> Array:
        """h(z)."""

    @abc.abstractmethod
    def subgradient(self, z: Array) -> Array:
        """One element of ∂h(z), of the shape of z."""

    @property
    def infimum(self) -> float | None:
        """A number h never falls below, or None when none is known."""
        return None

    def scale(self) -> Array | float:
        """The size of the numbers whose differences make up h: rounding in h is eps times this."""
        return 0.0

    def check(self, z_shape: tuple[int, ...]) -> None:
        """Raise InputError when measurements of this shape do not fit."""


class _Norm(Penalty):
    """h(z) = ‖z − b‖ for some norm."""

    b: Array

    def __init__(self, b: Any) -> None:
        self.b = as_real_array(b, "b")

    @property
    def infimum(self) -> float | None:
        return 0.0

    def scale(self) -> Array:
        # ‖0 − b‖: differences of numbers of size b carry rounding errors of size eps·‖b‖.
        return self.value(jnp.zeros_like(self.b))

    def check(self, z_shape: tuple[int, ...]) -> None:
        if z_shape != self.b.shape:
            raise InputError(
                given=f"{type(self).__name__}(b) with b of shape {self.b.shape} and a model of shape {z_shape}",
                needed="one datum in b for each number the model returns",
                missing="equal shapes",
                advice="reshape b or the model's output; nothing is broadcast",
            )


class L1(_Norm):
    """Least absolute deviations, h(z) = ‖z − b‖₁: exact in the face of gross outliers in b.

    The subgradient is sign(z − b), with 0 at a residual that is exactly zero.

    Parameters
    ----------
    b : array_like
        The data.
    """

    def value(self, z: Array) -> Array:
        return jnp.sum(jnp.abs(z - self.b))

    def subgradient(self, z: Array) -> Array:
        return jnp.sign(z - self.b)


class L2(_Norm):
    """The unsquared Euclidean norm, h(z) = ‖z − b‖₂: sharp where the squared norm is flat.

    The subgradient is (z − b)/‖z − b‖₂, and 0 where z = b.

    Parameters
    ----------
    b : array_like
        The data.
    """

    def value(self, z: Array) -> Array:
        residual = z - self.b
        largest = jnp.max(jnp.abs(residual), initial=0.0)
        safe = jnp.where(largest == 0, 1.0, largest)
        # Scaled by the largest entry, so that tiny residuals do not underflow when squared.
        return largest * jnp.sqrt(jnp.sum((residual / safe) ** 2))

    def subgradient(self, z: Array) -> Array:
        norm = self.value(z)
        return (z - self.b) / jnp.where(norm == 0, 1.0, norm)


class CustomPenalty(Penalty):
    """Your own h from two functions.

    Parameters
    ----------
    value : callable
        ``value(z, *args)``, h(z) as a scalar.
    subgradient : callable
        ``subgradient(z, *args)``, one element of ∂h(z), of the shape of z. It is used as it stands:
        write down the element you want at a kink.
    args : tuple of array_like
        Data of the two functions. Arrays passed here are arguments of the compiled loop; arrays the
        functions capture become constants of it and are compiled anew with every new function.
    infimum : float, optional
        A number h never falls below. Without it `minimize` needs ``target`` or ``lower_bound``.
    """

    value_function: Callable[..., Array] = eqx.field(static=True)
    subgradient_function: Callable[..., Array] = eqx.field(static=True)
    args: tuple[Array, ...]
    known_infimum: float | None = eqx.field(static=True)

    def __init__(
        self,
        value: Callable[..., Array],
        subgradient: Callable[..., Array],
        args: tuple[Any, ...] = (),
        infimum: float | None = None,
    ) -> None:
        self.value_function = value
        self.subgradient_function = subgradient
        self.args = tuple(as_data(arg, f"args[{i}]") for i, arg in enumerate(args))
        self.known_infimum = infimum

    @property
    def infimum(self) -> float | None:
        return self.known_infimum

    def value(self, z: Array) -> Array:
        return self.value_function(z, *self.args)

    def subgradient(self, z: Array) -> Array:
        return self.subgradient_function(z, *self.args)
