"""The passes over measurements that are spread over devices: each device's own pass, and one sum over all of them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.problem.maps import Map
from gnpolyak.problem.oracles.native.dispatch import evaluated
from gnpolyak.problem.oracles.products import Products, linearised
from gnpolyak.problem.oracles.table import KERNELS, Kernel
from gnpolyak.problem.penalties import Penalty
from gnpolyak.problem.sensing.shards import Shards, summed


class Across(Kernel):
    """On each device the kernel that would serve there, or the parts one after the other."""

    def evaluate(self, c: Any, sensing: Any, penalty: Any, x: Tree) -> tuple[Array, Tree]:
        def here(a: Any, _: Any, h: Any, x: Tree) -> Any:
            kernel = _kernel(c, a, h, x)
            return summed(sensing.layout, evaluated(a, c, h, x) if kernel is None else kernel.evaluate(c, a, h, x))

        return sensing.everywhere(here, (x,), rows=(penalty.own,))

    def measure(self, c: Any, sensing: Any, penalty: Any, x: Tree) -> tuple[Array, Any]:
        def here(a: Any, _: Any, h: Any, x: Tree) -> Any:
            kernel = _kernel(c, a, h, x)
            z, kept = (a.measure(c, x)[0], None) if kernel is None else kernel.measure(c, a, h, x)
            return z, jax.tree.map(lambda leaf: leaf[None], kept)

        return sensing.everywhere(here, (x,), rows=(penalty.own,), spread=True)

    def linearised(self, c: Any, sensing: Any, penalty: Any, x: Tree, kept: Any = None) -> Products:
        own = penalty.own

        def products(a: Any, kept: Any, h: Any, x: Tree) -> Products:
            kernel = _kernel(c, a, h, x)
            return linearised(c, a, h, x) if kernel is None else kernel.linearised(c, a, h, x, kept)

        def push(z: Tree) -> Array:
            def here(a: Any, kept: Any, h: Any, x: Tree, z: Tree) -> Array:
                return products(a, kept, h, x).push(z)

            return sensing.everywhere(here, (x, z), kept=kept, rows=(own,), spread=True)

        def pull(v: Array) -> Tree:
            def here(a: Any, kept: Any, h: Any, v: Array, x: Tree) -> Tree:
                return summed(sensing.layout, products(a, kept, h, x).pull(v))

            return sensing.everywhere(here, (x,), kept=kept, rows=(own, v))

        def together(z: Tree, w: Array) -> tuple[Array, Tree, Array]:
            def here(a: Any, kept: Any, h: Any, w: Array, x: Tree, z: Tree) -> tuple[Array, Any]:
                pushed, pulled = products(a, kept, h, x).product(z, w)
                return pushed, summed(sensing.layout, (pulled, jnp.sum(w * pushed * pushed)))

            both = sensing.everywhere(here, (x, z), kept=kept, rows=(own, w), spread=(True, False))
            return both[0], *both[1]

        return Products(push, pull, lambda z, w: together(z, w)[:2], together)


def _kernel(c: Any, a: Any, h: Any, x: Tree) -> Kernel | None:
    kernel = KERNELS.get((type(c), type(a), type(h)))
    return kernel if kernel is not None and kernel.serves(c, a, h, x) else None


KERNELS.register(Map, Shards, Penalty)(Across())
