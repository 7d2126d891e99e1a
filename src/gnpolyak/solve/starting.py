"""Where a solve without an x0 starts."""

from __future__ import annotations

import inspect

from gnpolyak.base.errors import InputError
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.starts import STARTS, row_for


def start(problem: Composite, rank: int | str) -> Tree:
    """A start from the data alone, by the row for the problem's map and sensing."""
    found = row_for(STARTS, problem)
    if found is None:
        known = "; ".join(f"{sensing.__name__} of {c.__name__}" for c, sensing in STARTS)
        raise InputError(
            given=f"no x0 for {problem.label}",
            needed="a start",
            missing=f"x0: from the data alone only these can be started: {known}",
            advice="pass x0, of the shape of the variable; a least-squares fit is often near enough",
        )
    if "rank" in inspect.signature(found).parameters:
        return found(problem, rank=rank)
    if rank != "auto":
        raise InputError(
            given=f"rank={rank!r} for {problem.label}",
            needed="no rank: its start has none to choose",
            missing="a map with factors",
            advice="leave out rank",
        )
    return found(problem)
