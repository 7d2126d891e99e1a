"""The methods by name, and the one to use unless you compare methods."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import equinox as eqx
import numpy as np

from gnpolyak.base.errors import InputError
from gnpolyak.base.tables import Table
from gnpolyak.problem.capabilities import RESIDUALS
from gnpolyak.problem.composite import Composite
from gnpolyak.steps.graduated import Graduated
from gnpolyak.steps.linear import LinearSolver
from gnpolyak.steps.methods import GNP, LMM, Method, MetricMethod, Polyak, ScaledSM
from gnpolyak.steps.targets import Opening, Restart, Target


class Auto(GNP):
    """GNP with five cuts that damps itself where rank is being lost, then graduated Gauss–Newton steps to the end.

    The opening is global and cheap; it is over when it brings little more (`gnpolyak.steps.targets.Opening`). What ends
    the solve is `Graduated`, for penalties that are sums over residuals; for others the opening goes on. The paper's
    restarts, where they are asked for, are run with GNP alone.
    """

    name: ClassVar[str] = "auto"
    damping: ClassVar[str] = "auto"
    cuts: int | None = eqx.field(static=True, default=None, kw_only=True)

    def _cuts(self, solver: LinearSolver) -> int:
        # Each older cut costs two more inner solves: where those are iterative, that is more than it saves.
        return 1 if solver.iterative else 5

    def stages(self, problem: Composite, target: Target) -> tuple[tuple[Method, Target], ...]:
        if isinstance(target, Restart) or not problem.penalty.has(RESIDUALS):
            return ((self, target),)
        return (self, Opening(target, tol=target.tol)), (Graduated(), target)

    def fallback(self, problem: Composite, target: Target) -> tuple[tuple[Method, Target], ...]:
        # Where h is far from sharp an opening can do harm: it lowers the value, and spoils a few rows of a factor.
        return self.stages(problem, target)[1:]


METHODS: Table[type[Method]] = Table("methods")
"""The methods by the names that ``minimize(method="...")`` takes: adding one is a class and its place in this row."""
METHODS.update({method.name: method for method in (Auto, Graduated, GNP, LMM, ScaledSM, Polyak)})


def as_method(method: Any, cuts: Any = None) -> Method:
    """Return a configured method from a registered name or a method itself, with its number of cuts if one is given."""
    if isinstance(method, str) and method.lower() in METHODS:
        method = METHODS[method.lower()]()
    if not isinstance(method, Method):
        raise InputError(
            given=f"method={method!r}",
            needed=f"one of {', '.join(repr(name) for name in METHODS)}, or a configured method",
            missing="a known method",
            advice="leave it out for 'auto', or pass an object such as gnpolyak.GNP(solver='cg')",
        )
    if cuts is None:
        return method
    if not isinstance(method, MetricMethod):
        raise InputError(
            given=f"cuts={cuts!r} with the method {method.name!r}",
            needed="a method that takes cuts, one of the Polyak kind",
            missing="cuts: this one has none",
            advice="leave out cuts",
        )
    return dataclasses.replace(method, cuts=int(cuts) if isinstance(cuts, np.integer) else cuts)
