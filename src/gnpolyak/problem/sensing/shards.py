"""Measurements that are spread over devices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as P

from gnpolyak.base.measurements import Layout, fetched
from gnpolyak.base.modules import field
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import Capability
from gnpolyak.problem.maps import Map
from gnpolyak.problem.sensing.base import Sensing
from gnpolyak.problem.sensing.identity import Identity, Slab
from gnpolyak.problem.sensing.isotropy import roots
from gnpolyak.problem.sensing.power import PowerSensing, Whitened


class Shards(Sensing):
    """On each device some of the measurements, and the variable on all of them: see `gnpolyak.shard`.

    Measurements are flat, whatever shape they had: see `Layout` for their places.
    """

    each: Any
    """The sensing of each device, as one: see `rowwise`."""
    rowwise: bool = field(static=True)
    """Whether all of its arrays have a row for each measurement, in the places of `layout`; else they have one more
    axis in front, that of the devices."""
    layout: Layout = field(static=True)
    shape: tuple[int, ...] = field(static=True)
    """That of the measurements as they were given."""

    @property
    def needs(self) -> Capability:  # type: ignore[override]
        """What those of a device need."""
        return self.each.needs

    @property
    def kind(self) -> type[Sensing]:
        return Identity if isinstance(self.each, Slab) else type(self.each)

    @property
    def on_images(self) -> bool:
        return False

    @property
    def label(self) -> str:
        devices = len(self.layout.lengths)
        return f"{self.each.label} on {devices} device{'s' if devices > 1 else ''}"

    @property
    def spread(self) -> Layout:
        return self.layout

    def measure(self, c: Map, x: Tree) -> tuple[Array, Callable[[Array], Tree]]:
        def forward(a: Any, _: Any, x: Tree) -> Array:
            return a.measure(c, x)[0]

        def back(a: Any, _: Any, v: Array, x: Tree) -> Tree:
            return summed(self.layout, a.measure(c, x)[1](v))

        return self.everywhere(forward, (x,), spread=True), lambda v: self.everywhere(back, (x,), rows=(v,))

    def everywhere(
        self,
        function: Callable[..., Any],
        shared: tuple[Any, ...],
        *,
        kept: Any = None,
        rows: tuple[Any, ...] = (),
        spread: Any = False,
    ) -> Any:
        """A function of what each device has.

        Parameters
        ----------
        function : callable
            Of the sensing and what is kept on a device, the pieces of `rows`, and `shared`.
        shared : tuple
            Pytrees that every device has all of.
        kept : pytree
            Arrays with an axis for the devices in front, which a piece is without.
        rows : tuple
            Pytrees of arrays with a place for each measurement along their first axis; other arrays are shared.
        spread : bool or pytree of bool
            Which of the results are pieces of arrays that are spread along their first axis; the others are the same
            everywhere.
        """
        layout, across = self.layout, P(self.layout.axes)
        specs = (
            jax.tree.map(lambda _: across, (self.each, kept)),
            jax.tree.map(lambda leaf: across if np.shape(leaf)[:1] == (layout.size,) else P(), rows),
            jax.tree.map(lambda _: P(), shared),
        )

        def here(held: Any, rows: Any, shared: Any) -> Any:
            each, kept = held
            each = each if self.rowwise else jax.tree.map(lambda leaf: leaf[0], each)
            return function(each, jax.tree.map(lambda leaf: leaf[0], kept), *rows, *shared)

        out = jax.tree.map(lambda yes: across if yes else P(), spread)
        mapped = jax.shard_map(here, mesh=layout.mesh, in_specs=specs, out_specs=out, check_vma=False)
        return mapped((self.each, kept), rows, shared)

    def whitened(self) -> Sensing:
        if not isinstance(self.each, PowerSensing):
            return self
        found = roots([fetched(rows) for rows in self._few()])
        if found is None:
            return self
        placed = [jax.device_put(root, self.layout.everywhere) for root in found]
        return Whitened(self, *placed)

    def _few(self) -> list[Array]:
        """Some rows of each matrix, as many as tell whether they are isotropic."""
        rows = [each for each in (self.each.p, self.each.q) if each is not None]
        least, d = max(min(self.layout.lengths), 1), rows[0].shape[-1]
        wanted = -(-_ENOUGH * d // (len(rows) * len(self.layout.lengths)))
        step = max(1, least // max(wanted, 1))
        return [_sampled(each, len(self.layout.lengths), least, step) for each in rows]

    def check(self, x: Tree) -> None:
        self._one.check(x)

    def check_image(self, c: Map, x: Tree) -> None:
        self._one.check_image(c, x)

    @property
    def _one(self) -> Any:
        """The shapes of the measurements of one device."""

        def piece(leaf: Array) -> jax.ShapeDtypeStruct:
            shape = (self.layout.room, *leaf.shape[1:]) if self.rowwise else leaf.shape[1:]
            return jax.ShapeDtypeStruct(shape, leaf.dtype)

        return jax.tree.map(piece, self.each)

    def cast(self, dtype: np.dtype) -> Shards:
        return self._with(each=self.each.cast(dtype))


# Rows for each of their entries that an opinion on their covariance is formed from.
_ENOUGH = 32


@partial(jax.jit, static_argnums=(1, 2, 3))
def _sampled(rows: Array, pieces: int, least: int, step: int) -> Array:
    return rows.reshape(pieces, -1, rows.shape[-1])[:, :least:step].reshape(-1, rows.shape[-1])


def summed(layout: Layout, tree: Tree) -> Tree:
    """The sums over the devices of all numbers in a tree, agreed on at once."""
    leaves, structure = jax.tree.flatten(tree)
    flat = [part for leaf in leaves for part in _parts(leaf)]
    total = lax.psum(jnp.concatenate(flat), layout.axes)
    pieces = iter(jnp.split(total, np.cumsum([len(part) for part in flat])[:-1]))
    joined = [lax.complex(next(pieces), next(pieces)) if jnp.iscomplexobj(leaf) else next(pieces) for leaf in leaves]
    shaped = [each.reshape(leaf.shape) for each, leaf in zip(joined, leaves, strict=True)]
    return jax.tree.unflatten(structure, shaped)


def _parts(leaf: Array) -> list[Array]:
    flat = jnp.ravel(leaf)
    return [flat.real, flat.imag] if jnp.iscomplexobj(flat) else [flat]
