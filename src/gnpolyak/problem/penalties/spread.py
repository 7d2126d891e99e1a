"""A penalty whose data are spread over devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gnpolyak.base.namespace import Array
from gnpolyak.problem.capabilities import Capability
from gnpolyak.problem.penalties.base import Penalty, Rows


class Spread(Penalty):
    """Another penalty, with flat data, of which each device has some: see `gnpolyak.shard`."""

    own: Any
    """The penalty of all measurements, in the places that `Layout` gives them."""
    magnitude: Array
    """Its scale. Known beforehand, so that devices need not agree on it at every step."""

    @property
    def label(self) -> str:
        return self.own.label

    @property
    def offers(self) -> frozenset[Capability]:
        return self.own.offers

    @property
    def convex(self) -> bool:
        return self.own.convex

    @property
    def takes_complex(self) -> bool:
        return self.own.takes_complex

    @property
    def infimum(self) -> float | None:
        return self.own.infimum

    @property
    def rows(self) -> Rows | None:
        return self.own.rows

    @property
    def tilt(self) -> Array | None:
        return self.own.tilt

    @property
    def b(self) -> Array:
        """The data, in their places."""
        return self.own.b

    def value(self, z: Array) -> Array:
        return self.own.value(z)

    def subgradient(self, z: Array) -> Array:
        return self.own.subgradient(z)

    def written(self, name: str) -> tuple[Callable[..., Any], int]:
        return self.own.written(name)

    def reading(self, z: Array) -> Array:
        return self.own.reading(z)

    def read(self, z: Array) -> tuple[Array, Callable[[Array], Array], Callable[[Array], Array]]:
        return self.own.read(z)

    def residuals(self, z: Array) -> Array:
        return self.own.residuals(z)

    def scale(self) -> Array:
        return self.magnitude

    def check(self, z_shape: tuple[int, ...]) -> None:
        self.own.check(z_shape)
