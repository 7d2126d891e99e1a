"""Weighted least squares in the metric of the map, z = argmin Σ wᵢ (rᵢ − (AJz)ᵢ)² + λ‖z‖², and what it is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from gnpolyak.base import trees
from gnpolyak.base.namespace import Array, eps_of, solve_triangular, while_loop
from gnpolyak.base.trees import Tree
from gnpolyak.oracles.base import Oracle
from gnpolyak.problem.composite import Point

# The first step is cut only in directions whose curvature is a tenth of what the residual meets.
_DAMPING = 0.1
# Products of one inner solve in the map's own metric, where 5 to 10 are usual, and without a closed form.
_MOST_PRODUCTS, _MOST_UNPRECONDITIONED = 30, 100


class Weighted(NamedTuple):
    """The residuals, their weights, and how the system is to be solved."""

    r: Array
    kept: Any
    """What the products can use."""
    w: Array
    damping: Array
    """μ; negative where it is not known yet."""
    apart: Array
    """Whether the weights have settled, and the solution is wanted to more digits."""


class Trial(NamedTuple):
    """A step that is to be tried."""

    predicted: Array
    """By how much the weighted sum of squares, halved, would fall."""
    moved: Array
    """The weighted size of AJz."""
    bending: Array
    """The curvature along the step, in the units of the damping."""
    damping: Array


class Seen(NamedTuple):
    """What one evaluation shows."""

    r: Array
    """The residuals b − A(c(x)), flat."""
    kept: Any
    """What the products at the same point can use: see `Composite.measured`."""


def residuals_at(oracle: Oracle, x: Tree) -> tuple[Point, Seen]:
    """A point without a subgradient, and its residuals."""
    value, r, kept = oracle.residuals(x)
    return Point(x, value, None), Seen(r, kept)


def lengths(xp: Any, matrix: Array) -> Array:
    """The lengths of the columns, 1 for those that are zero; of any size, since no square leaves the range."""
    largest = xp.max(abs(matrix), axis=0, initial=0.0)
    largest = xp.where(largest > 0, largest, 1.0)
    return largest * xp.maximum(xp.linalg.norm(matrix / largest, axis=0), 1.0)


def ratio(xp: Any, a: Array, b: Array) -> Array:
    """The quotient a/b for positive b, else 0."""
    if xp is jnp:
        return jnp.where(b > 0, a / jnp.where(b > 0, b, 1.0), 0.0)
    return a / b if b > 0 else a * 0.0


class _CG(NamedTuple):
    z: Tree
    image: Array
    """AJz."""
    residual: Tree
    direction: Tree
    rho: Array
    gain: Array
    """α."""
    products: Array
    going: Array


def conjugate_gradient(
    oracle: Oracle, x: Tree, system: Weighted, budget: Array, free: Tree | None = None
) -> tuple[Tree, Trial, Array]:
    """CG on JᵀAᵀWAJ + αμ, preconditioned with (JᵀJ + μ)†.

    α, the gain of W^½A along the first direction, brings μ from the units of JᵀJ to those of the system. With a mask of
    the variables that are free, P, it is on P(JᵀAᵀWAJ + αμ)P with P(JᵀJ + μ)†P.
    """
    xp, w = oracle.xp, system.w
    products = oracle.linearise(x, system.kept)
    products = products if free is None else products.over(xp, free)
    most = xp.minimum(_MOST_PRODUCTS if oracle.preconditioned else _MOST_UNPRECONDITIONED, budget)
    g = products.pull(w * system.r)
    known = xp.maximum(system.damping, 0.0)
    precondition = over(xp, free, oracle.metric(x, known))
    first = precondition(g)
    rho = trees.dot(g, first)
    # At first ⟨g, g⟩/⟨g, (JᵀJ)†g⟩ is the curvature of c that the residual meets.
    damping = xp.where(system.damping < 0, _DAMPING * ratio(xp, trees.dot(g, g), rho), known)
    # Loose while the weights still change; tighter once good and bad are apart and Gauss–Newton is quadratic.
    least = xp.where(system.apart, 1e-2, 1e-1) ** 2 * rho

    def iterate(s: _CG) -> _CG:
        pushed, pulled, energy = products.weighed(s.direction, w)
        length = trees.dot(s.direction, s.direction)
        gain = xp.where(s.products == 0, ratio(xp, energy, s.rho - known * length), s.gain)
        t = ratio(xp, s.rho, energy + gain * damping * length)
        fall = trees.add_scaled(pulled, gain * damping, s.direction)
        residual = trees.add_scaled(s.residual, -t, fall)
        y = precondition(residual)
        new = trees.dot(residual, y)
        going = (t > 0) & (new > least) & (s.products + 1 < most)
        return _CG(
            z=trees.add_scaled(s.z, t, s.direction),
            image=s.image + t * pushed,
            residual=residual,
            direction=while_going(xp, going, trees.add_scaled(y, ratio(xp, new, s.rho), s.direction)),
            rho=new,
            gain=gain,
            products=s.products + 1,
            going=going,
        )

    none = xp.zeros((), jnp.int32)
    start = _CG(trees.scale(0.0, first), xp.zeros_like(system.r), g, first, rho, xp.zeros_like(rho), none, rho > 0)
    end = while_loop(xp, lambda s: s.going, iterate, start)
    (energy,) = oracle.reduce.sums(w * end.image * end.image)
    bending = ratio(xp, ratio(xp, energy, end.gain), trees.dot(end.z, end.z))
    return end.z, trial(oracle, system, end.image, bending, damping), end.products


def while_going(xp: Any, going: Array, direction: Tree) -> Tree:
    """The next direction, or zero at the end: members of a batch that wait for others then cost no pass."""
    return jax.tree.map(lambda leaf: jnp.where(going, leaf, 0.0), direction) if xp is jnp else direction


def over(xp: Any, free: Tree | None, action: Callable[[Tree], Tree]) -> Callable[[Tree], Tree]:
    """The action on the variables that are free alone, P·action·P; on all where there is no mask."""
    return action if free is None else lambda g: trees.masked(xp, free, action(trees.masked(xp, free, g)))


def dense(oracle: Oracle, x: Tree, system: Weighted) -> tuple[Tree, Trial, Array]:
    """QR of [√W AJ D⁻¹; √μ I] with columns of length 1: Marquardt's damping."""
    xp, matrix, (_, unravel) = oracle.xp, oracle.matrix(x), oracle.ravel(x)
    n, root = matrix.shape[1], xp.sqrt(system.w)
    weighted = root[:, None] * matrix
    column = lengths(xp, weighted)
    damping = marquardt(xp, system, n)
    # The right-hand side is one more column, so that Q is never formed.
    top = xp.concatenate([weighted / column, (root * system.r)[:, None]], axis=1)
    below = xp.sqrt(damping) * xp.eye(n, n + 1, dtype=matrix.dtype)
    triangle = xp.linalg.qr(xp.concatenate([top, below]), mode="r")
    y = solve_triangular(xp, triangle[:n, :n], triangle[:n, n])
    image = matrix @ (y / column)
    (energy,) = oracle.reduce.sums(system.w * image * image)
    bending = ratio(xp, energy, xp.sum(y * y))
    return unravel(y / column), trial(oracle, system, image, bending, damping), xp.ones((), jnp.int32)


def marquardt(xp: Any, system: Weighted, variables: int) -> Array:
    """μ in units of columns of length 1, where AJ is formed."""
    damping = xp.where(system.damping < 0, _DAMPING, system.damping)
    # Directions that the data do not see stay where they are.
    return xp.maximum(damping, variables * eps_of(system.r.dtype))


def trial(oracle: Oracle, system: Weighted, image: Array, bending: Array, damping: Array) -> Trial:
    """What a step with this image AJz promises."""
    w, xp = system.w, oracle.xp
    moved = w * image
    energy, predicted, whole = oracle.reduce.sums(moved * image, moved * (system.r - image / 2), w)
    return Trial(predicted, xp.sqrt(ratio(xp, energy, whole)), bending, damping)
