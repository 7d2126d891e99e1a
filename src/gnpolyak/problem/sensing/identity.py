"""The image itself as the measurement."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import jax
from jax import Array

from gnpolyak.base.trees import Tree
from gnpolyak.problem.maps.base import Map
from gnpolyak.problem.sensing.base import Sensing


class Identity(Sensing):
    """A = I: every entry of c(x) is compared with a datum."""

    needs: ClassVar[str] = "image"

    def measure(self, c: Map, x: Tree) -> tuple[Array, Callable[[Array], Tree]]:
        image, pull = jax.vjp(c, x)
        return image, lambda v: pull(v)[0]
