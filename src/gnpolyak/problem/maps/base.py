"""What a map must do, and what it may offer on top."""

from __future__ import annotations

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from gnpolyak.base.errors import InputError
from gnpolyak.base.trees import Tree


class Map(eqx.Module):
    """A smooth map c from a variable x to an image, with Jacobian J = ∇c(x).

    A subclass writes `__call__`; the Gram action comes from autodiff unless it knows better. Structure beyond
    that is announced in `offers` and implemented by the method of the same name, so that a solver can say what
    it needs and an error can say what is missing:

    ``"image"``
        c(x) is small enough to be formed by `__call__`.
    ``"gram_pinv"``
        (JᵀJ)†g in closed form.
    ``"right_gram"``
        the r×r matrix of ScaledSM's metric Z ↦ Z (XᵀX).
    ``"power_forms"``
        ⟨c(x), p^⊗n⟩ for rows p without forming c(x).
    """

    @property
    def offers(self) -> frozenset[str]:
        """The names of the optional structure this map has."""
        return frozenset({"image"})

    @property
    def label(self) -> str:
        """How errors and summaries call this map."""
        return type(self).__name__

    @abc.abstractmethod
    def __call__(self, x: Tree) -> Array:
        """c(x)."""

    def check(self, x: Tree) -> None:
        """Raise InputError when x cannot be a point of this map's domain."""

    def linearize(self, x: Tree) -> tuple[Callable[[Tree], Array], Callable[[Array], Tree]]:
        """The actions z ↦ Jz and v ↦ Jᵀv at x, linearised once for many applications."""
        _, push = jax.linearize(self, x)
        pull = jax.linear_transpose(push, x)
        return push, lambda v: pull(v)[0]

    def gram(self, x: Tree) -> Callable[[Tree], Tree]:
        """The action z ↦ JᵀJz at x."""
        push, pull = self.linearize(x)
        return lambda z: pull(push(z))

    def inner(self, x: Tree, y: Tree) -> Array:
        """The inner product ⟨c(x), c(y)⟩ of two images."""
        return jnp.sum(self(x) * self(y))

    def distance(self, x: Tree, y: Tree) -> Array:
        """The distance ‖c(x) − c(y)‖ of two images."""
        return jnp.linalg.norm((self(x) - self(y)).ravel())

    def gram_pinv(self, x: Tree, g: Tree, damping: Array | float = 0.0) -> Tree:
        """The minimum-norm solution (JᵀJ)†g in closed form, or (JᵀJ + λI)⁻¹g for g in its range and λ > 0."""
        raise self.lacking("gram_pinv")

    def curvature(self, x: Tree, s: Tree) -> Array:
        """The size ‖D²c(x)[s, s]‖ of the second-order term that a step along s neglects, or a bound on it."""
        slope = lambda x: jax.jvp(self, (x,), (s,))[1]  # noqa: E731
        return jnp.linalg.norm(jax.jvp(slope, (x,), (s,))[1].ravel())

    def right_gram(self, x: Array) -> Array:
        """The matrix XᵀX that ScaledSM divides by."""
        raise self.lacking("right_gram")

    def power_forms(self, x: Array, rows: Array) -> tuple[Array, Callable[[Array], Array]]:
        """The values ⟨c(x), p^⊗n⟩ for each row p, and the pullback of a vector of their weights to x."""
        raise self.lacking("power_forms")

    def lacking(self, structure: str) -> InputError:
        """The error for structure that was asked of this map and is not among what it offers."""
        return InputError(
            given=f"the map {self.label}",
            needed=f"a map that offers {structure!r}",
            missing=f"{structure!r}: {self.label} offers {', '.join(sorted(self.offers)) or 'nothing optional'}",
            advice="take a map that offers it, or a method that does not need it (method='gnp' runs on every map)",
        )
