"""Whether a point is a minimum: a dual vector that says so, for penalties that are sums over residuals.

x is a first-order minimiser of ‖A(c(x)) − b‖₁ exactly when some v with vᵢ = sign(rᵢ) where rᵢ ≠ 0 and |vᵢ| ≤ 1 where
rᵢ = 0 has (AJ)ᵀv = 0. Then, for every step z, ‖r − AJz‖₁ ≥ ⟨v, r⟩ − ⟨(AJ)ᵀv, z⟩: nothing can be gained to first order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array, lax

from gnpolyak.base import trees
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.steps.least_absolute import least_absolute
from gnpolyak.steps.weighted import data, forms_jacobian, is_small, jacobian, linearised, metric, ratio
from gnpolyak.steps.weights import ROUNDING, typical

Push = Callable[..., Array]
Pull = Callable[..., Tree]
# What a step of a tenth of each variable may gain of the value, to first order, at a point that is called a minimum.
ALLOWED = 1e-8
_BOX = 0.1
# Products of one solve for v, and rounds of clipping and solving again.
_MOST_PRODUCTS, _MOST_ROUNDS = 60, 12
# Where v leaves the box it is clipped to a little less, to leave room for the correction.
_CLIP = 0.95
# A first v this large says that the zero residuals cannot balance the others.
_HOPELESS = 1e2
_TOLERANCE = 1e-10


@dataclass(frozen=True)
class Certificate:
    """What the dual vector v says about a point."""

    margin: float
    """1 − max |vᵢ| over the zero residuals: positive where the minimum is sharp, negative where v leaves the box."""
    residual: float
    """‖(AJ)ᵀv‖ against that of sign(r) on the other residuals alone, in the metric of the map."""
    gain: float
    """What a step of up to a tenth of each variable could gain of the value, to first order: an upper bound."""
    zeros: int
    """How many residuals are at rounding."""
    measurements: int
    products: int
    """Products with A and its adjoint that it took, each of which counts as an oracle call."""
    adds_up: bool = True
    """Whether the sizes of the residuals add up to the value: of others nothing can be concluded."""

    @property
    def holds(self) -> bool:
        """Whether the point is a minimum to first order."""
        return self.adds_up and self.margin >= 0 and self.gain <= ALLOWED

    def __str__(self) -> str:
        if self.holds:
            return f"nothing can be gained to first order: margin {self.margin:.2g}"
        if not self.adds_up:
            return "no certificate: the residuals do not add up to the value, so one of the two is wrong"
        if not self.margin >= 0:
            return (
                f"no certificate: the {self.zeros:,} zero residuals of {self.measurements:,} cannot balance the others "
                f"(margin {self.margin:.2g})"
            )
        return f"no certificate: a tenth of each variable may gain {self.gain:.1g} of the value, {ALLOWED:g} is allowed"


class _Dual(eqx.Module):
    v: Array
    margin: Array
    residual: Array
    gain: Array
    zeros: Array
    products: Array
    adds_up: Array


def certify(problem: Composite, x: Tree, tol: float = 0.0) -> Certificate:
    """The certificate of a point, for a problem whose parts were cast and whose penalty offers `RESIDUALS`.

    Residuals up to tol of a typical datum count as zero, and those at rounding in any case; what that may hide is in
    the bound on the gain.
    """
    found = _told(_dual(problem, x, tol), 0)
    if found.holds or not is_small(problem, x):
        return found
    # The smallest v is not the only one. Where the l1 problem can be solved to its end, it has the last word.
    return _told(_interior(problem, x, tol), found.products)


def _told(dual: _Dual, before: int) -> Certificate:
    return Certificate(
        margin=float(dual.margin),
        residual=float(dual.residual),
        gain=float(dual.gain),
        zeros=int(dual.zeros),
        measurements=dual.v.size,
        products=int(dual.products) + before,
        adds_up=bool(dual.adds_up),
    )


def _split(problem: Composite, x: Tree, tol: Array | float) -> tuple[Array, Array, Array, Array]:
    """The residuals, which of them are zero, the size of a typical datum, and whether the residuals add up to h.

    Judged by that size: the widest gap between residuals would do for neither points that are 1e-7 off nor data with
    outliers of 1e20.
    """
    z, _ = problem.sensing.measure(problem.map, x)
    r = problem.penalty.residuals(z).ravel()
    unit = typical(data(problem, x))
    eps, value = jnp.finfo(r.dtype).eps, problem.penalty.value(z)
    adds_up = jnp.abs(jnp.sum(jnp.abs(r)) - value) <= jnp.sqrt(eps) * jnp.maximum(value, unit)
    return r, jnp.abs(r) <= jnp.maximum(ROUNDING * eps, tol) * unit, unit, adds_up


@jax.jit
def _dual(problem: Composite, x: Tree, tol: Array | float) -> _Dual:
    """The smallest v on the zero residuals that balances the signs of the others."""
    r, zero, unit, adds_up = _split(problem, x, tol)
    push, pull, precondition = _actions(problem, x, zero)
    fixed = jnp.where(zero, 0.0, jnp.sign(r))
    free, whole, products = _balanced(zero.astype(r.dtype), fixed, push, pull, precondition)
    g = pull(fixed + free)
    left = jnp.sqrt(jnp.maximum(ratio(trees.dot(g, precondition(g)), whole), 0.0))
    return _judged(x, r, fixed + free, zero, g, unit, left, products + 2, adds_up)


@jax.jit
def _interior(problem: Composite, x: Tree, tol: Array | float) -> _Dual:
    """The v of the linearised l1 problem itself; in noise no more residuals are zero than there are variables."""
    r, zero, unit, adds_up = _split(problem, x, tol)
    matrix, unravel = jacobian(problem, x)
    _, v = least_absolute(matrix, r)
    # Inside the box to rounding: zero residuals may be anywhere in it.
    g, sign = matrix.T @ v, jnp.where(zero, 0.0, jnp.sign(r))
    left = ratio(jnp.linalg.norm(g), jnp.linalg.norm(matrix.T @ sign))
    return _judged(x, r, v, zero, unravel(g), unit, left, jnp.ones((), jnp.int32), adds_up)


def _judged(
    x: Tree, r: Array, v: Array, zero: Array, g: Tree, unit: Array, left: Array, products: Array, adds_up: Array
) -> _Dual:
    size = jnp.abs(r)
    steps = sum(jnp.sum(jnp.abs(a) * jnp.abs(b)) for a, b in zip(jax.tree.leaves(x), jax.tree.leaves(g), strict=True))
    lost = jnp.sum(size - jnp.clip(v, -1.0, 1.0) * r)
    # Against the value, or what it would be with typical data: an outlier of 1e20 must not make every gain look small.
    scale = jnp.minimum(jnp.sum(size), r.size * unit)
    return _Dual(
        v=v,
        margin=1 - jnp.max(jnp.where(zero, jnp.abs(v), 0.0), initial=0.0),
        residual=left,
        gain=ratio(lost + _BOX * steps, scale),
        zeros=jnp.sum(zero),
        products=products,
        adds_up=adds_up,
    )


def _actions(
    problem: Composite, x: Tree, zero: Array
) -> tuple[Callable[..., Array], Callable[..., Tree], Callable[..., Tree]]:
    """AJ, its adjoint, and what preconditions (AJ)ᵀAJ on the zero residuals."""
    if not forms_jacobian(problem, x):
        push, pull = linearised(problem, x)
        closed = metric(problem, x)
        return push, pull, lambda g: closed(g, 0.0)
    matrix, unravel = jacobian(problem, x)
    kept = jnp.where(zero[:, None], matrix, 0.0)
    column = jnp.linalg.norm(kept, axis=0)
    column = jnp.where(column > 0, column, 1.0)
    n, eps = matrix.shape[1], jnp.finfo(matrix.dtype).eps
    below = jnp.sqrt(n * eps) * jnp.eye(n, dtype=matrix.dtype)
    triangle = jnp.linalg.qr(jnp.concatenate([kept / column, below]), mode="r")

    def inverse(g: Tree) -> Tree:
        half = jax.scipy.linalg.solve_triangular(triangle, trees.ravel(g)[0] / column, trans="T")
        return unravel(jax.scipy.linalg.solve_triangular(triangle, half) / column)

    return lambda u: matrix @ trees.ravel(u)[0], lambda v: unravel(matrix.T @ v), inverse


def _balanced(zero: Array, fixed: Array, push: Push, pull: Pull, precondition: Pull) -> tuple[Array, Array, Array]:
    """v on the zero residuals with (AJ)ᵀ(fixed + v) = 0, as small as it can be found; ‖(AJ)ᵀfixed‖²; the products."""
    start = pull(fixed)
    whole = trees.dot(start, precondition(start))

    def corrected(v: Array) -> tuple[Array, Array]:
        """V and the smallest change that balances it, by conjugate gradients."""
        g = trees.scale(-1.0, pull(fixed + v))
        y = precondition(g)

        def iterate(s: tuple[Array, Tree, Tree, Array, Array]) -> tuple[Array, Tree, Tree, Array, Array]:
            change, residual, direction, rho, count = s
            p = zero * push(direction)
            t = ratio(rho, jnp.sum(p * p))
            residual = trees.add_scaled(residual, -t, pull(p))
            y = precondition(residual)
            new = trees.dot(residual, y)
            new = jnp.where(t > 0, new, 0.0)
            return change + t * p, residual, trees.add_scaled(y, ratio(new, rho), direction), new, count + 1

        def unfinished(s: tuple[Array, Tree, Tree, Array, Array]) -> Array:
            return (s[3] > _TOLERANCE**2 * whole) & (s[4] < _MOST_PRODUCTS)

        begin = (jnp.zeros_like(v), g, y, trees.dot(g, y), jnp.zeros((), jnp.int32))
        change, _, _, _, count = lax.while_loop(unfinished, iterate, begin)
        return v + change, count + 1

    def again(s: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        v, products, rounds = s
        v, more = corrected(jnp.clip(v, -_CLIP, _CLIP))
        return v, products + more, rounds + 1

    def outside(s: tuple[Array, Array, Array]) -> Array:
        largest = jnp.max(jnp.abs(s[0]), initial=0.0)
        return (s[2] == 0) | ((largest > 1) & (largest < _HOPELESS) & (s[2] < _MOST_ROUNDS))

    none = jnp.zeros((), jnp.int32)
    v, products, _ = lax.while_loop(outside, again, (jnp.zeros_like(fixed), none, none))
    return v, whole, products
