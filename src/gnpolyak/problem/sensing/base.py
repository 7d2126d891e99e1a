"""What a measurement operator must do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import jax
from jax import Array

from gnpolyak.base import trees
from gnpolyak.base.errors import InputError
from gnpolyak.base.measurements import Layout
from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import BY_AUTODIFF, IMAGE, Capability, Part
from gnpolyak.problem.maps import AutodiffMap, Map


class Sensing(Part):
    """A linear operator A on images, always evaluated together with the map: x ↦ A(c(x)).

    There are two ways to write one. An operator on an image that can be formed writes `apply`, and its adjoint comes
    by itself. One that is evaluated on the factors that make up an image writes `measure`, and names in `needs` what a
    map has to offer for it.
    """

    needs: ClassVar[Capability] = IMAGE

    @property
    def kind(self) -> type[Sensing]:
        """What tables know these measurements by."""
        return type(self)

    @property
    def on_images(self) -> bool:
        """Whether any image that is formed will do, so that Aᵀv is an array like it."""
        return self.needs is IMAGE or self.needs in BY_AUTODIFF

    def apply(self, image: Array) -> Array:
        """A(image), for an image that was formed."""
        raise NotImplementedError(f"{self.label} writes neither apply nor measure")

    def measure(self, c: Map, x: Tree) -> tuple[Array, Callable[[Array], Tree]]:
        """A(c(x)), and the pullback v ↦ Jᵀ(Aᵀv) at the same point."""
        z, pull = jax.vjp(lambda x: self.apply(c(x)), x)
        return z, trees.adjoint(lambda v: pull(v)[0])

    @property
    def own_adjoint(self) -> bool:
        """Whether every adjoint is to be the pullback of `measure`, and none comes from autodiff."""
        return False

    def to_image(self, image: Array, v: Array) -> Array:
        """Aᵀv as an array like the image: the pullback of these measurements through the map that changes nothing."""
        return self.measure(_UNCHANGED, image)[1](v)

    def whitened(self) -> Sensing:
        """The same measurements of a variable y in which they treat all directions alike; by default x is one."""
        return self

    def into(self, x: Tree) -> Tree:
        """The variable y, where there is one, of a variable x."""
        return x

    def back(self, y: Tree) -> Tree:
        """The variable x of a variable y."""
        return y

    def block(self, start: int, stop: int, size: int | None = None) -> Sensing:
        """The measurements start:stop alone, followed by some that are zero of every image, up to `size` in all.

        Of an image that is measured entry by entry, these are entries along its first axis.
        """
        raise self.uncut()

    def uncut(self) -> InputError:
        """The error for measurements that cannot be taken apart."""
        return InputError(
            given=f"{self.label}, to be cut by measurements",
            needed="measurements that can be taken one without the other",
            missing=f"a way to cut: {self.label} has none",
            advice="solve it as a whole, or give its measurements as the rows of a LinearSensing",
        )

    @property
    def entries(self) -> int:
        """How many numbers these measurements have of what may be more or less of for as many measurements."""
        return 0

    def filled(self, entries: int) -> Sensing:
        """The same measurements, with so many of those numbers: zeros are added."""
        return self

    def like(self, rows: Callable[[Any], Any]) -> Sensing:
        """Other measurements of the same kind, from what a function gives of the arrays that have a row for each."""
        raise self.uncut()

    def flattened(self) -> Sensing:
        """The same measurements along one axis; by default they lie along one already."""
        return self

    @property
    def spread(self) -> Layout | None:
        """How the measurements lie on several devices; None where they do not."""
        return None

    def check(self, x: Tree) -> None:
        """Raise InputError when these measurements cannot be taken of x."""

    def check_image(self, c: Map, x: Tree) -> None:
        """Raise InputError when these measurements cannot be taken of the image of x, whose shape the map tells."""


_UNCHANGED = AutodiffMap(lambda image: image)
