"""The image itself as the measurement."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jax import Array

from gnpolyak.base.trees import Tree
from gnpolyak.problem.maps import Map, SymmetricCP
from gnpolyak.problem.sensing.base import Sensing


class Identity(Sensing):
    """A = I: every entry of c(x) is compared with a datum."""

    def apply(self, image: Array) -> Array:
        return image

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Sensing, Map, Tree]]:
        yield cls(), SymmetricCP(3), rng.standard_normal((4, 2))
