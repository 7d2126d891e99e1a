"""The table of fused oracles."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

from gnpolyak.base.namespace import Array
from gnpolyak.base.tables import Table
from gnpolyak.base.trees import Tree
from gnpolyak.problem.maps import Map
from gnpolyak.problem.oracles.products import Products, linearised
from gnpolyak.problem.penalties import Penalty
from gnpolyak.problem.sensing import Sensing


class Kernel(abc.ABC):
    """One pass that gives h(A(c(x))) and Jᵀ(Aᵀv) together, for parts of exactly the types it is registered for.

    Exactly: a subclass may map, measure or penalise in its own way, which the kernel would not know.
    """

    over_xp: ClassVar[bool] = False
    """Whether it also takes parts that are bound to NumPy; a class says so in its own body."""

    @property
    def runs_on_numpy(self) -> bool:
        """Whether exactly this class also takes parts that are bound to NumPy."""
        return bool(vars(type(self)).get("over_xp", False))

    def serves(self, c: Map, sensing: Sensing, penalty: Penalty, x: Tree) -> bool:
        """Tell whether this kernel can compute at these parts' dtypes and options, in this process."""
        return True

    @abc.abstractmethod
    def evaluate(self, c: Map, sensing: Sensing, penalty: Penalty, x: Tree) -> tuple[Array, Tree]:
        """The value and a subgradient at x."""

    def measure(self, c: Map, sensing: Sensing, penalty: Penalty, x: Tree) -> tuple[Array, Any]:
        """The measurements A(c(x)), and what of them `linearised` can use; from the parts, unless one is faster."""
        return sensing.measure(c, x)[0], None

    def linearised(self, c: Map, sensing: Sensing, penalty: Penalty, x: Tree, kept: Any = None) -> Products:
        """The products with AJ at x; from the parts, unless a kernel is faster. `kept` is what `measure` left at x."""
        return linearised(c, sensing, penalty, x)


KERNELS: Table[Kernel] = Table("fused oracles")
"""Kernels by the types (map, sensing, penalty); under (Map, sensing, Penalty) one for any map and penalty."""
