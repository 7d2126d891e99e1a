"""Metrics: what turns a subgradient g into a direction s = G(x)†g. A method is little more than its metric."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array, lax

from gnpolyak.base import small, trees
from gnpolyak.base.errors import InputError
from gnpolyak.base.modules import Module
from gnpolyak.base.small import on_gpu
from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import CURVATURE, RIGHT_GRAM
from gnpolyak.problem.composite import Composite, Point
from gnpolyak.steps.linear import LinearSolver

# Damping of a system that was not solved, in units of what its right-hand side meets: conjugate gradients then take
# some thousand steps whatever J is.
_SOLVABLE = 1e-5


class Direction(Module):
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
        largest = float(jnp.finfo(self.residual.dtype).eps) ** 0.4
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
            inner_iterations=jnp.asarray(iterations, jnp.int32),
            residual=error / jnp.where(size > 0, size, 1.0),
            damping=jnp.asarray(damping, size.dtype),
        )


class Metric(Module):
    """A positive semidefinite G(x)."""

    @abc.abstractmethod
    def direction(self, problem: Composite, point: Point, gap: Array) -> Direction:
        """The direction s = G(x)†g at an evaluated point that lies `gap` above the level aimed at."""

    @abc.abstractmethod
    def directions(self, problem: Composite, x: Tree, subgradients: Tree, damping: Array) -> Tree:
        """The directions G(x)†g at x for subgradients g of other points, stacked along a leading axis."""

    def several(
        self, problem: Composite, point: Point, gap: Array, subgradients: Tree | None
    ) -> tuple[Direction, Tree | None]:
        """The `direction` at a point, and the `directions` for subgradients of which the first is its own, if any."""
        direction = self.direction(problem, point, gap)
        if subgradients is None:
            return direction, None
        return direction, self.directions(problem, point.x, subgradients, direction.damping)

    def check(self, problem: Composite, x: Tree) -> None:
        """Raise InputError when the problem lacks what this metric needs."""


class Euclidean(Metric):
    """G = I: the subgradient itself."""

    def direction(self, problem: Composite, point: Point, gap: Array) -> Direction:
        g = point.subgradient
        return Direction.of(g, g, lambda z: z)

    def directions(self, problem: Composite, x: Tree, subgradients: Tree, damping: Array) -> Tree:
        return subgradients


class RightGram(Metric):
    """ScaledSM's metric, Z ↦ Z (XᵀX), or Z ↦ Z (XᵀX + λI) with λ = gap/⟨g, s⟩^½, the distance to go in the image."""

    damped: bool = eqx.field(static=True, default=False)

    def direction(self, problem: Composite, point: Point, gap: Array) -> Direction:
        plain = self._solve(problem, point, jnp.zeros_like(gap))
        if not self.damped:
            return plain
        # Where XᵀX is singular ⟨g, s⟩ is not a number, and ‖g‖²/‖XᵀX‖ bounds it from below.
        bound = trees.dot(point.subgradient, point.subgradient) / jnp.linalg.norm(problem.map.right_gram(point.x))
        decrement = jnp.where(plain.decrement > bound, plain.decrement, bound)
        return self._solve(problem, point, gap / jnp.sqrt(decrement))

    def _solve(self, problem: Composite, point: Point, damping: Array) -> Direction:
        g, (gram, inverse) = point.subgradient, self._matrices(problem, point.x, damping)
        return Direction.of(g, small.times(jnp, g, inverse), lambda z: small.times(jnp, z, gram), damping=damping)

    def _matrices(self, problem: Composite, x: Tree, damping: Array) -> tuple[Array, Array]:
        gram = problem.map.right_gram(x)
        gram = gram + damping * jnp.eye(len(gram), dtype=x.dtype)
        # One r×r inverse and a product: triangular solves with d right-hand sides cost as much as an oracle call.
        return gram, small.inverse(jnp, gram)

    def directions(self, problem: Composite, x: Tree, subgradients: Tree, damping: Array) -> Tree:
        return subgradients @ self._matrices(problem, x, damping)[1]

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

    solver: LinearSolver
    damping: str = eqx.field(static=True, default="never")

    def direction(self, problem: Composite, point: Point, gap: Array) -> Direction:
        plain = self._solve(problem, point, 0.0)
        if self.damping == "never":
            return plain

        def damped() -> Direction:
            found = self._solve(problem, point, _balanced_damping(problem, point, plain, gap))
            both = plain.inner_iterations + found.inner_iterations
            return eqx.tree_at(lambda d: d.inner_iterations, found, both)

        if self.damping == "always":
            return damped()
        needed = ~plain.solved | _neglects_too_much(problem, point, plain, gap)
        if on_gpu() and not self.solver.iterative:
            # There a branch takes longer than a direct solve.
            return trees.select(needed, damped(), plain)
        return lax.cond(needed, damped, lambda: plain)

    def several(
        self, problem: Composite, point: Point, gap: Array, subgradients: Tree | None
    ) -> tuple[Direction, Tree | None]:
        if subgradients is None or self.damping != "auto" or not (on_gpu() and self.solver.uniform):
            return super().several(problem, point, gap, subgradients)
        # All at once, the point's own among them: on a GPU a second solve takes as long as all of these.
        plain = self._solve(problem, point, 0.0)
        needed = ~plain.solved | _neglects_too_much(problem, point, plain, gap)
        damping = jnp.where(needed, _balanced_damping(problem, point, plain, gap), 0.0)
        found = self.directions(problem, point.x, subgradients, damping)
        return self._judged(problem, point, jax.tree.map(lambda leaf: leaf[0], found), 0, damping), found

    def _solve(self, problem: Composite, point: Point, damping: Array | float) -> Direction:
        return self._judged(problem, point, *self.solver.solve(problem, point, damping), damping)

    def _judged(self, problem: Composite, point: Point, s: Tree, iterations: Any, damping: Array | float) -> Direction:
        gram = problem.map.gram(point.x)
        return Direction.of(point.subgradient, s, lambda z: trees.add_scaled(gram(z), damping, z), iterations, damping)

    def directions(self, problem: Composite, x: Tree, subgradients: Tree, damping: Array) -> Tree:
        return self.solver.solve_many(problem, x, subgradients, damping)

    def check(self, problem: Composite, x: Tree) -> None:
        self.solver.check(problem, x)
        if self.damping != "never":
            problem.map.require(CURVATURE, "a damped Gauss–Newton step", "use method='gnp', which does not damp")


def _balanced_damping(problem: Composite, point: Point, plain: Direction, gap: Array) -> Array:
    """λ = Lρ, for the distance ρ = gap/‖Pv‖ to go in the image and the curvature L of c along s.

    A step of (JᵀJ + λI)⁻¹Jᵀ towards a point at distance ρ is at most ρ/(2√λ) long, so the second-order term that it
    neglects, ½L‖step‖², is then at most ρ/8: λ has the units of JᵀJ, vanishes with the gap, and needs no tuning.
    """
    size = trees.norm(plain.s)
    curvature = problem.map.curvature(point.x, trees.scale(1.0 / jnp.where(size > 0, size, 1.0), plain.s))
    balanced = curvature * gap / jnp.sqrt(jnp.maximum(plain.decrement, jnp.finfo(gap.dtype).tiny))
    # Of a direction that was not found there is nothing to balance.
    g = point.subgradient
    met = trees.dot(g, problem.map.gram(point.x)(g)) / jnp.maximum(trees.dot(g, g), jnp.finfo(gap.dtype).tiny)
    return jnp.where(plain.solved, balanced, _SOLVABLE * met)


def _neglects_too_much(problem: Composite, point: Point, plain: Direction, gap: Array) -> Array:
    """Tell whether the undamped step neglects more in the image than it accounts for: rank is being lost."""
    gamma = gap / plain.decrement
    neglected = problem.map.curvature(point.x, trees.scale(gamma, plain.s)) / 2
    # A direction that blew up compares false with everything.
    return ~(neglected <= gamma * jnp.sqrt(plain.decrement))
