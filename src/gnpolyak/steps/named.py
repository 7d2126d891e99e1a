"""The methods by name, and the one to use unless you compare methods."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.modules import field
from gnpolyak.base.tables import Table
from gnpolyak.problem.capabilities import RESIDUALS, TILT
from gnpolyak.problem.composite import Composite
from gnpolyak.steps.graduated import Graduated
from gnpolyak.steps.least_absolute import LeastAbsolute
from gnpolyak.steps.linear import LinearSolver
from gnpolyak.steps.methods import GNP, LMM, Method, MetricMethod, Polyak, ScaledSM, static
from gnpolyak.steps.status import UNPROVEN, Status
from gnpolyak.steps.targets import Opening, Restart, Target


class Auto(GNP):
    """GNP with five cuts that damps itself where rank is being lost, then graduated Gauss–Newton steps to the end.

    The opening is global and cheap; it is over when it brings little more (`gnpolyak.steps.targets.Opening`). What ends
    the solve is `Graduated`, for penalties that are sums over residuals; for others the opening goes on. Where the
    Jacobian is small enough to be formed, a graduated step costs two calls and an opening has nothing to save: there
    it is tried only if the graduated steps end without a certificate. There, too, quantiles are found by linearised
    problems that are solved to their end. The paper's restarts, where they are asked
    for, are run with GNP alone.
    """

    over_xp: ClassVar[bool] = True
    name: ClassVar[str] = "auto"
    damping: ClassVar[str] = "auto"
    assisted: ClassVar[bool] = True
    cuts: int | None = field(static=True, default=None, kw_only=True, converter=lambda cuts: static("cuts", cuts))

    def _cuts(self, solver: LinearSolver) -> int:
        # Each older cut costs two more inner solves: where those are iterative, that is more than it saves.
        return 1 if solver.iterative else 5

    def stages(self, problem: Composite, target: Target, forms: bool) -> tuple[tuple[Method, Target], ...]:
        if problem.penalty.has(TILT) and forms and not isinstance(target, Restart):
            return ((LeastAbsolute(), target),)
        if isinstance(target, Restart) or not problem.penalty.has(RESIDUALS):
            return ((self, target),)
        return self._ending(target) if forms else self._opening(target)

    def fallback(
        self, problem: Composite, target: Target, forms: bool, status: Status
    ) -> tuple[tuple[Method, Target], ...]:
        if problem.penalty.has(TILT) and forms and not isinstance(target, Restart):
            return ((self, target),) if status in UNPROVEN else ()
        if isinstance(target, Restart) or not problem.penalty.has(RESIDUALS):
            return ()
        if forms:
            return self._opening(target) if status in UNPROVEN else ()
        # Where h is far from sharp an opening can do harm: it lowers the value, and spoils a few rows of a factor.
        return self._ending(target) if status in {*UNPROVEN, Status.NOISE} else ()

    def _opening(self, target: Target) -> tuple[tuple[Method, Target], ...]:
        return (self, Opening(target, tol=target.tol)), (Graduated(), target)

    def _ending(self, target: Target) -> tuple[tuple[Method, Target], ...]:
        return ((Graduated(), target),)


METHODS: Table[type[Method]] = Table("methods")
"""The methods by the names that ``minimize(method="...")`` takes: adding one is a class and its place in this row."""
METHODS.update({method.name: method for method in (Auto, Graduated, GNP, LMM, ScaledSM, Polyak)})


def as_method(method: Any, cuts: Any = None) -> Method:
    """Return a configured method from a registered name or a method itself, with its number of cuts if one is given."""
    if isinstance(method, str) and method.lower() in METHODS:
        method = METHODS[method.lower()]()
    if not isinstance(method, Method):
        raise InputError(
            given=f"method={shown(method)}",
            needed=f"one of {', '.join(repr(name) for name in METHODS)}, or a configured method",
            missing="a known method",
            advice="leave it out for 'auto', or pass an object such as gnpolyak.GNP(solver='cg')",
        )
    if cuts is None:
        return method
    if not isinstance(method, MetricMethod):
        raise InputError(
            given=f"cuts={shown(cuts)} with the method {method.name!r}",
            needed="a method that takes cuts, one of the Polyak kind",
            missing="cuts: this one has none",
            advice="leave out cuts",
        )
    return dataclasses.replace(method, cuts=cuts)
