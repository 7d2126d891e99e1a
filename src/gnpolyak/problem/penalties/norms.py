"""Norms of the residual z − b, and what all penalties with data have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from gnpolyak.base.arrays import as_real_array, is_traced, on_device, part
from gnpolyak.base.errors import InputError
from gnpolyak.base.namespace import Array
from gnpolyak.problem.capabilities import RESIDUALS, Capability
from gnpolyak.problem.penalties.base import Penalty, Rows


class Norm(Penalty):
    """h(z) = ‖z − b‖ for some norm, or what is a norm but for symmetry."""

    b: Array

    def __init__(self, b: Any) -> None:
        self.b = as_real_array(b, "b")
        if not self.b.size:
            raise InputError(
                given=f"empty data b of shape {self.b.shape}",
                needed="at least one datum",
                missing="data to fit",
                advice="check where the data were lost: a mask or a filter may have left none",
            )

    @property
    def infimum(self) -> float | None:
        return 0.0

    @property
    def size(self) -> int | None:
        return int(self.b.size)

    def scale(self) -> Array:
        # h(0), such as ‖0 − b‖: differences of numbers of size b carry rounding errors of size eps·‖b‖.
        return self.value(self.xp.zeros_like(self.b))

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


class L1(Norm):
    """Least absolute deviations, h(z) = Σ wᵢ |zᵢ − bᵢ|: exact in the face of gross outliers in b.

    The subgradient is wᵢ sign(zᵢ − bᵢ), with 0 at a residual that is exactly zero.

    Parameters
    ----------
    b : array_like
        The data.
    weights : array_like, optional
        wᵢ ≥ 0, of the shape of b, such as 1/σᵢ for data of unequal noise; 1 by default. Data of weight 0 are ignored.
        Noise, where a solve ends in it, is then that of wᵢ (bᵢ − zᵢ).
    """

    over_xp: ClassVar[bool] = True
    scaling: Rows | None

    def __init__(self, b: Any, weights: Any | None = None) -> None:
        super().__init__(b)
        self.scaling = None if weights is None else Rows.of(weights, self.b.shape)

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Penalty, tuple[int, ...]]]:
        yield from super().examples(rng)
        yield cls(rng.standard_normal((3, 4)), weights=rng.integers(0, 3, (3, 4)).astype(float)), (3, 4)

    @property
    def offers(self) -> frozenset[Capability]:
        return frozenset({RESIDUALS})

    @property
    def rows(self) -> Rows | None:
        return self.scaling

    def block(self, start: int, stop: int, size: int | None = None) -> L1:
        b = part(self.b, start, stop, size)
        if self.scaling is None:
            return self._with(b=b)
        each = np.asarray(self.scaling.weights).reshape(self.b.shape)
        kept = part(each, start, stop)
        weights = np.concatenate([kept, np.ones((len(b) - len(kept), *b.shape[1:]), kept.dtype)])
        return self._with(b=b, scaling=Rows.of(weights, b.shape))

    def residuals(self, z: Array) -> Array:
        return self.b - z if self.scaling is None else self.scaling((self.b - z).ravel())

    def value(self, z: Array) -> Array:
        return abs(self.residuals(z)).sum()

    def subgradient(self, z: Array) -> Array:
        sign = self.xp.sign(z - self.b)
        return sign if self.scaling is None else self.scaling.weights.reshape(z.shape) * sign


class L2(Norm):
    """The unsquared Euclidean norm, h(z) = (Σ wᵢ (zᵢ − bᵢ)²)^½: sharp where the squared norm is flat.

    The subgradient is wᵢ (zᵢ − bᵢ)/h(z), and 0 where h(z) = 0.

    Parameters
    ----------
    b : array_like
        The data.
    weights : array_like, optional
        wᵢ ≥ 0, of the shape of b, such as 1/σᵢ² for data of unequal noise; 1 by default. Data of weight 0 are ignored.
    """

    over_xp: ClassVar[bool] = True
    roots: Array | None
    """The square roots of the weights."""

    def __init__(self, b: Any, weights: Any | None = None) -> None:
        super().__init__(b)
        self.roots = None if weights is None else _roots(Rows.of(weights, self.b.shape).weights, self.b.shape)

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Penalty, tuple[int, ...]]]:
        yield from super().examples(rng)
        yield cls(rng.standard_normal((3, 4)), weights=rng.integers(0, 3, (3, 4)).astype(float)), (3, 4)

    def _residuals(self, z: Array) -> Array:
        return z - self.b if self.roots is None else self.roots * (z - self.b)

    def value(self, z: Array) -> Array:
        return self._length(self._residuals(z))

    def subgradient(self, z: Array) -> Array:
        r = self._residuals(z)
        norm = self._length(r)
        v = r / self.xp.where(norm == 0, 1.0, norm)
        return v if self.roots is None else self.roots * v

    def _length(self, r: Array) -> Array:
        return lengths(self.xp, r, tuple(range(r.ndim))).reshape(())


def _roots(weights: Array, shape: tuple[int, ...]) -> Array:
    if is_traced(weights):
        return jnp.sqrt(weights).reshape(shape)
    return on_device(np.sqrt(np.asarray(weights)).reshape(shape))


def lengths(xp: Any, residual: Array, axis: tuple[int, ...]) -> Array:
    """Euclidean norms along some axes, which stay, of length 1."""
    largest = abs(residual).max(axis=axis, keepdims=True, initial=0.0)
    safe = xp.where(largest == 0, 1.0, largest)
    # Scaled by the largest entry, so that tiny residuals do not underflow when squared.
    return largest * xp.sqrt(((residual / safe) ** 2).sum(axis=axis, keepdims=True))
