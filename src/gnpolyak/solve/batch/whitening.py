"""Which problems of a batch are solved in another variable."""

from __future__ import annotations

from collections.abc import Sequence

from gnpolyak.problem.composite import Composite


def whitened_together(problems: Sequence[Composite]) -> list[Composite]:
    """The problems in the variables in which their measurements treat all directions alike; each looked at once."""
    found: dict[int, Composite] = {}
    for each in problems:
        if id(each.sensing) not in found:
            found[id(each.sensing)] = each.whitened()
    return [_sensed(each, found[id(each.sensing)]) for each in problems]


def _sensed(problem: Composite, whitened: Composite) -> Composite:
    """The problem itself where its measurements are as they were."""
    if whitened.sensing is problem.sensing:
        return problem
    return Composite(problem.map, problem.penalty, whitened.sensing, problem.box)
