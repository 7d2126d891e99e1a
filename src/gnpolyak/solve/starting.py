"""Where a solve without an x0 starts."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax

from gnpolyak.base import trees
from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.numbers import is_whole
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.sharding import at_hand
from gnpolyak.starts import LARGER, STARTS, row_for

# Columns that a variable has at first where the rank is not known: a program is compiled for each number of them.
_ROOM = 8


def goes_by_factors(problem: Composite) -> bool:
    """Whether a solve from the data goes from rank to rank, since one look at them does not show all factors."""
    return row_for(STARTS, problem) is None and row_for(LARGER, problem) is not None


def larger_for(problem: Composite) -> Callable[[Tree], Tree | None] | None:
    """What gives a point with one factor more, where there is such a thing."""
    found = row_for(LARGER, problem)
    return None if found is None else lambda x: found(at_hand(problem), trees.on_host(x))


def start(problem: Composite, rank: int | str | tuple[int, ...]) -> Tree:
    """A start from the data alone, by the row for the problem's map and sensing."""
    problem = at_hand(problem)
    found = row_for(STARTS, problem)
    larger = row_for(LARGER, problem)
    if found is None and larger is not None:
        return _first(problem, larger, rank)
    if found is None:
        known = "; ".join(f"{sensing.__name__} of {c.__name__}" for c, sensing in {**STARTS, **LARGER})
        raise InputError(
            given=f"no x0 for {problem.label}" + ("" if rank == "auto" else f" (rank={shown(rank)} does not start it)"),
            needed="a start",
            missing=f"x0: from the data alone only these can be started: {known}",
            advice="pass x0, of the shape of the variable; a least-squares fit is often near enough",
        )
    if "rank" in inspect.signature(found).parameters:
        return found(problem, rank=rank)
    if rank != "auto":
        raise InputError(
            given=f"rank={shown(rank)} for {problem.label}",
            needed="no rank: its start has none to choose",
            missing="a map with factors",
            advice="leave out rank",
        )
    return found(problem)


def _first(problem: Composite, larger: Callable[..., Tree], rank: Any) -> Tree:
    """The first factor, and room for the others."""
    if rank != "auto" and not is_whole(rank, 1):
        raise InputError(
            given=f"rank={shown(rank)}",
            needed="a whole number of factors of at least 1, or 'auto'",
            missing="a valid rank",
            advice="leave it at 'auto' if it is not known",
        )
    first = larger(problem, None)
    most = min(leaf.shape[0] for leaf in jax.tree.leaves(first))
    wanted = min(_ROOM, most) if rank == "auto" else int(rank)
    if wanted > most:
        raise InputError(
            given=f"rank={rank} for {problem.label} of at most {most} columns",
            needed=f"a rank between 1 and {most}",
            missing="so many dimensions",
            advice="pass a smaller rank, or rank='auto'",
        )
    return trees.widened(first, wanted)
