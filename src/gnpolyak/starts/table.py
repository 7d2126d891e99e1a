"""The table of starts from the data alone."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TypeVar

from gnpolyak.base.tables import Table
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite

Start = Callable[..., Tree]
"""A function of the problem that returns x₀. Its options are keywords; one called `rank` is `minimize`'s."""

STARTS: Table[Start] = Table("starts from data")
"""Starts by the types (map, sensing); subclasses are served too."""

LARGER: Table[Callable[..., Tree | None]] = Table("ways to one factor more")
"""Functions of a problem and of a point that does not explain its data: the point with one factor more, from what is
left unexplained, or None where there cannot be another. By the types (map, sensing), like the starts. A kind of problem
that has no start is begun with the first factor that such a function gives of no point, None."""

Row = TypeVar("Row")


def row_for(table: Table[Row], problem: Composite) -> Row | None:
    """The row for the problem's map and sensing, or for the nearest of their bases."""
    kinds = product(type(problem.map).__mro__, problem.sensing.kind.__mro__)
    return next((table[kind] for kind in kinds if kind in table), None)
