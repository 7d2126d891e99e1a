"""What a measurement operator must do."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
from jax import Array

from gnpolyak.maps.base import Map
from gnpolyak.trees import Tree


class Sensing(eqx.Module):
    """A linear operator A on images, always evaluated together with the map: x ↦ A(c(x)).

    `needs` names the structure a map has to offer for it (see `gnpolyak.maps.Map.offers`).
    """

    needs: ClassVar[str]

    @property
    def label(self) -> str:
        """How errors and summaries call this operator."""
        return type(self).__name__

    @abc.abstractmethod
    def measure(self, c: Map, x: Tree) -> tuple[Array, Callable[[Array], Tree]]:
        """A(c(x)), and the pullback v ↦ Jᵀ(Aᵀv) at the same point."""

    def check(self, x: Tree) -> None:
        """Raise InputError when these measurements cannot be taken of the image of x."""
