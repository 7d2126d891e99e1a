"""Methods: a metric and a step fraction, under the name the literature uses."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Hashable
from typing import Any, ClassVar

import numpy as np

from gnpolyak.base import trees
from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.modules import field
from gnpolyak.base.namespace import Array
from gnpolyak.base.numbers import COUNTABLE, counted, is_real, is_whole, require_flag, require_positive, require_whole
from gnpolyak.base.trees import Tree
from gnpolyak.oracles.base import Oracle
from gnpolyak.problem.composite import Composite, Point
from gnpolyak.steps import cuts as bundles
from gnpolyak.steps.linear import Automatic, LinearSolver, as_solver, configured
from gnpolyak.steps.method import Memory, Method, Outlook, Proposal
from gnpolyak.steps.metrics import Direction, Euclidean, GaussNewton, Metric, RightGram

__all__ = [
    "GNP",
    "LMM",
    "MOST_CUTS",
    "Memory",
    "Method",
    "MetricMethod",
    "Outlook",
    "Polyak",
    "Proposal",
    "ScaledSM",
    "static",
]

MOST_CUTS = 10


def static(name: str, value: Any) -> Any:
    """A setting that programs are known by, and that therefore is one number; `check` says which."""
    if getattr(value, "ndim", 0) or not isinstance(value, Hashable):
        raise InputError(
            given=f"{name}={shown(value)}",
            needed="one number, or None",
            missing="a single value",
            advice=f"leave {name} out for its default",
        )
    return value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value


class MetricMethod(Method):
    """x ← x − θ (f − target)/⟨g, s⟩ s with s = G(x)†g, for the metric G that a subclass names.

    Parameters
    ----------
    fraction : float, optional
        θ in [½, 1]; by default what the target rule prescribes (1 for a known optimum, ½ for restarts).
    cuts : int, optional
        How many of the last points' cuts a step has to satisfy, 1 to 10. One is the method of the literature; None
        leaves the number to the method.
    """

    fraction: float | None = field(default=None, kw_only=True)
    cuts: int | None = field(static=True, default=1, kw_only=True, converter=lambda cuts: static("cuts", cuts))

    @property
    @abc.abstractmethod
    def metric(self) -> Metric:
        """G."""

    def init(self, oracle: Oracle, start: Point, seen: Any) -> bundles.Bundle | None:
        return bundles.begin(self.xp, self.cuts, start) if self.cuts is not None and self.cuts > 1 else None

    def propose(self, oracle: Oracle, point: Point, memory: Memory, outlook: Outlook) -> Proposal:
        oracle, point = _inside(oracle, point)
        bundle = None if memory is None else bundles.from_here(self.xp, memory, point)
        gradients = None if bundle is None else bundle.cuts.subgradient
        metric = self.metric.using(self.xp) if self.xp is np else self.metric
        direction, several = metric.several(oracle, point, outlook.gap, gradients)
        theta = outlook.fraction if self.fraction is None else self.fraction
        x, gamma = self._move(point, bundle, theta * outlook.gap, direction, several)
        return Proposal(x, memory, gamma, direction.inner_iterations, direction.residual, direction.solved)

    def follow(
        self, oracle: Oracle, memory: bundles.Bundle | None, before: Point, point: Point, seen: Any
    ) -> tuple[bundles.Bundle | None, Point]:
        return None if memory is None else bundles.push(self.xp, memory, point), point

    def _move(
        self, point: Point, bundle: bundles.Bundle | None, gap: Array, direction: Direction, directions: Tree
    ) -> tuple[Tree, Array]:
        """Where the step leads, and its size."""
        gamma = gap / direction.decrement
        single = trees.add_scaled(point.x, -gamma, direction.s)
        if bundle is None:
            return single, gamma
        step, total, sound = bundles.displacement(self.xp, bundle, directions, gap)
        several = trees.subtract(point.x, step)
        return trees.select(sound, several, single), self.xp.where(sound, total, gamma)

    def suited(self, problem: Composite, x: Tree) -> MetricMethod:
        return self if self.cuts is not None else dataclasses.replace(self, cuts=1)

    def check(self, problem: Composite, x: Tree) -> None:
        if self.fraction is not None and not (is_real(self.fraction) and 0.5 <= self.fraction <= 1.0):
            raise InputError(
                given=f"fraction={shown(self.fraction)}",
                needed="a step fraction between 1/2 and 1",
                missing="a step the convergence theorem covers",
                advice="leave it at None for the target rule's own choice",
            )
        if self.cuts is not None and not (is_whole(self.cuts, 1) and self.cuts <= MOST_CUTS):
            raise InputError(
                given=f"cuts={shown(self.cuts)}",
                needed=f"a whole number of cuts from 1 to {MOST_CUTS}",
                missing="a valid number",
                advice="use cuts=5, or cuts=1 for the method as the literature has it",
            )
        self.metric.check(problem, x)

    @property
    def breadth(self) -> int:
        return self.cuts or 1

    @property
    def label(self) -> str:
        return f"{self.name} ({counted(self.cuts or 1, 'cut')})"


def _inside(oracle: Oracle, point: Point) -> tuple[Oracle, Point]:
    """The problem and the point as a subgradient step inside the box sees them.

    Variables at a bound that a step against the subgradient would lead through are held: J is without their columns,
    and the subgradient without their entries.
    """
    if oracle.box is None:
        return oracle, point
    free = oracle.box.free(point.x, trees.scale(-1.0, point.subgradient))
    return oracle.holding(free), point._replace(subgradient=trees.masked(oracle.xp, free, point.subgradient))


class Polyak(MetricMethod):
    """The subgradient method with Polyak's step, G = I. Its rate depends on the conditioning of c."""

    over_xp: ClassVar[bool] = True
    name: ClassVar[str] = "polyak"

    @property
    def metric(self) -> Metric:
        return Euclidean()


class ScaledSM(MetricMethod):
    """The scaled subgradient method, s = G (XᵀX)⁻¹, for maps with a right Gram.

    Parameters
    ----------
    damped : bool
        Use G (XᵀX + λI)⁻¹ with λ the distance to go in the image, for ranks that are too large.
    """

    over_xp: ClassVar[bool] = True
    name: ClassVar[str] = "scaledsm"
    damped: bool = field(static=True, default=False, converter=lambda damped: require_flag("damped", damped))

    @property
    def metric(self) -> Metric:
        return RightGram(self.damped)


class GNP(MetricMethod):
    """Gauss–Newton–Polyak, s = J†v (the paper's Algorithm 1). Its rate depends only on h along the image of c.

    Parameters
    ----------
    solver : {"auto", "closed", "cg", "lsmr", "dense"} or LinearSolver
        ``"closed"`` uses the map's own closed form; ``"cg"`` the paper's conjugate gradients on JᵀJ from zero;
        ``"lsmr"`` LSMR on J, which does not square its condition number; ``"dense"`` forms J and factorises it.
        ``"auto"`` takes the closed form where there is one, else dense up to 1,000 variables, else LSMR.
    rtol : float, optional
        Relative tolerance of the iterative solvers; near the rounding unit by default.
    max_inner : int, optional
        Most iterations of the iterative solvers; by default ten times the number of variables, at most 5,000.
    fraction, cuts
        As for `MetricMethod`.
    """

    over_xp: ClassVar[bool] = True
    name: ClassVar[str] = "gnp"
    solver: LinearSolver | str = field(converter=as_solver, default_factory=Automatic)
    rtol: float | None = field(static=True, default=None, converter=lambda rtol: static("rtol", rtol))
    max_inner: int | None = field(static=True, default=None, converter=lambda most: static("max_inner", most))

    damping: ClassVar[str] = "never"

    @property
    def metric(self) -> Metric:
        return GaussNewton(self._configured(), self.damping)

    def _configured(self) -> LinearSolver:
        return configured(as_solver(self.solver), self.rtol, self.max_inner)

    def suited(self, problem: Composite, x: Tree) -> GNP:
        solver = self._configured().suited(problem, x)
        return dataclasses.replace(self, solver=solver, cuts=self._cuts(solver) if self.cuts is None else self.cuts)

    def _cuts(self, solver: LinearSolver) -> int:
        return 1

    def check(self, problem: Composite, x: Tree) -> None:
        if self.max_inner is not None:
            advice = "leave it out for ten times the number of variables"
            require_whole("max_inner", self.max_inner, 1, advice, most=COUNTABLE)
        if self.rtol is not None and not 0 < require_positive("rtol", self.rtol, "leave rtol out") < 1:
            raise InputError(
                given=f"rtol={shown(self.rtol)}",
                needed="a relative tolerance between 0 and 1",
                missing="a system that is solved to some digits",
                advice="leave rtol out for a tolerance near the rounding unit",
            )
        super().check(problem, x)


class LMM(GNP):
    """Damped Gauss–Newton–Polyak, s = (JᵀJ + λI)⁻¹Jᵀv, with λ tied to the gap: for ranks that are too large.

    See `gnpolyak.steps.metrics.GaussNewton` for λ, which has no constant to tune.
    """

    over_xp: ClassVar[bool] = True
    name: ClassVar[str] = "lmm"
    damping: ClassVar[str] = "always"
