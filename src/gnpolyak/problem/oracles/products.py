"""Products with the Jacobian of the measurements, AJ, at one point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gnpolyak.base import trees
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.problem.maps import Map
from gnpolyak.problem.penalties import Penalty, Rows
from gnpolyak.problem.sensing import Sensing


@dataclass(frozen=True)
class Products:
    """The actions of AJ at a point; measurements are flat, whatever shape they have."""

    push: Callable[[Tree], Array]
    """z ↦ AJz."""
    pull: Callable[[Array], Tree]
    """v ↦ (AJ)ᵀv."""
    product: Callable[[Tree, Array], tuple[Array, Tree]]
    """(z, w) ↦ AJz and (AJ)ᵀ(w ⊙ AJz), which is all that an iteration of conjugate gradients needs."""
    together: Callable[[Tree, Array], tuple[Array, Tree, Array]] | None = None
    """The product and Σ wᵢ (AJz)ᵢ², where devices have to agree on both, and can at once."""

    @classmethod
    def of(cls, push: Callable[[Tree], Array], pull: Callable[[Array], Tree]) -> Products:
        """Those of an action and its adjoint, one after the other."""

        def product(z: Tree, w: Array) -> tuple[Array, Tree]:
            pushed = push(z)
            return pushed, pull(w * pushed)

        return cls(push, pull, product)

    @classmethod
    def of_product(cls, product: Callable[[Tree | None, Array], tuple[Any, Tree]], none: Array) -> Products:
        """Those of one pass for both, which takes no z for the adjoint alone; `none` are weights of zero."""
        return cls(lambda z: product(z, none)[0], lambda v: product(None, v)[1], product)

    def weighed(self, z: Tree, w: Array) -> tuple[Array, Tree, Array]:
        """The product and the energy Σ wᵢ (AJz)ᵢ²."""
        if self.together is not None:
            return self.together(z, w)
        pushed, pulled = self.product(z, w)
        return pushed, pulled, (w * pushed * pushed).sum()

    def rows(self, rows: Rows | None) -> Products:
        """Those of the rows that a penalty's residuals are made of, RAJ: its residuals are R(b − A(c(x)))."""
        if rows is None:
            return self

        def product(z: Tree, w: Array) -> tuple[Array, Tree]:
            # A weight comes in twice, on the way there and back: one pass does for both.
            pushed, pulled = self.product(z, rows.adjoint(rows.counted * w))
            return rows(pushed), pulled

        return Products(lambda z: rows(self.push(z)), lambda v: self.pull(rows.adjoint(v)), product)

    def over(self, xp: Any, free: Tree) -> Products:
        """Those of the columns of AJ that a mask leaves: the other variables are held where they are."""

        def product(z: Tree, w: Array) -> tuple[Array, Tree]:
            pushed, pulled = self.product(trees.masked(xp, free, z), w)
            return pushed, trees.masked(xp, free, pulled)

        def together(z: Tree, w: Array) -> tuple[Array, Tree, Array]:
            pushed, pulled, energy = self.weighed(trees.masked(xp, free, z), w)
            return pushed, trees.masked(xp, free, pulled), energy

        push, pull = lambda z: self.push(trees.masked(xp, free, z)), lambda v: trees.masked(xp, free, self.pull(v))
        return Products(push, pull, product, together)


def linearised(c: Map, sensing: Sensing, penalty: Penalty, x: Tree) -> Products:
    """The products from the parts; of what the penalty reads of the measurements, where that is not they themselves."""
    z, pull = sensing.measure(c, x)
    push = sensing.push(c, x)
    read, slope, unslope = penalty.read(z)
    return Products.of(lambda u: slope(push(u)).ravel(), lambda v: pull(unslope(v.reshape(read.shape))))
