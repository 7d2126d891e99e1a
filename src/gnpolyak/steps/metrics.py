"""Metrics: what turns a subgradient g into a direction s = G(x)†g. A method is little more than its metric."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base import small, trees
from gnpolyak.base.errors import InputError
from gnpolyak.base.modules import field
from gnpolyak.base.namespace import Array, Portable, cond, eps_of
from gnpolyak.base.small import on_gpu
from gnpolyak.base.trees import Tree
from gnpolyak.oracles.base import Oracle
from gnpolyak.problem.capabilities import CURVATURE, RIGHT_GRAM
from gnpolyak.problem.composite import Composite, Point
from gnpolyak.steps.linear import LinearSolver

# Damping of a system that was not solved, in units of what its right-hand side meets: conjugate gradients then take
# some thousand steps whatever J is.
_SOLVABLE = 1e-5


class Direction(NamedTuple):
    """A direction and how it was found."""

    s: Tree
    """G†g."""
    decrement: Array
    """⟨g, s⟩, which is ‖Pv‖² for the Gauss–Newton metric."""
    inner_iterations: Array
    """Iterations of the inner linear solver, 0 for a direct one."""
    residual: Array
    """The true residual ‖Gs − g‖/‖g‖."""
    damping: Array
    """The λ in G = JᵀJ + λI; 0 for an undamped metric."""

    @property
    def solved(self) -> Array:
        """Whether the true residual is small enough to trust the direction; NaN is not."""
        largest = eps_of(self.residual.dtype) ** 0.4
        return (self.residual <= largest) & (self.decrement > 0) & trees.all_finite(self.s)

    @classmethod
    def of(
        cls, g: Tree, s: Tree, action: Callable[[Tree], Tree], iterations: Any = 0, damping: Array | float = 0.0
    ) -> Direction:
        """The direction s for a subgradient g in the metric z ↦ action(z)."""
        size = trees.norm(g)
        error = trees.norm(trees.subtract(action(s), g))
        return cls(
            s=s,
            decrement=trees.dot(g, s),
            inner_iterations=np.int32(iterations) if isinstance(iterations, int) else iterations.astype(np.int32),
            # Where g is zero, so is the error.
            residual=error / (size + (size == 0)),
            damping=0 * size + damping,
        )


class Metric(Portable):
    """A positive semidefinite G(x)."""

    @abc.abstractmethod
    def direction(self, oracle: Oracle, point: Point, gap: Array) -> Direction:
        """The direction s = G(x)†g at an evaluated point that lies `gap` above the level aimed at."""

    @abc.abstractmethod
    def directions(self, oracle: Oracle, x: Tree, subgradients: Tree, damping: Array) -> Tree:
        """The directions G(x)†g at x for subgradients g of other points, stacked along a leading axis."""

    def several(
        self, oracle: Oracle, point: Point, gap: Array, subgradients: Tree | None
    ) -> tuple[Direction, Tree | None]:
        """The `direction` at a point, and the `directions` for subgradients of which the first is its own, if any."""
        direction = self.direction(oracle, point, gap)
        if subgradients is None:
            return direction, None
        return direction, self.directions(oracle, point.x, subgradients, direction.damping)

    def check(self, problem: Composite, x: Tree) -> None:
        """Raise InputError when the problem lacks what this metric needs."""


class Euclidean(Metric):
    """G = I: the subgradient itself."""

    over_xp: ClassVar[bool] = True

    def direction(self, oracle: Oracle, point: Point, gap: Array) -> Direction:
        g = point.subgradient
        return Direction.of(g, g, lambda z: z)

    def directions(self, oracle: Oracle, x: Tree, subgradients: Tree, damping: Array) -> Tree:
        return subgradients


class RightGram(Metric):
    """ScaledSM's metric, Z ↦ Z (XᵀX), or Z ↦ Z (XᵀX + λI) with λ = gap/⟨g, s⟩^½, the distance to go in the image."""

    over_xp: ClassVar[bool] = True
    damped: bool = field(static=True, default=False)

    def direction(self, oracle: Oracle, point: Point, gap: Array) -> Direction:
        xp = self.xp
        plain = self._solve(oracle, point, xp.zeros_like(gap))
        if not self.damped:
            return plain
        # Where XᵀX is singular ⟨g, s⟩ is not a number, and ‖g‖²/‖XᵀX‖ bounds it from below.
        bound = trees.dot(point.subgradient, point.subgradient) / xp.linalg.norm(oracle.map.right_gram(point.x))
        decrement = xp.where(plain.decrement > bound, plain.decrement, bound)
        return self._solve(oracle, point, gap / xp.sqrt(decrement))

    def _solve(self, oracle: Oracle, point: Point, damping: Array) -> Direction:
        g, (gram, inverse) = point.subgradient, self._matrices(oracle, point.x, damping)
        xp = self.xp
        return Direction.of(g, small.times(xp, g, inverse), lambda z: small.times(xp, z, gram), damping=damping)

    def _matrices(self, oracle: Oracle, x: Tree, damping: Array) -> tuple[Array, Array]:
        gram = oracle.map.right_gram(x)
        gram = gram + damping * self.xp.eye(len(gram), dtype=x.dtype)
        # One r×r inverse and a product: triangular solves with d right-hand sides cost as much as an oracle call.
        return gram, small.inverse(self.xp, gram)

    def directions(self, oracle: Oracle, x: Tree, subgradients: Tree, damping: Array) -> Tree:
        return subgradients @ self._matrices(oracle, x, damping)[1]

    def check(self, problem: Composite, x: Tree) -> None:
        problem.map.require(RIGHT_GRAM, "ScaledSM", "use method='gnp', which runs on every map")
        if problem.box is not None:
            raise InputError(
                given="ScaledSM together with bounds",
                needed="a metric in which single numbers of the variable can be held",
                missing="one: ScaledSM's mixes the columns of every row",
                advice="use method='auto'",
            )


class GaussNewton(Metric):
    """G = JᵀJ with J = ∇c(x), inverted in the minimum-norm sense. Singular JᵀJ is the normal case.

    Parameters
    ----------
    solver : LinearSolver
        Who solves the systems.
    damping : {"never", "always", "auto"}
        Whether to use JᵀJ + λI instead. With ρ = gap/‖Pv‖ the distance to go in the image and L the curvature of c
        along s, λ = Lρ bounds the second-order term that the step neglects by ρ/8. ``"auto"`` damps a step only if it
        would neglect more than it accounts for, as happens where JᵀJ is losing rank, or if its system was not solved:
        the damped one is better conditioned.
    """

    over_xp: ClassVar[bool] = True
    solver: LinearSolver
    damping: str = field(static=True, default="never")

    def direction(self, oracle: Oracle, point: Point, gap: Array) -> Direction:
        plain = self._solve(oracle, point, 0.0)
        if self.damping == "never":
            return plain

        def damped() -> Direction:
            found = self._solve(oracle, point, _balanced_damping(oracle, point, plain, gap))
            return found._replace(inner_iterations=plain.inner_iterations + found.inner_iterations)

        if self.damping == "always":
            return damped()
        needed = ~plain.solved | _neglects_too_much(oracle, point, plain, gap)
        if self.xp is jnp and on_gpu() and not self.solver.iterative:
            # There a branch takes longer than a direct solve.
            return trees.select(needed, damped(), plain)
        return cond(self.xp, needed, damped, lambda: plain)

    def several(
        self, oracle: Oracle, point: Point, gap: Array, subgradients: Tree | None
    ) -> tuple[Direction, Tree | None]:
        together = self.xp is jnp and on_gpu() and self.solver.uniform
        if subgradients is None or self.damping != "auto" or not together:
            return super().several(oracle, point, gap, subgradients)
        # All at once, the point's own among them: on a GPU a second solve takes as long as all of these.
        plain = self._solve(oracle, point, 0.0)
        needed = ~plain.solved | _neglects_too_much(oracle, point, plain, gap)
        damping = jnp.where(needed, _balanced_damping(oracle, point, plain, gap), 0.0)
        found = self.directions(oracle, point.x, subgradients, damping)
        return self._judged(oracle, point, jax.tree.map(lambda leaf: leaf[0], found), 0, damping), found

    def _solve(self, oracle: Oracle, point: Point, damping: Array | float) -> Direction:
        return self._judged(oracle, point, *self.solver.solve(oracle, point, damping), damping)

    def _judged(self, oracle: Oracle, point: Point, s: Tree, iterations: Any, damping: Array | float) -> Direction:
        gram = oracle.gram(point.x)
        return Direction.of(point.subgradient, s, lambda z: trees.add_scaled(gram(z), damping, z), iterations, damping)

    def directions(self, oracle: Oracle, x: Tree, subgradients: Tree, damping: Array) -> Tree:
        return self.solver.solve_many(oracle, x, subgradients, damping)

    def check(self, problem: Composite, x: Tree) -> None:
        self.solver.check(problem, x)
        if self.damping != "never":
            problem.map.require(CURVATURE, "a damped Gauss–Newton step", "use method='gnp', which does not damp")


def _balanced_damping(oracle: Oracle, point: Point, plain: Direction, gap: Array) -> Array:
    """λ = Lρ, for the distance ρ = gap/‖Pv‖ to go in the image and the curvature L of c along s.

    A step of (JᵀJ + λI)⁻¹Jᵀ towards a point at distance ρ is at most ρ/(2√λ) long, so the second-order term that it
    neglects, ½L‖step‖², is then at most ρ/8: λ has the units of JᵀJ, vanishes with the gap, and needs no tuning.
    """
    xp, tiny = oracle.xp, jnp.finfo(gap.dtype).tiny
    size = trees.norm(plain.s)
    curvature = oracle.curvature(point.x, trees.scale(1.0 / xp.where(size > 0, size, 1.0), plain.s))
    balanced = curvature * gap / xp.sqrt(xp.maximum(plain.decrement, tiny))
    # Of a direction that was not found there is nothing to balance.
    g = point.subgradient
    met = trees.dot(g, oracle.gram(point.x)(g)) / xp.maximum(trees.dot(g, g), tiny)
    return xp.where(plain.solved, balanced, _SOLVABLE * met)


def _neglects_too_much(oracle: Oracle, point: Point, plain: Direction, gap: Array) -> Array:
    """Tell whether the undamped step neglects more in the image than it accounts for: rank is being lost."""
    gamma = gap / plain.decrement
    neglected = oracle.curvature(point.x, trees.scale(gamma, plain.s)) / 2
    # A direction that blew up compares false with everything.
    return ~(neglected <= gamma * oracle.xp.sqrt(plain.decrement))
