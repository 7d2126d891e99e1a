"""How a problem is evaluated: the one interface that the steps know.

A `Composite` says what is minimised. An `Oracle` answers what a step asks of it, whichever way that is computed: from
the parts one after the other, by a fused pass, from a Jacobian that is formed, by streams of rows, or on many devices.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any, ClassVar

from gnpolyak.base import trees
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.oracles.reductions import Reductions
from gnpolyak.problem.box import Box
from gnpolyak.problem.capabilities import GRAM_PINV
from gnpolyak.problem.composite import Composite, Point
from gnpolyak.problem.maps import Map
from gnpolyak.problem.oracles import Products
from gnpolyak.problem.penalties import Penalty
from gnpolyak.problem.sensing import Sensing


class Oracle(abc.ABC):
    """Answers what a step asks of a problem h(A(c(x))).

    Parameters
    ----------
    problem : Composite
        The problem, its parts bound to the arrays that are computed with.
    xp : namespace
        NumPy or jax.numpy: that of the points it is asked at and of all that it returns.
    """

    forms: ClassVar[bool] = False
    """Whether AJ is formed as a matrix."""
    compiling: Callable[[], AbstractContextManager[Any]] = staticmethod(nullcontext)
    """A context for what is compiled, which whoever keeps the time may set."""

    def __init__(self, problem: Composite, xp: Any) -> None:
        self.problem, self.xp = problem, xp
        self.reduce = Reductions(xp, problem.sensing.spread)

    @property
    def map(self) -> Map:
        """The map c."""
        return self.problem.map

    @property
    def sensing(self) -> Sensing:
        """The measurements A."""
        return self.problem.sensing

    @property
    def penalty(self) -> Penalty:
        """The penalty h."""
        return self.problem.penalty

    @property
    def box(self) -> Box | None:
        """The box that x may not leave."""
        return self.problem.box

    @cached_property
    def scale(self) -> Any:
        """The size of the numbers whose differences make up h: rounding in f is eps times this."""
        return self.penalty.scale()

    @property
    def tilt(self) -> Any:
        """The t of a penalty Σ |rᵢ| + t·rᵢ; None for one without."""
        return self.problem.penalty.tilt

    @property
    def preconditioned(self) -> bool:
        """Whether `metric` inverts JᵀJ itself, and not a simpler matrix."""
        return self.map.has(GRAM_PINV)

    @cached_property
    def data(self) -> Array:
        """The data b, flat: the residuals of measurements that are all zero."""
        b: Any = getattr(self.penalty, "b")  # noqa: B009
        return self.penalty.residuals(self.xp.zeros_like(b)).ravel()

    @abc.abstractmethod
    def evaluate(self, x: Tree) -> Point:
        """f(x) and g = Jᵀ(Aᵀv) for one v ∈ ∂h(A(c(x))): one oracle call."""

    @abc.abstractmethod
    def measure(self, x: Tree) -> tuple[Array, Any]:
        """The measurements A(c(x)), and what `actions` can use of them at the same x."""

    @abc.abstractmethod
    def actions(self, x: Tree, kept: Any = None) -> Products:
        """The products with AJ at x and with its adjoint, of measurements without the penalty's weights."""

    def residuals(self, x: Tree) -> tuple[Array, Array, Any]:
        """f(x), the residuals b − A(c(x)), flat, and what `linearise` can use of them at the same x."""
        z, kept = self.measure(x)
        return self.penalty.value(z), self.penalty.residuals(z).ravel(), kept

    def linearise(self, x: Tree, kept: Any = None) -> Products:
        """The products with AJ at x and with its adjoint, of the rows that the residuals are made of."""
        return self.actions(x, kept).rows(self.penalty.rows)

    @abc.abstractmethod
    def matrix(self, x: Tree) -> Array:
        """AJ at x as a matrix, of the rows that the residuals are made of."""

    @abc.abstractmethod
    def gram(self, x: Tree) -> Callable[[Tree], Tree]:
        """The action z ↦ JᵀJz of the map's own metric."""

    @abc.abstractmethod
    def metric(self, x: Tree, damping: Array | float = 0.0) -> Callable[[Tree], Tree]:
        """The action g ↦ (JᵀJ + λI)†g."""

    @abc.abstractmethod
    def metrics(self, x: Tree, damping: Array | float = 0.0) -> Callable[[Tree], Tree]:
        """The same action on several g that are stacked along a leading axis."""

    @abc.abstractmethod
    def jacobian(self, x: Tree) -> Array:
        """J = ∇c(x) as a matrix, for maps whose image is formed."""

    @abc.abstractmethod
    def slopes(self, x: Tree) -> tuple[Callable[[Tree], Array], Callable[[Array], Tree]]:
        """The products z ↦ Jz and v ↦ Jᵀv of the map alone, for maps whose image is formed."""

    @abc.abstractmethod
    def image_subgradient(self, point: Point) -> Array | None:
        """Aᵀv as an array like the image, for the v of the point; None where no image is formed, or v is not known."""

    @abc.abstractmethod
    def curvature(self, x: Tree, s: Tree) -> Array:
        """The size of the second-order term D²c(x)[s, s]."""

    @abc.abstractmethod
    def holding(self, free: Tree) -> Oracle:
        """The oracle of the problem whose variables outside the mask `free` are held: J without their columns."""

    def ravel(self, x: Tree) -> tuple[Array, Callable[[Array], Tree]]:
        """x as one real vector, and the way back."""
        return trees.ravel(x, self.xp)
