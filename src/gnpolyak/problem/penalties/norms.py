"""Norms of the residual z − b."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from gnpolyak.base.arrays import as_real_array
from gnpolyak.base.errors import InputError
from gnpolyak.problem.capabilities import RESIDUALS, Capability
from gnpolyak.problem.penalties.base import Penalty


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

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Penalty, tuple[int, ...]]]:
        for shape in ((7,), (3, 4)):
            yield cls(rng.standard_normal(shape)), shape

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

    @property
    def offers(self) -> frozenset[Capability]:
        return frozenset({RESIDUALS})

    def residuals(self, z: Array) -> Array:
        return self.b - z

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
