"""The penalty whose minimisers are quantiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from gnpolyak.base.arrays import as_real_array, on_device, part
from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.namespace import Array
from gnpolyak.base.numbers import is_real
from gnpolyak.problem.capabilities import TILT, Capability
from gnpolyak.problem.penalties.base import Penalty, Rows
from gnpolyak.problem.penalties.norms import Norm


class Pinball(Norm):
    """The quantile loss, h(z) = Σ max(q (bᵢ − zᵢ), (q − 1)(bᵢ − zᵢ)): a share q of the data ends below the fit.

    The subgradient is −q where bᵢ > zᵢ, 1 − q where bᵢ < zᵢ, and 0 at a residual that is exactly zero.

    Parameters
    ----------
    b : array_like
        The data.
    quantile : float
        q, between 0 and 1; ½ gives half of `L1`.
    """

    over_xp: ClassVar[bool] = True
    quantile: Array
    halves: Rows

    def __init__(self, b: Any, quantile: float) -> None:
        super().__init__(b)
        if not (is_real(quantile) and 0 < quantile < 1):
            raise InputError(
                given=f"quantile={shown(quantile)}",
                needed="a number strictly between 0 and 1",
                missing="a share of the data that can lie below the fit",
                advice="pass 0.5 for the median, 0.9 for what nine of ten data stay below",
            )
        # An array rather than a constant, so that another quantile is no other program.
        self.quantile = as_real_array(np.asarray(quantile, np.dtype(self.b.dtype)), "quantile")
        self.halves = _halves(self.b)

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Penalty, tuple[int, ...]]]:
        for quantile in (0.5, 0.9):
            yield cls(rng.standard_normal(7), quantile), (7,)

    def block(self, start: int, stop: int, size: int | None = None) -> Self:
        b = part(self.b, start, stop, size)
        return self._with(b=b, halves=_halves(b))

    @property
    def offers(self) -> frozenset[Capability]:
        return frozenset({TILT})

    @property
    def tilt(self) -> Array:
        return 2 * self.quantile - 1

    @property
    def rows(self) -> Rows:
        # max(q r, (q − 1) r) = |r/2| + (2q − 1) r/2.
        return self.halves

    def residuals(self, z: Array) -> Array:
        return self.halves((self.b - z).ravel())

    def value(self, z: Array) -> Array:
        r = self.b - z
        return self.xp.maximum(self.quantile * r, (self.quantile - 1) * r).sum()

    def subgradient(self, z: Array) -> Array:
        r = self.b - z
        return self.xp.where(r > 0, -self.quantile, self.xp.where(r < 0, 1 - self.quantile, self.xp.zeros_like(r)))


def _halves(b: Any) -> Rows:
    """Every measurement, times ½."""
    return Rows(on_device(np.full(b.size, 0.5, np.dtype(b.dtype))), None)
