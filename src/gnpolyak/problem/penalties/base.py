"""What a penalty must do."""

from __future__ import annotations

import abc

from jax import Array

from gnpolyak.problem.capabilities import RESIDUALS, Part


class Penalty(Part):
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

    def residuals(self, z: Array) -> Array:
        """b − z, for a penalty that is the sum of the sizes of its entries."""
        raise self.lacking(RESIDUALS)

    def scale(self) -> Array | float:
        """The size of the numbers whose differences make up h: rounding in h is eps times this."""
        return 0.0

    def check(self, z_shape: tuple[int, ...]) -> None:
        """Raise InputError when measurements of this shape do not fit."""
