"""Weighted least squares in the metric of the map, z = argmin Σ wᵢ (rᵢ − (AJz)ᵢ)² + λ‖z‖², and what it is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from gnpolyak.base import trees
from gnpolyak.base.measurements import totals
from gnpolyak.base.sniffing import namespace, solve_triangular
from gnpolyak.base.trees import Tree
from gnpolyak.problem import formed
from gnpolyak.problem.capabilities import GRAM_PINV
from gnpolyak.problem.composite import Composite, Point
from gnpolyak.problem.formed import Formed
from gnpolyak.steps.linear import LARGEST_DENSE_JACOBIAN, LARGEST_DENSE_VARIABLE

# The first step is cut only in directions whose curvature is a tenth of what the residual meets.
_DAMPING = 0.1
# Products of one inner solve in the map's own metric, where 5 to 10 are usual, and without a closed form.
_MOST_PRODUCTS, _MOST_UNPRECONDITIONED = 30, 100
# Multiplications of a factorisation that takes some ten milliseconds.
_QUICK = 2**26


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


def residuals_at(problem: Composite | Formed, x: Tree) -> tuple[Point, Seen]:
    """A point without a subgradient, and its residuals."""
    if isinstance(problem, Formed):
        value, r = problem.seen(x)
        return Point(x, value, None), Seen(r, None)
    z, kept = problem.measured(x)
    return Point(x, problem.penalty.value(z), None), Seen(problem.penalty.residuals(z).ravel(), kept)


def forms_jacobian(problem: Composite | Formed, x: Tree) -> bool:
    """Whether AJ is formed: where the map has no closed form, and AJ is small.

    In a box a closed form, which is that of all columns, is only a preconditioner. There AJ is formed also where a
    factorisation of it takes no longer than a few products.
    """
    if isinstance(problem, Formed):
        return True
    if not problem.map.has(GRAM_PINV):
        return is_small(problem, x)
    quick = problem.box is not None and trees.size(x) ** 2 * problem.shape(x).size <= _QUICK
    return quick and _at_hand(problem)


def is_small(problem: Composite, x: Tree) -> bool:
    """Whether AJ is small enough to be formed and factorised, and its rows are in memory and on one device."""
    size = trees.size(x)
    if not _at_hand(problem):
        return False
    return size <= LARGEST_DENSE_VARIABLE and size * problem.shape(x).size <= LARGEST_DENSE_JACOBIAN


def _at_hand(problem: Composite) -> bool:
    return problem.sensing.spread is None and not problem.streamed


def jacobian(problem: Composite | Formed, x: Tree) -> tuple[Array, Callable[[Array], Tree]]:
    """AJ as a matrix, of the rows that the residuals are made of, and the way back from flat variables."""
    matrix: Any = problem.matrix(x) if isinstance(problem, Formed) else formed.jacobian(problem, x)
    return matrix, trees.ravel(x)[1]


def lengths(matrix: Array) -> Array:
    """The lengths of the columns, 1 for those that are zero; of any size, since no square leaves the range."""
    xp = namespace(matrix)
    largest = xp.max(xp.abs(matrix), axis=0, initial=0.0)
    largest = xp.where(largest > 0, largest, 1.0)
    return largest * xp.maximum(xp.linalg.norm(matrix / largest, axis=0), 1.0)


def ratio(a: Array, b: Array) -> Array:
    """The quotient a/b for positive b, else 0."""
    xp = namespace(a, b)
    return xp.where(b > 0, a / xp.where(b > 0, b, 1.0), 0.0)


def data(problem: Composite | Formed, x: Tree) -> Any:
    """The data b, flat."""
    return problem.data if isinstance(problem, Formed) else formed.data(problem, x)


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
    problem: Composite, x: Tree, system: Weighted, budget: Array, free: Tree | None = None
) -> tuple[Tree, Trial, Array]:
    """CG on JᵀAᵀWAJ + αμ, preconditioned with (JᵀJ + μ)†.

    α, the gain of W^½A along the first direction, brings μ from the units of JᵀJ to those of the system. With a mask of
    the variables that are free, P, it is on P(JᵀAᵀWAJ + αμ)P with P(JᵀJ + μ)†P.
    """
    products = problem.linearised(x, system.kept)
    products = products if free is None else products.over(free)
    most = jnp.minimum(_MOST_PRODUCTS if problem.map.has(GRAM_PINV) else _MOST_UNPRECONDITIONED, budget)
    w = system.w
    g = products.pull(w * system.r)
    known = jnp.maximum(system.damping, 0.0)
    precondition = over(free, problem.map.preconditioner(x, known))
    first = precondition(g)
    rho = trees.dot(g, first)
    # At first ⟨g, g⟩/⟨g, (JᵀJ)†g⟩ is the curvature of c that the residual meets.
    damping = jnp.where(system.damping < 0, _DAMPING * ratio(trees.dot(g, g), rho), known)
    # Loose while the weights still change; tighter once good and bad are apart and Gauss–Newton is quadratic.
    least = jnp.where(system.apart, 1e-2, 1e-1) ** 2 * rho

    def iterate(s: _CG) -> _CG:
        pushed, pulled, energy = products.weighed(s.direction, w)
        length = trees.dot(s.direction, s.direction)
        gain = jnp.where(s.products == 0, ratio(energy, s.rho - known * length), s.gain)
        t = ratio(s.rho, energy + gain * damping * length)
        fall = trees.add_scaled(pulled, gain * damping, s.direction)
        residual = trees.add_scaled(s.residual, -t, fall)
        y = precondition(residual)
        new = trees.dot(residual, y)
        going = (t > 0) & (new > least) & (s.products + 1 < most)
        return _CG(
            z=trees.add_scaled(s.z, t, s.direction),
            image=s.image + t * pushed,
            residual=residual,
            direction=while_going(going, trees.add_scaled(y, ratio(new, s.rho), s.direction)),
            rho=new,
            gain=gain,
            products=s.products + 1,
            going=going,
        )

    none = jnp.zeros((), jnp.int32)
    start = _CG(trees.scale(0.0, first), jnp.zeros_like(system.r), g, first, rho, jnp.zeros_like(rho), none, rho > 0)
    end = lax.while_loop(lambda s: s.going, iterate, start)
    energy = jnp.sum(w * end.image * end.image)
    bending = ratio(ratio(energy, end.gain), trees.dot(end.z, end.z))
    return end.z, trial(system, end.image, bending, damping), end.products


def while_going(going: Array, direction: Tree) -> Tree:
    """The next direction, or zero at the end: members of a batch that wait for others then cost no pass."""
    return jax.tree.map(lambda leaf: jnp.where(going, leaf, 0.0), direction)


def over(free: Tree | None, action: Callable[[Tree], Tree]) -> Callable[[Tree], Tree]:
    """The action on the variables that are free alone, P·action·P; on all where there is no mask."""
    return action if free is None else lambda g: trees.masked(free, action(trees.masked(free, g)))


def dense(problem: Composite | Formed, x: Tree, system: Weighted) -> tuple[Tree, Trial, Array]:
    """QR of [√W AJ D⁻¹; √μ I] with columns of length 1: Marquardt's damping."""
    matrix, unravel = jacobian(problem, x)
    xp = namespace(matrix)
    n = matrix.shape[1]
    w = system.w
    weighted = xp.sqrt(w)[:, None] * matrix
    column = lengths(weighted)
    damping = marquardt(system, n)
    # The right-hand side is one more column, so that Q is never formed.
    top = xp.concatenate([weighted / column, (xp.sqrt(w) * system.r)[:, None]], axis=1)
    below = xp.sqrt(damping) * xp.eye(n, n + 1, dtype=matrix.dtype)
    triangle = xp.linalg.qr(xp.concatenate([top, below]), mode="r")
    y = solve_triangular(triangle[:n, :n], triangle[:n, n])
    image = matrix @ (y / column)
    bending = ratio(xp.sum(w * image * image), xp.sum(y * y))
    return unravel(y / column), trial(system, image, bending, damping), xp.ones((), jnp.int32)


def marquardt(system: Weighted, variables: int) -> Array:
    """μ in units of columns of length 1, where AJ is formed."""
    xp = namespace(system.r)
    damping = xp.where(system.damping < 0, _DAMPING, system.damping)
    # Directions that the data do not see stay where they are.
    return xp.maximum(damping, variables * jnp.finfo(system.r.dtype).eps)


def trial(system: Weighted, image: Array, bending: Array, damping: Array) -> Trial:
    """What a step with this image AJz promises."""
    w, xp = system.w, namespace(image)
    energy, predicted, whole = totals(w * image * image, w * image * (system.r - image / 2), w)
    return Trial(predicted, xp.sqrt(ratio(energy, whole)), bending, damping)
