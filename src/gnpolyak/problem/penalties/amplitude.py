"""Amplitudes: measurements whose sign or phase was not measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Self

from gnpolyak.base.arrays import part
from gnpolyak.base.namespace import Array
from gnpolyak.problem.capabilities import RESIDUALS, Capability
from gnpolyak.problem.penalties.norms import Norm


class Amplitude(Norm):
    """Least absolute deviations of amplitudes, h(z) = Σ | |zᵢ| − bᵢ |: phase retrieval as it is measured.

    The measurements z may be real or complex. h is not convex: from z on, only its size is compared. Away from zero
    |·| is smooth, so near a solution without zero amplitudes this is the L1 penalty of |z|, and the graduated steps
    linearise it so (`reading`). The subgradient is sign(|z| − b) z/|z|, with 0 where z = 0 or |z| = b.

    Parameters
    ----------
    b : array_like
        The amplitudes, one for each measurement. Outliers among them may be of any size or sign.

    Examples
    --------
    >>> import numpy as np, gnpolyak as gnp
    >>> rows = np.random.default_rng(0).standard_normal((40, 3))
    >>> problem = gnp.composite(gnp.Linear(rows), gnp.Amplitude(abs(rows @ [1, 2, 3])))
    >>> np.round(abs(gnp.minimize(problem).x), 6)
    array([1., 2., 3.])
    """

    over_xp: ClassVar[bool] = True

    @property
    def convex(self) -> bool:
        return False

    @property
    def takes_complex(self) -> bool:
        return True

    @property
    def offers(self) -> frozenset[Capability]:
        return frozenset({RESIDUALS})

    def block(self, start: int, stop: int, size: int | None = None) -> Self:
        return self._with(b=part(self.b, start, stop, size))

    def reading(self, z: Array) -> Array:
        return abs(z)

    def read(self, z: Array) -> tuple[Array, Callable[[Array], Array], Callable[[Array], Array]]:
        """|z|, dz ↦ Re(conj(z) dz)/|z| and v ↦ v z/|z|; 0 where z = 0."""
        size = abs(z)
        turn = self._direction(z, size)
        return size, lambda dz: (turn.conj() * dz).real, lambda v: v * turn

    def _direction(self, z: Array, size: Array) -> Array:
        return z / self.xp.where(size > 0, size, 1.0)

    def residuals(self, z: Array) -> Array:
        return self.b - abs(z)

    def value(self, z: Array) -> Array:
        return abs(self.residuals(z)).sum()

    def subgradient(self, z: Array) -> Array:
        size = abs(z)
        return self.xp.sign(size - self.b) * self._direction(z, size)
