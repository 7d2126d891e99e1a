"""Vectors with a number for each measurement, and how they lie on several devices.

Such a vector is spread over the devices of a mesh in pieces of one length. Where the measurements do not fill them,
each piece ends with places that stand for none. Sums over measurements need not know: what is there is zero. Counts and
medians do: `gnpolyak.oracles.reductions` leaves those places out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from gnpolyak.base.namespace import Array


@dataclass(frozen=True)
class Layout:
    """How the measurements lie on the devices of a mesh."""

    mesh: Mesh
    lengths: tuple[int, ...]
    """How many there are on each device, in the order of the mesh."""
    room: int
    """The places for them on each: the same number everywhere."""

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes of the mesh, over all of which measurements are spread."""
        return tuple(self.mesh.axis_names)

    @property
    def spread(self) -> NamedSharding:
        """Where an array goes whose first axis is spread."""
        return NamedSharding(self.mesh, P(self.axes))

    @property
    def everywhere(self) -> NamedSharding:
        """Where an array goes of which each device has all."""
        return NamedSharding(self.mesh, P())

    @property
    def size(self) -> int:
        """The number of places."""
        return len(self.lengths) * self.room

    @property
    def total(self) -> int:
        """The number of measurements."""
        return sum(self.lengths)

    def counted(self) -> Array:
        """Whether a measurement is in each of the places."""
        inside = jnp.arange(self.room) < jnp.asarray(self.lengths)[:, None]
        return lax.with_sharding_constraint(inside.reshape(-1), self.spread)

    def among(self, chosen: np.ndarray) -> Array:
        """Whether the measurement in each of the places is one of those that are chosen, by their numbers."""
        firsts = np.cumsum([0, *self.lengths])

        def here(numbers: Array) -> Array:
            shard = lax.axis_index(self.axes)
            place = numbers - jnp.asarray(firsts)[shard]
            inside = (place >= 0) & (place < jnp.asarray(self.lengths)[shard])
            return jnp.zeros(self.room, bool).at[jnp.where(inside, place, self.room)].set(True, mode="drop")

        each = jax.shard_map(here, mesh=self.mesh, in_specs=P(), out_specs=P(self.axes), check_vma=False)
        return each(jnp.asarray(chosen))

    def of_each(self, vectors: np.ndarray) -> np.ndarray:
        """The measurements' numbers of several vectors on the host, one in each row, in their order."""
        inside = np.arange(self.room) < np.asarray(self.lengths)[:, None]
        return vectors[:, inside.ravel()]

    def gathered(self, vector: Any, step: int = 1) -> np.ndarray:
        """The measurements' numbers on the host, of all processes, in their order; with a step, some of each device."""
        some = fetched(_stepped(vector, len(self.lengths), step))
        lengths = [-(-length // step) for length in self.lengths]
        return np.concatenate([piece[:length] for piece, length in zip(some, lengths, strict=True)])


@partial(jax.jit, static_argnums=(1, 2))
def _stepped(vector: Array, pieces: int, step: int) -> Array:
    return vector.reshape(pieces, -1, *vector.shape[1:])[:, ::step]


def gathered(layout: Layout | None, vector: Any) -> np.ndarray:
    """A vector of measurements' numbers on the host, however they lie; of several processes, all must ask."""
    return fetched(vector) if layout is None else layout.gathered(vector)


def fetched(array: Any) -> np.ndarray:
    """An array on the host, whichever devices and processes hold its parts; of several processes, all must ask."""
    if not isinstance(array, jax.Array) or array.is_fully_addressable or array.is_fully_replicated:
        return np.asarray(array)
    return np.asarray(multihost_utils.process_allgather(array, tiled=True))
