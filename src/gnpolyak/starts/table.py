"""The table of starts from the data alone."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from itertools import product
from typing import Any

from gnpolyak.base.errors import InputError
from gnpolyak.base.tables import Table
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite

Start = Callable[..., Tree]
"""A function of the problem, with its options as keywords, that returns x₀."""

STARTS: Table[Start] = Table("starts from data")
"""Starts by the types (map, sensing); subclasses are served too."""


def from_data(problem: Composite, *, rank: int | str = "auto", **options: Any) -> Tree:
    """A start from the problem's data alone, by the way that is known for its map and measurements.

    Parameters
    ----------
    problem : Composite
    rank : int or "auto"
        The number of factors, for the maps that have such.
    **options
        What the start takes beyond that: see its own documentation, such as `spectral`.

    Raises
    ------
    InputError
        If no start is known for problems of this kind.
    """
    start = find(problem)
    if start is None:
        raise InputError(
            given=f"no x0 for {problem.label}",
            needed="a start",
            missing="x0: from the data alone only " + "; ".join(_pairs()) + " can be started",
            advice="pass x0, of the shape of the variable; a least-squares fit is often near enough",
        )
    if "rank" in inspect.signature(start).parameters:
        options["rank"] = rank
    elif rank != "auto":
        raise InputError(
            given=f"rank={rank!r} for {problem.label}",
            needed="no rank: its start has none to choose",
            missing="a map with factors",
            advice="leave out rank",
        )
    return start(problem, **options)


def find(problem: Composite) -> Start | None:
    """The start registered for the problem's map and sensing, or for the nearest of their base classes."""
    kinds = product(type(problem.map).__mro__, type(problem.sensing).__mro__)
    return next((STARTS[kind] for kind in kinds if kind in STARTS), None)


def _pairs() -> list[str]:
    return [f"{sensing.__name__} of {c.__name__}" for c, sensing in STARTS]
