"""Which problems of a batch are solved in another variable."""

from __future__ import annotations

from collections.abc import Sequence

from gnpolyak.problem.composite import Composite
from gnpolyak.problem.sensing import PowerSensing, Sensing
from gnpolyak.problem.sensing.isotropy import alike


class Whitening:
    """Puts problems into the variables in which their measurements treat all directions alike.

    Measurements that all of them share are looked at once; others where the problems are solved.
    """

    def __init__(self, problems: Sequence[Composite]) -> None:
        shared = all(each.sensing is problems[0].sensing for each in problems)
        self._found: Sensing | None = problems[0].whitened().sensing if shared else None

    def of(self, problems: Sequence[Composite]) -> list[Composite]:
        """Some of the problems, in those variables."""
        if self._found is not None:
            return [_sensed(each, self._found) for each in problems]
        stays = _isotropic(problems)
        pairs = zip(problems, stays, strict=True)
        return [each if stay else _sensed(each, each.whitened().sensing) for each, stay in pairs]


def _isotropic(problems: Sequence[Composite]) -> Sequence[bool]:
    """Which measurements stay as they are, told for all at once where they are power measurements of one shape."""
    rows = [each.sensing.rows() for each in problems if type(each.sensing) is PowerSensing]
    return alike(rows).tolist() if len(rows) == len(problems) else [False] * len(problems)


def _sensed(problem: Composite, sensing: Sensing) -> Composite:
    """The problem itself where its measurements are as they were."""
    if sensing is problem.sensing:
        return problem
    return Composite(problem.map, problem.penalty, sensing, problem.box)
