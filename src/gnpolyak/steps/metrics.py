"""Metrics: what turns a subgradient g into a direction s = G(x)†g. A method is little more than its metric."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import lineax as lx
from jax import Array, lax
from jax.flatten_util import ravel_pytree

from gnpolyak.base import trees
from gnpolyak.base.errors import InputError
from gnpolyak.base.krylov import KrylovSolution, conjugate_gradient
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite, Point

# Up to this many variables the Jacobian of an autodiff map is formed and factorised: as cheap as LSMR, and exact.
_LARGEST_DENSE_VARIABLE = 64


class Direction(eqx.Module):
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


class Metric(eqx.Module):
    """A positive semidefinite G(x)."""

    @abc.abstractmethod
    def direction(self, problem: Composite, point: Point, gap: Array) -> Direction:
        """The direction s = G(x)†g at an evaluated point that lies `gap` above the level aimed at."""

    @abc.abstractmethod
    def spread(self, problem: Composite, x: Tree, subgradients: Tree, damping: Array) -> Tree:
        """The directions G(x)†g for subgradients g of other points, stacked along a leading axis."""

    def check(self, problem: Composite, x: Tree) -> None:
        """Raise InputError when the problem lacks what this metric needs."""


class Euclidean(Metric):
    """G = I: the subgradient itself."""

    def direction(self, problem: Composite, point: Point, gap: Array) -> Direction:
        g = point.subgradient
        return _direction(g, g, lambda z: z)

    def spread(self, problem: Composite, x: Tree, subgradients: Tree, damping: Array) -> Tree:
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
        return _direction(g, g @ inverse, lambda z: z @ gram, damping=damping)

    def _matrices(self, problem: Composite, x: Tree, damping: Array) -> tuple[Array, Array]:
        gram = problem.map.right_gram(x)
        gram = gram + damping * jnp.eye(len(gram), dtype=x.dtype)
        # One r×r inverse and a product: triangular solves with d right-hand sides cost as much as an oracle call.
        return gram, jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(gram), jnp.eye(len(gram), dtype=x.dtype))

    def spread(self, problem: Composite, x: Tree, subgradients: Tree, damping: Array) -> Tree:
        return subgradients @ self._matrices(problem, x, damping)[1]

    def check(self, problem: Composite, x: Tree) -> None:
        if "right_gram" not in problem.offers:
            raise InputError(
                given=f"ScaledSM on {problem.map.label}",
                needed="a map with a right Gram (SymmetricCP with n=2)",
                missing=f"a right Gram: {problem.map.label} has none",
                advice="use method='gnp'",
            )


class GaussNewton(Metric):
    """G = JᵀJ with J = ∇c(x), inverted in the minimum-norm sense. Singular JᵀJ is the normal case.

    Parameters
    ----------
    solver : {"auto", "closed", "cg", "lsmr", "dense"}
        ``"closed"`` uses the map's own closed form; ``"cg"`` the paper's conjugate gradients on JᵀJ from zero;
        ``"lsmr"`` LSMR on J, which does not square its condition number; ``"dense"`` forms J and takes its
        singular values. ``"auto"`` takes the closed form where there is one, else dense up to 64 variables, else
        LSMR.
    rtol : float, optional
        Relative tolerance of the iterative solvers; near the rounding unit by default.
    max_inner : int, optional
        Most iterations of the iterative solvers; by default ten times the number of variables, at most 5,000.
    damping : {"never", "always", "auto"}
        Whether to use JᵀJ + λI instead. With ρ = gap/‖Pv‖ the distance to go in the image and L the curvature of c
        along s, λ = Lρ bounds the second-order term that the step neglects by ρ/8. ``"auto"`` damps a step only if it
        would neglect more than it accounts for, as happens where JᵀJ is losing rank.
    """

    solver: str = eqx.field(static=True, default="auto")
    rtol: float | None = eqx.field(static=True, default=None)
    max_inner: int | None = eqx.field(static=True, default=None)
    damping: str = eqx.field(static=True, default="never")

    def direction(self, problem: Composite, point: Point, gap: Array) -> Direction:
        plain = self._solve(problem, point, None)
        if self.damping == "never":
            return plain

        def damped() -> Direction:
            found = self._solve(problem, point, _balanced_damping(problem, point, plain, gap))
            both = plain.inner_iterations + found.inner_iterations
            return eqx.tree_at(lambda d: d.inner_iterations, found, both)

        if self.damping == "always":
            return damped()
        return lax.cond(_neglects_too_much(problem, point, plain, gap), damped, lambda: plain)

    def _solve(self, problem: Composite, point: Point, damping: Array | None) -> Direction:
        solve = _SOLVERS[self._resolve(problem, point.x)].solve
        s, iterations = solve(self, problem, point, damping)
        gram, amount = problem.map.gram(point.x), 0.0 if damping is None else damping
        return _direction(point.subgradient, s, lambda z: trees.add_scaled(gram(z), amount, z), iterations, amount)

    def spread(self, problem: Composite, x: Tree, subgradients: Tree, damping: Array) -> Tree:
        name = self._resolve(problem, x)
        if name == "closed":
            # Of a g outside range(Jᵀ) it takes the gauge part out by averaging. Projecting g first is exact in theory,
            # and in practice loses the digits that matter where X is losing rank.
            return jax.vmap(lambda g: problem.map.gram_pinv(x, g, damping))(subgradients)
        if name == "dense":
            return _dense_spread(problem, x, subgradients, damping)
        # LSMR needs v itself, which belongs to another point; of the two Krylov methods only CG works from g.
        return jax.vmap(lambda g: _projected_cg(self, problem, x, g, damping))(subgradients)

    def check(self, problem: Composite, x: Tree) -> None:
        if self.solver != "auto" and self.solver not in _SOLVERS:
            raise InputError(
                given=f"solver={self.solver!r}",
                needed=f"one of {', '.join(repr(name) for name in ('auto', *_SOLVERS))}",
                missing="a known solver",
                advice="leave it at 'auto' if in doubt",
            )
        if self.max_inner is not None and not (isinstance(self.max_inner, int) and self.max_inner >= 1):
            raise InputError(
                given=f"max_inner={self.max_inner!r}",
                needed="a whole number of at least 1",
                missing="a valid limit",
                advice="leave it out for ten times the number of variables",
            )
        name = self._resolve(problem, x)
        needs = _SOLVERS[name].needs
        if needs is not None and needs not in problem.offers:
            raise InputError(
                given=f"solver={name!r} on {problem.label}",
                needed=f"a problem that offers {needs!r}",
                missing=f"{needs!r}: this one offers {', '.join(sorted(problem.offers)) or 'nothing optional'}",
                advice="use solver='auto', or solver='cg', which every problem supports",
            )

    def is_iterative(self, problem: Composite, x: Tree) -> bool:
        """Whether directions here come from an iterative solver."""
        return self._resolve(problem, x) in ("cg", "lsmr")

    def _resolve(self, problem: Composite, x: Tree) -> str:
        if self.solver != "auto":
            return self.solver
        if "gram_pinv" in problem.offers:
            return "closed"
        if "image" not in problem.offers:
            return "cg"
        return "dense" if _size(x) <= _LARGEST_DENSE_VARIABLE else "lsmr"

    def _max_steps(self, x: Tree) -> int:
        return self.max_inner if self.max_inner is not None else min(10 * _size(x), 5000)


def _balanced_damping(problem: Composite, point: Point, plain: Direction, gap: Array) -> Array:
    """λ = Lρ, for the distance ρ = gap/‖Pv‖ to go in the image and the curvature L of c along s.

    A step of (JᵀJ + λI)⁻¹Jᵀ towards a point at distance ρ is at most ρ/(2√λ) long, so the second-order term that it
    neglects, ½L‖step‖², is then at most ρ/8: λ has the units of JᵀJ, vanishes with the gap, and needs no tuning.
    """
    size = trees.norm(plain.s)
    curvature = problem.map.curvature(point.x, trees.scale(1.0 / jnp.where(size > 0, size, 1.0), plain.s))
    return curvature * gap / jnp.sqrt(jnp.maximum(plain.decrement, jnp.finfo(gap.dtype).tiny))


def _neglects_too_much(problem: Composite, point: Point, plain: Direction, gap: Array) -> Array:
    """Tell whether the undamped step neglects more in the image than it accounts for: rank is being lost."""
    gamma = gap / plain.decrement
    neglected = problem.map.curvature(point.x, trees.scale(gamma, plain.s)) / 2
    # A direction that blew up compares false with everything.
    return ~(neglected <= gamma * jnp.sqrt(plain.decrement))


def _closed(metric: GaussNewton, problem: Composite, point: Point, damping: Array | None) -> tuple[Tree, Any]:
    return problem.map.gram_pinv(point.x, point.subgradient, 0.0 if damping is None else damping), 0


def _cg(metric: GaussNewton, problem: Composite, point: Point, damping: Array | None) -> tuple[Tree, Any]:
    found = _damped_cg(metric, problem, point.x, point.subgradient, 0.0 if damping is None else damping)
    return found.solution, found.iterations


def _projected_cg(metric: GaussNewton, problem: Composite, x: Tree, g: Tree, damping: Array) -> Tree:
    """(JᵀJ + λI)†Pg for the projection P on range(Jᵀ), in which the subgradient of another point need not lie.

    CG diverges on a singular system with such a right-hand side, so Pg = (JᵀJ)†JᵀJg is found first.
    """
    inside = _damped_cg(metric, problem, x, problem.map.gram(x)(g), 0.0).solution
    return _damped_cg(metric, problem, x, inside, damping).solution


def _damped_cg(metric: GaussNewton, problem: Composite, x: Tree, g: Tree, damping: Array | float) -> KrylovSolution:
    gram = problem.map.gram(x)
    return conjugate_gradient(
        lambda z: trees.add_scaled(gram(z), damping, z), g, max_steps=metric._max_steps(x), rtol=metric.rtol
    )


def _lsmr(metric: GaussNewton, problem: Composite, point: Point, damping: Array | None) -> tuple[Tree, Any]:
    if damping is not None:
        # lineax's LSMR takes no damping; damped systems are well enough conditioned for CG.
        return _cg(metric, problem, point, damping)
    push, _ = problem.map.linearize(point.x)
    operator = lx.FunctionLinearOperator(push, jax.eval_shape(lambda: point.x))
    eps = float(jnp.finfo(point.value.dtype).eps)
    solver = lx.LSMR(
        rtol=10 * eps if metric.rtol is None else metric.rtol,
        atol=0.0,
        max_steps=metric._max_steps(point.x),
        # A singular J drives the condition estimate to infinity: normal here, and judged by the true residual.
        conlim=float("inf"),
    )
    found = lx.linear_solve(operator, problem.image_subgradient(point.x), solver, throw=False)
    return found.value, found.stats["num_steps"]


def _dense(metric: GaussNewton, problem: Composite, point: Point, damping: Array | None) -> tuple[Tree, Any]:
    v = problem.image_subgradient(point.x).ravel()
    left, singular, right, unravel = _singular_values(problem, point.x)
    inverse = _inverse_square(singular, 0.0 if damping is None else damping)
    return unravel(right.T @ (singular * inverse * (left.T @ v))), 0


def _dense_spread(problem: Composite, x: Tree, subgradients: Tree, damping: Array) -> Tree:
    _, singular, right, unravel = _singular_values(problem, x)
    inverse = _inverse_square(singular, damping)
    return jax.vmap(lambda g: unravel(right.T @ (inverse * (right @ ravel_pytree(g)[0]))))(subgradients)


def _singular_values(problem: Composite, x: Tree) -> tuple[Array, Array, Array, Callable[[Array], Tree]]:
    """J = U diag(σ) V with what is rounding in σ set to zero, and the way back from flat variables."""
    flat, unravel = ravel_pytree(x)
    jacobian = jax.jacfwd(lambda u: problem.map(unravel(u)).ravel())(flat)
    left, singular, right = jnp.linalg.svd(jacobian, full_matrices=False)
    kept = singular > max(jacobian.shape) * float(jnp.finfo(flat.dtype).eps) * jnp.max(singular)
    return left, jnp.where(kept, singular, 0.0), right, unravel


def _inverse_square(singular: Array, damping: Array | float) -> Array:
    """1/(σ² + λ), and 0 where σ = 0."""
    return jnp.where(singular > 0, 1.0 / jnp.where(singular > 0, singular**2 + damping, 1.0), 0.0)


class _Solver(eqx.Module):
    solve: Callable[[GaussNewton, Composite, Point, Array | None], tuple[Tree, Any]]
    needs: str | None


_SOLVERS = {
    "closed": _Solver(_closed, "gram_pinv"),
    "cg": _Solver(_cg, None),
    "lsmr": _Solver(_lsmr, "image"),
    "dense": _Solver(_dense, "image"),
}


def _direction(
    g: Tree, s: Tree, action: Callable[[Tree], Tree], iterations: Any = 0, damping: Array | float = 0.0
) -> Direction:
    size = trees.norm(g)
    error = trees.norm(trees.add_scaled(action(s), -1.0, g))
    return Direction(
        s=s,
        decrement=trees.dot(g, s),
        inner_iterations=jnp.asarray(iterations, jnp.int32),
        residual=error / jnp.where(size > 0, size, 1.0),
        damping=jnp.asarray(damping, size.dtype),
    )


def _size(x: Tree) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(x))
