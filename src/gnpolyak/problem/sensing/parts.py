"""A complex image as real numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from gnpolyak.base.namespace import Array
from gnpolyak.base.transforms import joined
from gnpolyak.base.trees import Tree
from gnpolyak.problem.maps import Hermitian, Map
from gnpolyak.problem.sensing.base import Sensing


class Parts(Sensing):
    """The real and the imaginary part of every entry of a complex image, along a last axis of length 2.

    Data are real: ``L1(b)`` takes a b of shape (…, 2), such as ``numpy.stack([y.real, y.imag], axis=-1)``.
    """

    over_xp: ClassVar[bool] = True

    def apply(self, image: Array) -> Array:
        return self.xp.stack([image.real, image.imag], axis=-1)

    def adjoint(self, image: Array, v: Array) -> Array:
        return joined(self.xp, v[..., 0], v[..., 1]) if self.xp.iscomplexobj(image) else v[..., 0]

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Sensing, Map, Tree]]:
        yield cls(), Hermitian(), rng.standard_normal((4, 2)) + 1j * rng.standard_normal((4, 2))
