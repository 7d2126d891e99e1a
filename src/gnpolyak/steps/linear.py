"""The linear systems (JᵀJ + λI) s = g of a Gauss–Newton step, and who solves them: every solver is known here.

JᵀJ is singular by nature (XXᵀ does not change when X is rotated), so each solver gives the solution of minimum norm.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

from gnpolyak.base import trees
from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.krylov import KrylovSolution, conjugate_gradient, lsmr
from gnpolyak.base.modules import field
from gnpolyak.base.namespace import Array, Portable, each, eps_of
from gnpolyak.base.tables import Table
from gnpolyak.base.trees import Tree
from gnpolyak.oracles.base import Oracle
from gnpolyak.oracles.choice import LARGEST_DENSE_JACOBIAN, LARGEST_DENSE_VARIABLE
from gnpolyak.problem.capabilities import GRAM, GRAM_PINV, IMAGE, Capability
from gnpolyak.problem.composite import Composite, Point
from gnpolyak.steps.factors import Factors


class LinearSolver(Portable):
    """Solves (JᵀJ + λI) s = g in the minimum-norm sense, J = ∇c(x)."""

    needs: ClassVar[Capability] = GRAM
    """What the map has to offer."""
    iterative: ClassVar[bool] = False
    """Whether several right-hand sides cost several solves."""
    uniform: ClassVar[bool] = False
    """Whether it solves for the point's own subgradient as it does for others."""

    @abc.abstractmethod
    def solve(self, oracle: Oracle, point: Point, damping: Array | float) -> tuple[Tree, Any]:
        """The solution for the point's own subgradient, and the iterations it took (0 for a direct solver)."""

    @abc.abstractmethod
    def solve_many(self, oracle: Oracle, x: Tree, subgradients: Tree, damping: Array | float) -> Tree:
        """The solutions at x for subgradients of other points, stacked along a leading axis."""

    def suited(self, problem: Composite, x: Tree) -> LinearSolver:
        """The solver to use for this problem: itself, unless it leaves that open."""
        return self

    def check(self, problem: Composite, x: Tree) -> None:
        """Raise InputError when the problem lacks what this solver needs."""
        advice = "use solver='auto', which takes what the map offers"
        problem.map.require(self.needs, f"the linear solver {type(self).__name__}", advice)


class _OnImages(LinearSolver):
    """A solver that works on J itself, for measurements of an image that is formed."""

    needs: ClassVar[Capability] = IMAGE

    def check(self, problem: Composite, x: Tree) -> None:
        super().check(problem, x)
        if not problem.sensing.on_images:
            raise InputError(
                given=f"the linear solver {type(self).__name__} on {problem.label}",
                needed="measurements of an image that is formed",
                missing=f"the image: {problem.sensing.label} works on {problem.sensing.needs}",
                advice="use solver='auto', or solver='cg', which forms nothing",
            )


class Closed(LinearSolver):
    """The map's own closed form."""

    over_xp: ClassVar[bool] = True
    needs: ClassVar[Capability] = GRAM_PINV
    uniform: ClassVar[bool] = True

    def check(self, problem: Composite, x: Tree) -> None:
        super().check(problem, x)
        if problem.box is not None:
            raise InputError(
                given="the linear solver Closed together with bounds",
                needed="a solver that can leave out the columns of variables that are held at their bounds",
                missing="those of a closed form",
                advice="use solver='auto' or solver='cg'",
            )

    def solve(self, oracle: Oracle, point: Point, damping: Array | float) -> tuple[Tree, Any]:
        return oracle.metric(point.x, damping)(point.subgradient), 0

    def solve_many(self, oracle: Oracle, x: Tree, subgradients: Tree, damping: Array | float) -> Tree:
        # Of a g outside range(Jᵀ) it takes the gauge part out by averaging. Projecting g first is exact in theory,
        # and in practice loses the digits that matter where X is losing rank.
        return oracle.metrics(x, damping)(subgradients)


class _Iterative(LinearSolver):
    """A Krylov method.

    Parameters
    ----------
    rtol : float, optional
        Relative tolerance; near the rounding unit by default.
    max_steps : int, optional
        Most iterations; by default ten times the number of variables, at most 5,000.
    """

    rtol: float | None = field(static=True, default=None)
    max_steps: int | None = field(static=True, default=None)
    iterative: ClassVar[bool] = True

    def most_steps(self, x: Tree) -> int:
        """The limit on iterations for this variable."""
        return self.max_steps if self.max_steps is not None else min(10 * trees.size(x), 5000)

    def conjugate_gradient(self, oracle: Oracle, x: Tree, g: Tree, damping: Array | float) -> KrylovSolution:
        """CG on JᵀJ + λI, started at zero."""
        gram = oracle.gram(x)
        return conjugate_gradient(
            oracle.xp, lambda z: trees.add_scaled(gram(z), damping, z), g, max_steps=self.most_steps(x), rtol=self.rtol
        )

    def solve_many(self, oracle: Oracle, x: Tree, subgradients: Tree, damping: Array | float) -> Tree:
        """Solve for the part Pg in range(Jᵀ), in which the subgradient of another point need not lie.

        CG diverges on a singular system with a right-hand side outside its range, so Pg = (JᵀJ)†JᵀJg is found first.
        """

        def solve(g: Tree) -> Tree:
            inside = self.conjugate_gradient(oracle, x, oracle.gram(x)(g), 0.0).solution
            return self.conjugate_gradient(oracle, x, inside, damping).solution

        return each(oracle.xp, solve, subgradients)


class CG(_Iterative):
    """The paper's conjugate gradients on JᵀJ from zero, which need nothing but its action."""

    over_xp: ClassVar[bool] = True

    def solve(self, oracle: Oracle, point: Point, damping: Array | float) -> tuple[Tree, Any]:
        found = self.conjugate_gradient(oracle, point.x, point.subgradient, damping)
        return found.solution, found.iterations


class LSMR(_OnImages, _Iterative):
    """LSMR on J itself, which does not square its condition number.

    It needs Aᵀv. Where a fused oracle does not tell v, and for damped systems, CG serves in its place.
    """

    over_xp: ClassVar[bool] = True

    def solve(self, oracle: Oracle, point: Point, damping: Array | float) -> tuple[Tree, Any]:
        w = oracle.image_subgradient(point)
        # Damped systems are well enough conditioned for CG.
        if w is None or not (isinstance(damping, float) and damping == 0.0):
            return CG(self.rtol, self.max_steps).solve(oracle, point, damping)
        flat, unravel = oracle.ravel(point.x)
        image, formed = oracle.ravel(w)
        push, pull = oracle.slopes(point.x)
        found = lsmr(
            oracle.xp,
            lambda u: oracle.ravel(push(unravel(u)))[0],
            lambda v: oracle.ravel(pull(formed(v)))[0],
            image,
            max_steps=self.most_steps(point.x),
            rtol=10 * eps_of(flat.dtype) if self.rtol is None else self.rtol,
        )
        return unravel(found.solution), found.iterations


class Dense(_OnImages):
    """J formed, and factorised as QR; by its singular values where it has lost rank."""

    over_xp: ClassVar[bool] = True

    def solve(self, oracle: Oracle, point: Point, damping: Array | float) -> tuple[Tree, Any]:
        w = oracle.image_subgradient(point)
        factors = Factors.of(oracle, point.x, damping)
        _, unravel = oracle.ravel(point.x)
        if w is None:
            return unravel(factors.solve(oracle.ravel(point.subgradient)[0])), 0
        return unravel(factors.least_squares(oracle.ravel(w)[0])), 0

    def solve_many(self, oracle: Oracle, x: Tree, subgradients: Tree, damping: Array | float) -> Tree:
        factors = Factors.of(oracle, x, damping)
        _, unravel = oracle.ravel(x)
        return each(oracle.xp, lambda g: unravel(factors.solve(oracle.ravel(g)[0])), subgradients)


class Automatic(LinearSolver):
    """The closed form where the map has one, else dense up to 1,000 variables, else LSMR, and CG without an image."""

    rtol: float | None = field(static=True, default=None)
    max_steps: int | None = field(static=True, default=None)

    def suited(self, problem: Composite, x: Tree) -> LinearSolver:
        # A closed form is that of all columns of J: where some are held at their bounds it is none.
        if problem.map.has(GRAM_PINV) and problem.box is None:
            return Closed()
        if not problem.map.has(IMAGE) or not problem.sensing.on_images:
            return CG(self.rtol, self.max_steps)
        image = problem.map.image(x)
        small = trees.size(x) * image.size <= LARGEST_DENSE_JACOBIAN and trees.size(x) <= LARGEST_DENSE_VARIABLE
        return Dense() if small else LSMR(self.rtol, self.max_steps)

    def solve(self, oracle: Oracle, point: Point, damping: Array | float) -> tuple[Tree, Any]:
        return self.suited(oracle.problem, point.x).solve(oracle, point, damping)

    def solve_many(self, oracle: Oracle, x: Tree, subgradients: Tree, damping: Array | float) -> Tree:
        return self.suited(oracle.problem, x).solve_many(oracle, x, subgradients, damping)


SOLVERS: Table[Callable[[], LinearSolver]] = Table("linear solvers")
"""Linear solvers by the names that ``GNP(solver=...)`` takes."""
SOLVERS.update({"auto": Automatic, "closed": Closed, "cg": CG, "lsmr": LSMR, "dense": Dense})


def as_solver(solver: Any) -> LinearSolver:
    """A linear solver from its name or from itself."""
    if isinstance(solver, str) and solver in SOLVERS:
        solver = SOLVERS[solver]()
    if not isinstance(solver, LinearSolver):
        raise InputError(
            given=f"solver={shown(solver)}",
            needed=f"one of {', '.join(map(repr, SOLVERS))}, or a LinearSolver",
            missing="a known solver",
            advice="leave it at 'auto' if in doubt",
        )
    return solver


def configured(solver: LinearSolver, rtol: float | None, max_steps: int | None) -> LinearSolver:
    """The solver with these limits, where it has such and they are given."""
    names = {field.name for field in dataclasses.fields(solver)}
    given: dict[str, Any] = {"rtol": rtol, "max_steps": max_steps}
    return dataclasses.replace(solver, **{k: v for k, v in given.items() if v is not None and k in names})
