"""The table of starts from the data alone."""

from __future__ import annotations

from collections.abc import Callable

from gnpolyak.base.tables import Table
from gnpolyak.base.trees import Tree

Start = Callable[..., Tree]
"""A function of the problem that returns x₀. Its options are keywords; one called `rank` is `minimize`'s."""

STARTS: Table[Start] = Table("starts from data")
"""Starts by the types (map, sensing); subclasses are served too."""
