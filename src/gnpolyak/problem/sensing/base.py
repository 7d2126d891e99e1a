"""What a measurement operator must do."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import jax
import numpy as np

from gnpolyak.base import trees
from gnpolyak.base.errors import InputError
from gnpolyak.base.measurements import Layout
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import BY_AUTODIFF, IMAGE, Capability, Part
from gnpolyak.problem.maps import AutodiffMap, Map


class Sensing(Part):
    """A linear operator A on images, always evaluated together with the map: x ↦ A(c(x)).

    There are two ways to write one. An operator on an image that can be formed writes `apply`, and `adjoint` where it
    knows it. One that is evaluated on the factors that make up an image writes `measure`, and `push` where it knows it,
    and names in `needs` what a map has to offer for it. Autodiff gives the rest.
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
        image, pull = _image(c, x)
        return self.apply(image), lambda v: pull(self.adjoint(image, v))

    def push(self, c: Map, x: Tree) -> Callable[[Tree], Array]:
        """The derivative z ↦ A(Jz) of the measurements at x."""
        if self._writes_measure:
            return jax.linearize(lambda y: self.measure(c, y)[0], x)[1]
        along = c.linearize(x)[0]
        return lambda z: self.apply(along(z))

    def adjoint(self, image: Array, v: Array) -> Array:
        """Aᵀv as an array like the image, of which only shape and type count."""
        if self._writes_measure:
            return self.measure(_UNCHANGED, image)[1](v)
        pull = jax.vjp(self.apply, image)[1]
        return trees.adjoint(lambda v: pull(v)[0])(v)

    @property
    def _writes_measure(self) -> bool:
        return type(self).measure is not Sensing.measure

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


def _image(c: Map, x: Tree) -> tuple[Array, Callable[[Array], Tree]]:
    """c(x), and the pullback v ↦ Jᵀv; of a map that states no derivative by one pass of autodiff."""
    if type(c).linearize is not Map.linearize:
        return c(x), prepared(c.xp, lambda: c.linearize(x)[1])
    image, pull = jax.vjp(c, x)
    return image, trees.adjoint(lambda v: pull(v)[0])


def prepared(xp: Any, make: Callable[[], Callable[[Array], Tree]]) -> Callable[[Array], Tree]:
    """The linear map that `make` prepares; on the host only once it is called, since many measurements stay alone.

    In a trace it is prepared at once: what is made inside a loop must not leave it.
    """
    if xp is not np:
        return make()
    made = cache(make)

    def call(v: Array) -> Tree:
        return made()(v)

    return call
