"""Measurements that are spread over devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.sharding import PartitionSpec as P

from gnpolyak.base.measurements import Layout, fetched
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
    """The sensing of each device, with one more axis in front: that of the devices."""
    layout: Layout = eqx.field(static=True)
    shape: tuple[int, ...] = eqx.field(static=True)
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
    def own_adjoint(self) -> bool:
        return True

    @property
    def label(self) -> str:
        return f"{self.each.label} on {len(self.layout.lengths)} devices"

    @property
    def spread(self) -> Layout:
        return self.layout

    def measure(self, c: Map, x: Tree) -> tuple[Array, Callable[[Array], Tree]]:
        def forward(a: Any, x: Tree) -> Array:
            return a.measure(c, x)[0]

        def back(a: Any, v: Array, x: Tree) -> Tree:
            return summed(self.layout, a.measure(c, x)[1](v))

        z = on_each(self.layout, forward, (self.each,), (x,), spread=True)
        return z, lambda v: on_each(self.layout, back, (self.each,), (x,), rows=(v,))

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
        return [_sampled(each, least, step) for each in rows]

    def check(self, x: Tree) -> None:
        self._one.check(x)

    def check_image(self, c: Map, x: Tree) -> None:
        self._one.check_image(c, x)

    @property
    def _one(self) -> Any:
        """The shapes of the measurements of one device."""
        return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), self.each)

    def cast(self, dtype: np.dtype) -> Shards:
        return eqx.tree_at(lambda s: s.each, self, self.each.cast(dtype))


# Rows for each of their entries that an opinion on their covariance is formed from.
_ENOUGH = 32


@eqx.filter_jit
def _sampled(rows: Array, least: int, step: int) -> Array:
    return rows[:, :least:step].reshape(-1, rows.shape[-1])


def on_each(
    layout: Layout,
    function: Callable[..., Any],
    stacked: tuple[Any, ...],
    shared: tuple[Any, ...],
    *,
    rows: tuple[Any, ...] = (),
    spread: Any = False,
) -> Any:
    """A function of what each device has.

    Parameters
    ----------
    layout : Layout
        How measurements lie.
    function : callable
        Of the pieces of `stacked`, then those of `rows`, then `shared`.
    stacked : tuple
        Pytrees with an axis for the devices in front, which a piece is without.
    shared : tuple
        Pytrees that every device has all of.
    rows : tuple
        Pytrees of arrays with a place for each measurement along their first axis; other arrays are shared.
    spread : bool or pytree of bool
        Which of the results are pieces of arrays that are spread along their first axis; the others are the same
        everywhere.
    """
    across = P(layout.axes)
    specs = (
        jax.tree.map(lambda _: across, stacked),
        jax.tree.map(lambda leaf: across if np.shape(leaf)[:1] == (layout.size,) else P(), rows),
        jax.tree.map(lambda _: P(), shared),
    )

    def here(stacked: Any, rows: Any, shared: Any) -> Any:
        pieces = jax.tree.map(lambda leaf: leaf[0], stacked)
        return function(*pieces, *rows, *shared)

    out = jax.tree.map(lambda each: across if each else P(), spread)
    return jax.shard_map(here, mesh=layout.mesh, in_specs=specs, out_specs=out, check_vma=False)(stacked, rows, shared)


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
