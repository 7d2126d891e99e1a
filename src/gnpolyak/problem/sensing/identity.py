"""The image itself as the measurement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base import trees
from gnpolyak.base.modules import field
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.problem.maps import Map, SymmetricCP
from gnpolyak.problem.sensing.base import Sensing


class Identity(Sensing):
    """A = I: every entry of c(x) is compared with a datum."""

    over_xp: ClassVar[bool] = True

    def apply(self, image: Array) -> Array:
        return image

    def adjoint(self, image: Array, v: Array) -> Array:
        return v

    def block(self, start: int, stop: int, size: int | None = None) -> Sensing:
        ends: Any = np.asarray([start, stop], np.int32)
        return Slab(ends, stop - start if size is None else size)

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Sensing, Map, Tree]]:
        yield cls(), SymmetricCP(3), rng.standard_normal((4, 2))


class Slab(Sensing):
    """Some of an image's entries along its first axis, from the first of `ends` to before the second, then zeros."""

    ends: Array
    size: int = field(static=True)
    """How many, with the zeros."""
    flat: bool = field(static=True, default=False)

    def measure(self, c: Map, x: Tree) -> tuple[Array, Callable[[Array], Tree]]:
        def some(x: Tree) -> Array:
            places = self.ends[0] + jnp.arange(self.size)
            seen = places < self.ends[1]
            image = c.slab(x, jnp.where(seen, places, self.ends[0]))
            some = jnp.where(seen.reshape(-1, *[1] * (image.ndim - 1)), image, 0)
            return some.ravel() if self.flat else some

        z, pull = jax.vjp(some, x)
        return z, trees.adjoint(lambda v: pull(v)[0])

    @property
    def label(self) -> str:
        return "Identity"

    def flattened(self) -> Slab:
        return Slab(self.ends, self.size, flat=True)

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Sensing, Map, Tree]]:
        ends: Any = np.asarray([1, 3], np.int32)
        yield cls(ends, 3), SymmetricCP(3), rng.standard_normal((4, 2))
