"""What a measurement operator must do."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import ClassVar, Self

import equinox as eqx
import numpy as np
from jax import Array

from gnpolyak.base import arrays
from gnpolyak.base.trees import Tree
from gnpolyak.problem.maps.base import Map
from gnpolyak.problem.penalties import Penalty


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

    def evaluate(self, c: Map, penalty: Penalty, x: Tree) -> tuple[Array, Tree]:
        """The oracle: h(A(c(x))) and Jᵀ(Aᵀv) for the penalty's v ∈ ∂h. Override where there is a faster way."""
        z, pullback = self.measure(c, x)
        return penalty.value(z), pullback(penalty.subgradient(z))

    def cast(self, dtype: np.dtype) -> Self:
        """These measurements with their numbers in `dtype`."""
        return arrays.cast(self, dtype)

    def check(self, x: Tree) -> None:
        """Raise InputError when these measurements cannot be taken of the image of x."""
