"""The Hadamard map c(u, v) = u ⊙ u − v ⊙ v."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import jax
import numpy as np

from gnpolyak.base.errors import InputError
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.problem import capabilities as can
from gnpolyak.problem.maps.base import Map

Pair = tuple[Array, Array]


class Hadamard(Map):
    """Vectors as differences of squares, c(u, v) = u ⊙ u − v ⊙ v, which favours sparse ones.

    Entry by entry J is the row (2u, −2v), so JᵀJ is of rank one there, and of rank zero where u = v = 0. At the
    shortest (u, v) of an entry that is zero the rank falls, but not at the others with u² = v².
    """

    over_xp: ClassVar[bool] = True

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Map, Any]]:
        yield cls(), (rng.standard_normal(4), rng.standard_normal(4))
        # Entries where the rank falls, and where it nearly does.
        yield cls(), (np.array([1.0, 0.0, 1e-2, 0.0]), np.array([0.5, 0.0, 1e-3, 2.0]))

    @property
    def offers(self) -> frozenset[can.Capability]:
        return frozenset({can.IMAGE, can.GRAM, can.CURVATURE, can.DISTANCE, can.GRAM_PINV, can.GAUGE})

    def check(self, x: Tree) -> None:
        shapes: list[Any] = [getattr(leaf, "shape", None) for leaf in x] if isinstance(x, tuple) else []
        fits = len(shapes) == 2 and shapes[0] == shapes[1] is not None and 0 not in shapes[0]
        if not fits or any(map(np.iscomplexobj, x)):
            raise InputError(
                given=f"a variable of shapes {shapes}" if shapes else f"a variable of type {type(x).__name__}",
                needed="for Hadamard, a pair (u, v) of real arrays of one shape",
                missing="two arrays alike",
                advice="pass x0=(u, v) with u² − v² the array that is meant",
            )

    def image(self, x: Pair) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(x[0].shape, np.result_type(x[0].dtype, x[1].dtype))

    def __call__(self, x: Pair) -> Array:
        return x[0] * x[0] - x[1] * x[1]

    def linearize(self, x: Pair) -> tuple[Callable[[Pair], Array], Callable[[Array], Pair]]:
        a, b = 2 * x[0], -2 * x[1]
        return lambda z: a * z[0] + b * z[1], lambda w: (a * w, b * w)

    def gram(self, x: Pair) -> Callable[[Pair], Pair]:
        u, v = x

        def action(z: Pair) -> Pair:
            image = 4 * (u * z[0] - v * z[1])
            return u * image, -v * image

        return action

    def preconditioner(self, x: Pair, damping: Array | float = 0.0) -> Callable[[Pair], Pair]:
        u, v = x
        size = self.xp.hypot(u, v)
        length = self.xp.where(size > 0, size, 1.0)
        # The unit vector along (u, −v), zero where there is none: its part of g, and nothing else, is in the range.
        a, b = u / length, -v / length
        inverse = 1.0 / (4 * length * length + damping)

        def solve(g: Pair) -> Pair:
            along = (a * g[0] + b * g[1]) * inverse
            return a * along, b * along

        return solve

    def curvature(self, x: Pair, s: Pair) -> Array:
        return 2 * self.xp.linalg.norm(s[0] * s[0] - s[1] * s[1])

    def distance(self, x: Pair, y: Pair) -> Array:
        """‖c(x) − c(y)‖ from differences of squares as products: nothing cancels but u − u′ itself."""
        (u, v), (a, b) = x, y
        return self.xp.linalg.norm((u - a) * (u + a) - (v - b) * (v + b))

    def gauge(self, x: Pair, rng: np.random.Generator) -> Pair:
        signs = rng.choice([-1.0, 1.0], (2, *np.shape(x[0])))
        return x[0] * signs[0], x[1] * signs[1]
