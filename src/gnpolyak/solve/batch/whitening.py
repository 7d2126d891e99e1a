"""Which problems of a batch are solved in another variable."""

from __future__ import annotations

from collections.abc import Sequence

from gnpolyak.problem.composite import Composite
from gnpolyak.problem.sensing import PowerSensing
from gnpolyak.problem.sensing.isotropy import alike


def whitened_together(problems: Sequence[Composite]) -> list[Composite]:
    """The problems in the variables in which their measurements treat all directions alike; each looked at once."""
    distinct = {id(each.sensing): each for each in problems}
    settled = _isotropic(list(distinct.values()))
    found = {key: each if key in settled else each.whitened() for key, each in distinct.items()}
    return [_sensed(each, found[id(each.sensing)]) for each in problems]


def _isotropic(problems: list[Composite]) -> set[int]:
    """The sensings that stay as they are, told for all at once where they are power measurements of one shape."""
    if len(problems) == 1 or not all(type(each.sensing) is PowerSensing for each in problems):
        return set()
    # By way of the class: a method of a module's object is an object too, and takes longer to make than this.
    stays = alike([PowerSensing.rows(each.sensing) for each in problems if isinstance(each.sensing, PowerSensing)])
    return {id(each.sensing) for each, stay in zip(problems, stays, strict=True) if stay}


def _sensed(problem: Composite, whitened: Composite) -> Composite:
    """The problem itself where its measurements are as they were."""
    if whitened.sensing is problem.sensing:
        return problem
    return Composite(problem.map, problem.penalty, whitened.sensing, problem.box)
