"""What a map must do, and what it may offer on top."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from typing import Self

import jax
import numpy as np

from gnpolyak.base import trees
from gnpolyak.base.namespace import Array
from gnpolyak.base.shapes import shapes_of
from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import (
    BILINEAR_FORMS,
    CURVATURE,
    DISTANCE,
    ENTRIES,
    GAUGE,
    GRAM,
    GRAM_PINV,
    IMAGE,
    INTENSITIES,
    POWER_FORMS,
    RIGHT_GRAM,
    Capability,
    Part,
)
from gnpolyak.problem.maps.scattering import scatter


class Map(Part):
    """A smooth map c from a variable x to an image, with Jacobian J = ∇c(x).

    A subclass writes `__call__`; the rest comes from autodiff unless it knows better. What it knows it declares in
    `offers` (see `gnpolyak.problem.capabilities`) and implements in the method of the same name. A map that does
    not declare `IMAGE` is never asked to form one. One that is written over `xp` has no autodiff on NumPy: it states
    `linearize`, `curvature` and the derivatives of the forms that it offers.
    """

    @property
    def offers(self) -> frozenset[Capability]:
        """The optional structure this map has."""
        return frozenset({IMAGE})

    @abc.abstractmethod
    def __call__(self, x: Tree) -> Array:
        """c(x)."""

    def image(self, x: Tree) -> jax.ShapeDtypeStruct:
        """The shape and dtype of c(x), without computing it; traced once for all x of a shape.

        On NumPy, where nothing can be traced, it is computed; a map that knows better states this too.
        """
        if self.xp is not np:
            return shapes_of(_image, self, x)
        made = self(x)
        return jax.ShapeDtypeStruct(made.shape, made.dtype)

    def check(self, x: Tree) -> None:
        """Raise InputError when x cannot be a point of this map's domain."""

    def bounded(self, lower: np.ndarray, upper: np.ndarray) -> Self:
        """The map of a variable that stays between these bounds, flat; itself unless it would leave them on its own."""
        return self

    def entries(self, x: Tree, indices: tuple[Array, ...]) -> Array:
        """The entries of c(x) at these indices, an array of them for each axis."""
        self.require(ENTRIES, "some entries of an image")
        return self(x)[indices]

    def entries_linearized(
        self, x: Tree, indices: tuple[Array, ...]
    ) -> tuple[Callable[[Tree], Array], Callable[[Array], Tree]]:
        """The derivative of these entries, z ↦ (Jz) there, and its adjoint, linearised once for many applications."""
        self.require(ENTRIES, "the derivative of some entries")
        if self.xp is not np:
            return _by_autodiff(lambda y: self.entries(y, indices), x)
        push, pull = self.linearize(x)
        shape = self.image(x).shape
        places = np.ravel_multi_index(indices, shape)
        back = lambda w: scatter(np, places, w[:, None], math.prod(shape)).reshape(shape)  # noqa: E731
        return lambda z: push(z)[indices], lambda w: pull(back(w))

    def slab(self, x: Tree, places: Array) -> Array:
        """c(x) at these places along its first axis."""
        return self(x)[places]

    def linearize(self, x: Tree) -> tuple[Callable[[Tree], Array], Callable[[Array], Tree]]:
        """The actions z ↦ Jz and v ↦ Jᵀv at x, linearised once for many applications."""
        self.require(IMAGE, "a Jacobian by autodiff")
        return _by_autodiff(self, x)

    def gram(self, x: Tree) -> Callable[[Tree], Tree]:
        """The action z ↦ JᵀJz at x."""
        self.require(GRAM, "the action of JᵀJ")
        push, pull = self.linearize(x)
        return lambda z: pull(push(z))

    def inner(self, x: Tree, y: Tree) -> Array:
        """The inner product ⟨c(x), c(y)⟩ of two images."""
        self.require(DISTANCE, "an inner product of images")
        return trees.dot(self(x), self(y))

    def distance(self, x: Tree, y: Tree) -> Array:
        """The distance ‖c(x) − c(y)‖ of two images."""
        self.require(DISTANCE, "a distance of images")
        return trees.norm(self(x) - self(y))

    def curvature(self, x: Tree, s: Tree) -> Array:
        """The size ‖D²c(x)[s, s]‖ of the second-order term that a step along s neglects, or a bound on it."""
        self.require(CURVATURE, "a second derivative")
        slope = lambda x: jax.jvp(self, (x,), (s,))[1]  # noqa: E731
        return trees.norm(jax.jvp(slope, (x,), (s,))[1])

    def gram_pinv(self, x: Tree, g: Tree, damping: Array | float = 0.0) -> Tree:
        """The minimum-norm solution (JᵀJ)†g in closed form, or (JᵀJ + λI)⁻¹g for g in its range and λ > 0."""
        if not self.has(GRAM_PINV) or type(self).preconditioner is Map.preconditioner:
            raise self.lacking(GRAM_PINV)
        return self.preconditioner(x, damping)(g)

    def preconditioner(self, x: Tree, damping: Array | float = 0.0) -> Callable[[Tree], Tree]:
        """The action g ↦ (G + λI)†g with G = JᵀJ, prepared once for many g, or a simpler G where there is no inverse.

        A map writes either this or `gram_pinv`, and has the other. Here g may have any number of leading axes.
        """
        if self.has(GRAM_PINV):
            return lambda g: self.gram_pinv(x, g, damping)
        return lambda g: trees.scale(1.0 / (1.0 + damping), g)

    def right_gram(self, x: Array) -> Array:
        """The matrix XᵀX that ScaledSM divides by."""
        raise self.lacking(RIGHT_GRAM)

    def power_forms(self, x: Array, rows: Array) -> tuple[Array, Callable[[Array], Array]]:
        """The values ⟨c(x), p^⊗n⟩ for each row p, and the pullback of a vector of their weights to x."""
        raise self.lacking(POWER_FORMS)

    def power_push(self, x: Array, rows: Array) -> Callable[[Array], Array]:
        """The derivative of the values of `power_forms`, z ↦ their change along z."""
        return _by_autodiff(lambda y: self.power_forms(y, rows)[0], x)[0]

    def intensities(
        self, x: Array, forward: Callable[[Array], Array], adjoint: Callable[[Array], Array]
    ) -> tuple[Array, Callable[[Array], Array]]:
        """The values Σⱼ |Bxⱼ|² for a transform B of the columns of x, and the pullback of their weights to x.

        `forward` gives Bxⱼ along a first axis, one entry a column, and `adjoint` takes arrays like that back by Bᴴ.
        """
        raise self.lacking(INTENSITIES)

    def intensities_push(self, x: Array, forward: Callable[[Array], Array]) -> Callable[[Array], Array]:
        """The derivative of the values of `intensities`, z ↦ their change along z."""
        return _by_autodiff(lambda y: self.intensities(y, forward, _no_adjoint)[0], x)[0]

    def bilinear_forms(self, x: Tree, left: Array, right: Array) -> tuple[Array, Callable[[Array], Tree]]:
        """The values pᵀ c(x) q for each row p of `left` and q of `right`, and the pullback of their weights to x."""
        raise self.lacking(BILINEAR_FORMS)

    def bilinear_push(self, x: Tree, left: Array, right: Array) -> Callable[[Tree], Array]:
        """The derivative of the values of `bilinear_forms`, z ↦ their change along z."""
        return _by_autodiff(lambda y: self.bilinear_forms(y, left, right)[0], x)[0]

    def gauge(self, x: Tree, rng: np.random.Generator) -> Tree:
        """Another variable with the image of x, drawn from those that the map's symmetry gives."""
        raise self.lacking(GAUGE)


def _image(c: Map, x: Tree) -> Array:
    return c(x)


def _by_autodiff(function: Callable[[Tree], Array], x: Tree) -> tuple[Callable[[Tree], Array], Callable[[Array], Tree]]:
    """The derivative of a function in jax.numpy, and its adjoint."""
    _, push = jax.linearize(function, x)
    pull = jax.linear_transpose(push, x)
    return push, trees.adjoint(lambda v: pull(v)[0])


def _no_adjoint(_: Array) -> Array:
    raise AssertionError("values need no adjoint")
