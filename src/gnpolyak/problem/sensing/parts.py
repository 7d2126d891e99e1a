"""A complex image as real numbers."""

from __future__ import annotations

from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np
from jax import Array

from gnpolyak.base.trees import Tree
from gnpolyak.problem.maps import Hermitian, Map
from gnpolyak.problem.sensing.base import Sensing


class Parts(Sensing):
    """The real and the imaginary part of every entry of a complex image, along a last axis of length 2.

    Data are real: ``L1(b)`` takes a b of shape (…, 2), such as ``numpy.stack([y.real, y.imag], axis=-1)``.
    """

    def apply(self, image: Array) -> Array:
        return jnp.stack([jnp.real(image), jnp.imag(image)], axis=-1)

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Sensing, Map, Tree]]:
        yield cls(), Hermitian(), rng.standard_normal((4, 2)) + 1j * rng.standard_normal((4, 2))
