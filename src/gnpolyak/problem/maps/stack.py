"""The sum of maps, c(x₁, x₂, …) = c₁(x₁) + c₂(x₂) + … of any number of maps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from operator import add
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base.errors import InputError
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.problem import capabilities as can
from gnpolyak.problem.maps.autodiff import AutodiffMap
from gnpolyak.problem.maps.base import Map
from gnpolyak.problem.maps.low_rank import LowRank

Several = tuple[Tree, ...]


class Stack(Map):
    """A sum of maps, each of a variable of its own: c(x) = Σᵢ cᵢ(xᵢ) for a tuple x of the parts' variables.

    The Jacobians stand side by side, J = [J₁ J₂ …], so JᵀJ has blocks JᵢᵀJⱼ off its diagonal and no closed inverse,
    even where each part has one. The inverses of the diagonal blocks serve as preconditioner.

    Parameters
    ----------
    parts
        Maps, or functions that become one, whose images have one shape.
    """

    over_xp: ClassVar[bool] = True
    parts: tuple[Map, ...]

    def __init__(self, *parts: Map | Callable[..., Array]) -> None:
        if len(parts) < 1:
            raise InputError(
                given="Stack()",
                needed="the maps whose images are added",
                missing="at least one",
                advice="write Stack(LowRank(), LowRank())",
            )
        self.parts = tuple(each if isinstance(each, Map) else AutodiffMap(each) for each in parts)

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Map, Any]]:
        pairs = [tuple(rng.standard_normal((d, r)) for d in (5, 4)) for r in (1, 1)]
        yield cls(LowRank(), LowRank()), tuple(pairs)
        yield cls(LowRank(), _shift), (pairs[0], rng.standard_normal(4))

    @property
    def offers(self) -> frozenset[can.Capability]:
        both = {can.IMAGE, can.GAUGE}
        return frozenset(each for each in both if all(part.has(each) for part in self.parts))

    @property
    def label(self) -> str:
        return f"Stack({', '.join(part.label for part in self.parts)})"

    def check(self, x: Tree) -> None:
        if not isinstance(x, tuple) or len(x) != len(self.parts):
            raise InputError(
                given=f"a variable of {len(x)} parts" if isinstance(x, tuple) else f"a {type(x).__name__}",
                needed=f"for {self.label}, a tuple of {len(self.parts)} variables, one for each map",
                missing="a variable for every map",
                advice="pass x0=(x1, x2, …)",
            )
        for part, each in zip(self.parts, x, strict=True):
            part.check(each)
        shapes = [each.shape for each in self._images(x)]
        if len(set(shapes)) > 1:
            raise InputError(
                given=f"images of shapes {shapes}",
                needed="images that can be added",
                missing="one shape",
                advice="evaluate each map at its part of x0, and compare",
            )

    def image(self, x: Several) -> jax.ShapeDtypeStruct:
        images = self._images(x)
        return jax.ShapeDtypeStruct(images[0].shape, np.result_type(*(each.dtype for each in images)))

    def _images(self, x: Several) -> list[jax.ShapeDtypeStruct]:
        return [part.image(each) for part, each in zip(self.parts, x, strict=True)]

    def __call__(self, x: Several) -> Array:
        return reduce(add, [part(each) for part, each in zip(self.parts, x, strict=True)])

    def linearize(self, x: Several) -> tuple[Callable[[Several], Array], Callable[[Array], Several]]:
        pairs = [part.linearize(each) for part, each in zip(self.parts, x, strict=True)]
        return (
            lambda z: reduce(add, [push(each) for (push, _), each in zip(pairs, z, strict=True)]),
            lambda v: tuple(pull(v) for _, pull in pairs),
        )

    def settled(self, at: Tree) -> Self:
        if not isinstance(at, tuple) or len(at) != len(self.parts):
            # A variable that does not fit is for `check` to name.
            return self
        return self._of([part.settled(each) for part, each in zip(self.parts, at, strict=True)])

    def cast(self, dtype: np.dtype) -> Self:
        return self._of([part.cast(dtype) for part in self.parts])

    def _of(self, parts: list[Map]) -> Self:
        made: Self = self._with(parts=tuple(parts))
        return made

    def preconditioner(self, x: Several, damping: Array | float = 0.0) -> Callable[[Several], Several]:
        solvers = [part.preconditioner(each, damping) for part, each in zip(self.parts, x, strict=True)]
        return lambda g: tuple(solve(each) for solve, each in zip(solvers, g, strict=True))

    def curvature(self, x: Several, s: Several) -> Array:
        """At most the sum of the parts' own."""
        return reduce(add, [part.curvature(*each) for part, *each in zip(self.parts, x, s, strict=True)])

    def gauge(self, x: Several, rng: np.random.Generator) -> Several:
        return tuple(part.gauge(each, rng) for part, each in zip(self.parts, x, strict=True))


def _shift(x: Array) -> Array:
    """A row that is added to each of five."""
    return jnp.broadcast_to(x, (5, x.size))
