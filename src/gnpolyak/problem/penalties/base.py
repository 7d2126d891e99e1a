"""What a penalty must do."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, ClassVar

import jax
import numpy as np

from gnpolyak.base import trees
from gnpolyak.base.arrays import as_real_array, is_traced, on_device, placed
from gnpolyak.base.errors import InputError
from gnpolyak.base.namespace import Array, Portable
from gnpolyak.problem.capabilities import RESIDUALS, Part


class Rows(Portable):
    """The measurements that count, each times its weight: a linear map of flat measurements, and its adjoint.

    Those of weight zero are left out rather than multiplied by it: a datum that is to be ignored has no say in a median
    either.
    """

    over_xp: ClassVar[bool] = True
    weights: Array
    """One for each measurement, flat."""
    kept: Array | None
    """Where they are positive; None where all are."""

    @classmethod
    def of(cls, weights: Any, shape: tuple[int, ...]) -> Rows:
        """Those of non-negative weights, one for each datum."""
        checked = _weights(weights, shape)
        if is_traced(checked):
            return cls(checked.ravel(), None)
        each = np.ravel(checked)
        kept = np.flatnonzero(each)
        flat = checked if checked.ndim == 1 else placed(each)
        return cls(flat, on_device(kept, np.int32) if len(kept) < len(each) else None)

    def __call__(self, z: Array) -> Array:
        return self.counted * z if self.kept is None else self.counted * z[self.kept]

    @property
    def counted(self) -> Array:
        """The weights of the measurements that count."""
        return self.weights if self.kept is None else self.weights[self.kept]

    def adjoint(self, v: Array) -> Array:
        """The numbers v, each times its weight and at the place of its measurement."""
        return self.weights * v if self.kept is None else self._in_place(self.counted * v)

    def unweighted(self, v: Array) -> Array:
        """The numbers v, each divided by its weight and at the place of its measurement."""
        if self.kept is None:
            return v / self.xp.where(self.weights > 0, self.weights, 1.0)
        return self._in_place(v / self.counted)

    def _in_place(self, v: Array) -> Array:
        """The numbers v at the places of the measurements that count, and zeros at the others."""
        zeros: Any = self.xp.zeros(self.weights.shape, v.dtype)
        if self.xp is not np:
            return zeros.at[self.kept].set(v)
        zeros[self.kept] = v
        return zeros


def _weights(given: Any, shape: tuple[int, ...]) -> Array:
    weights = as_real_array(given, "weights")
    if weights.shape != shape or not (is_traced(weights) or bool(np.all(np.asarray(weights) >= 0))):
        raise InputError(
            given=f"weights of shape {weights.shape} for data of shape {shape}"
            if weights.shape != shape
            else f"weights of which the smallest is {float(np.min(np.asarray(weights)))}",
            needed="a number of at least 0 for each datum",
            missing="as many of them" if weights.shape != shape else "a sign that a convex penalty can have",
            advice="pass weights like b, larger for data that are trusted more, and 0 for those to be ignored",
        )
    if not (is_traced(weights) or bool(np.any(np.asarray(weights) > 0))):
        raise InputError(
            given="weights that are all zero",
            needed="a positive weight for at least one datum",
            missing="data that count",
            advice="pass weights above 0 for the data to be fitted",
        )
    return weights


class Penalty(Part):
    """A Lipschitz function h of a measurement vector z."""

    @property
    def convex(self) -> bool:
        """Whether h is convex, and its subgradients hold everywhere."""
        return True

    @property
    def takes_complex(self) -> bool:
        """Whether z may be complex."""
        return False

    @abc.abstractmethod
    def value(self, z: Array) -> Array:
        """h(z)."""

    @abc.abstractmethod
    def subgradient(self, z: Array) -> Array:
        """One element of ∂h(z), of the shape of z."""

    def written(self, name: str) -> tuple[Callable[..., Any], int]:
        """The function behind the value or the subgradient, and how many arguments it is called with."""
        return getattr(self, name), 1

    @property
    def infimum(self) -> float | None:
        """A number h never falls below, or None when none is known."""
        return None

    @property
    def size(self) -> int | None:
        """How many measurements it compares with data; None for a penalty that takes any number of them."""
        return None

    def reading(self, z: Array) -> Array:
        """What of the measurements is compared with the data: z itself, unless a smooth function of it."""
        return z

    def read(self, z: Array) -> tuple[Array, Callable[[Array], Array], Callable[[Array], Array]]:
        """The reading at z, its derivative dz ↦ D(dz) and the adjoint v ↦ Dᵀv; by autodiff unless it is written."""
        if type(self).reading is Penalty.reading:
            return z, _unchanged, _unchanged
        read, slope = jax.linearize(self.reading, z)
        return read, slope, trees.adjoint(lambda v: jax.linear_transpose(slope, z)(v)[0])

    def residuals(self, z: Array) -> Array:
        """b − reading(z), for a penalty that is the sum of the sizes of its entries; with `rows`, those of it."""
        raise self.lacking(RESIDUALS)

    @property
    def rows(self) -> Rows | None:
        """What of the measurements the residuals are made of; None for all of them, as they are."""
        return None

    @property
    def tilt(self) -> Array | None:
        """The t of a penalty Σ |rᵢ| + t·rᵢ of its residuals, which offers `TILT` in place of `RESIDUALS`; or None."""
        return None

    def scale(self) -> Array | float:
        """The size of the numbers whose differences make up h: rounding in h is eps times this."""
        return 0.0

    def block(self, start: int, stop: int, size: int | None = None) -> Penalty:
        """What of a sum over measurements is that over start:stop, along their first axis.

        Up to `size` they are followed by data of zero, which measurements of zero fit.
        """
        raise InputError(
            given=f"{self.label}, to be cut by measurements",
            needed="a sum over measurements, one term for each",
            missing=f"terms that {self.label} could be cut between",
            advice="use L1(b), or solve it as a whole",
        )

    def check(self, z_shape: tuple[int, ...]) -> None:
        """Raise InputError when measurements of this shape do not fit."""


def _unchanged(v: Array) -> Array:
    return v
