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
from gnpolyak.problem.capabilities import GRAM_PINV
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.oracles import Products
from gnpolyak.steps.least_absolute import least_absolute
from gnpolyak.steps.weighted import data, forms_jacobian, is_small, jacobian, lengths, metric, ratio
from gnpolyak.steps.weights import ROUNDING, typical

Precondition = Callable[[Tree], Tree]
# What a tenth of each variable, or of the data, may gain of the value to first order at a point that is called a
# minimum; in single precision some units of its rounding.
_ALLOWED, _UNITS = 1e-8, 32
_TENTH = 0.1
# Products of one solve for v, in the map's own metric, with AJ factorised, and without either.
_IN_METRIC, _FACTORISED, _WITHOUT = 60, 20, 300
# Rounds of clipping and solving again.
_MOST_ROUNDS = 12
# Where v leaves the box it is clipped to a little less, to leave room for the correction.
_CLIP = 0.95
# A first v this large says that the zero residuals cannot balance the others.
_HOPELESS = 1e2
# How far v is balanced while it is outside of the box, and in the end.
_LOOSE, _TIGHT = 1e-3, 1e-9


@dataclass(frozen=True)
class Certificate:
    """What the dual vector v says about a point."""

    margin: float
    """1 − max |vᵢ| over the zero residuals: positive where the minimum is sharp, negative where v leaves the box."""
    residual: float
    """‖(AJ)ᵀv‖ against that of sign(r) on the other residuals alone, in the metric of the map."""
    gain: float
    """What a step of up to a tenth of each variable, or of the data, could gain of the value, to first order."""
    allowed: float
    """What it may be at a minimum, in the precision of the arithmetic."""
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
        return self.adds_up and self.margin >= 0 and self.gain <= self.allowed

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
        return (
            f"no certificate: a tenth of each variable may gain {self.gain:.1g} of the value, "
            f"{self.allowed:.1g} is allowed"
        )


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
        allowed=max(_ALLOWED, _UNITS * float(jnp.finfo(dual.v.dtype).eps)),
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
    z = problem.measure(x)
    r = problem.penalty.residuals(z).ravel()
    unit = typical(data(problem, x))
    eps, value = jnp.finfo(r.dtype).eps, problem.penalty.value(z)
    adds_up = jnp.abs(jnp.sum(jnp.abs(r)) - value) <= jnp.sqrt(eps) * jnp.maximum(value, unit)
    return r, jnp.abs(r) <= jnp.maximum(ROUNDING * eps, tol) * unit, unit, adds_up


@jax.jit
def _dual(problem: Composite, x: Tree, tol: Array | float) -> _Dual:
    """The smallest v on the zero residuals that balances the signs of the others."""
    r, zero, unit, adds_up = _split(problem, x, tol)
    products, precondition, most = _actions(problem, x, zero)
    fixed = jnp.where(zero, 0.0, jnp.sign(r))
    free, left, count = _balanced(zero.astype(r.dtype), fixed, products, precondition, most)
    # What CG believes to be left is not believed: the bound on the gain rests on these products.
    g = products.pull(fixed + free)
    slope = _slope(g, precondition(g), products.push)
    return _judged(x, r, fixed + free, zero, g, slope, unit, left, count + 2, adds_up)


@jax.jit
def _interior(problem: Composite, x: Tree, tol: Array | float) -> _Dual:
    """The v of the linearised l1 problem itself; in noise no more residuals are zero than there are variables."""
    r, zero, unit, adds_up = _split(problem, x, tol)
    matrix, unravel = jacobian(problem, x)
    _, v = least_absolute(matrix, r)
    # Inside the box to rounding: zero residuals may be anywhere in it.
    column, sign = lengths(matrix), jnp.where(zero, 0.0, jnp.sign(r))
    even = matrix / column
    g = even.T @ v
    left = ratio(jnp.linalg.norm(g), jnp.linalg.norm(even.T @ sign))
    slope = _slope(g, g, lambda y: even @ y)
    return _judged(x, r, v, zero, unravel(g * column), slope, unit, left, jnp.ones((), jnp.int32), adds_up)


def _slope(g: Tree, y: Tree, push: Callable[[Tree], Array]) -> Array:
    """⟨g, y⟩/‖AJy‖, for numbers of any size."""
    along, by = (jnp.max(jnp.stack([jnp.max(jnp.abs(leaf)) for leaf in jax.tree.leaves(each)])) for each in (g, y))
    along, by = (jnp.where(size > 0, size, 1.0) for size in (along, by))
    g, y = trees.scale(1 / along, g), trees.scale(1 / by, y)
    return along * (trees.dot(g, y) / lengths(push(y)[:, None])[0])


def _judged(
    x: Tree,
    r: Array,
    v: Array,
    zero: Array,
    g: Tree,
    slope: Array,
    unit: Array,
    left: Array,
    products: Array,
    adds_up: Array,
) -> _Dual:
    """What v proves. `slope` is by how much the value falls, at most, along a step that moves the data by one."""
    size = jnp.abs(r)
    steps = sum(jnp.sum(jnp.abs(a) * jnp.abs(b)) for a, b in zip(jax.tree.leaves(x), jax.tree.leaves(g), strict=True))
    # A tenth of a variable that is zero is no step: there it is a tenth of the data that counts.
    moved = jnp.maximum(_TENTH * steps, _TENTH * unit * r.size**0.5 * slope)
    lost = jnp.sum(size - jnp.clip(v, -1.0, 1.0) * r)
    # Against the value, or what it would be with typical data: an outlier of 1e20 must not make every gain look small.
    scale = jnp.minimum(jnp.sum(size), r.size * unit)
    gain = jnp.where(scale > 0, (lost + moved) / scale, jnp.where(lost + moved > 0, jnp.inf, 0.0))
    return _Dual(
        v=v,
        margin=1 - jnp.max(jnp.where(zero, jnp.abs(v), 0.0), initial=0.0),
        residual=left,
        # What left the range of the arithmetic proves nothing.
        gain=jnp.where(jnp.isfinite(gain), gain, jnp.inf),
        zeros=jnp.sum(zero),
        products=products,
        adds_up=adds_up,
    )


def _actions(problem: Composite, x: Tree, zero: Array) -> tuple[Products, Precondition, int]:
    """The products with AJ, what preconditions (AJ)ᵀAJ on the zero residuals, and the most products of a solve."""
    if not forms_jacobian(problem, x):
        closed = metric(problem, x)
        most = _IN_METRIC if problem.map.has(GRAM_PINV) else _WITHOUT
        return problem.linearised(x), lambda g: closed(g, 0.0), most
    matrix, unravel = jacobian(problem, x)
    kept = jnp.where(zero[:, None], matrix, 0.0)
    column = lengths(kept)
    n, eps = matrix.shape[1], jnp.finfo(matrix.dtype).eps
    below = jnp.sqrt(n * eps) * jnp.eye(n, dtype=matrix.dtype)
    triangle = jnp.linalg.qr(jnp.concatenate([kept / column, below]), mode="r")

    def inverse(g: Tree) -> Tree:
        half = jax.scipy.linalg.solve_triangular(triangle, trees.ravel(g)[0] / column, trans="T")
        return unravel(jax.scipy.linalg.solve_triangular(triangle, half) / column)

    return Products.of(lambda u: matrix @ trees.ravel(u)[0], lambda v: unravel(matrix.T @ v)), inverse, _FACTORISED


class _Balance(eqx.Module):
    """A search for v: it is balanced, clipped where it leaves the box, balanced again, and in the end to all digits."""

    v: Array
    whole: Array
    """‖(AJ)ᵀfixed‖², negative before it is known."""
    rho: Array
    """‖(AJ)ᵀ(fixed + v)‖²."""
    inside: Array
    tight: Array
    products: Array
    rounds: Array


def _balanced(
    zero: Array, fixed: Array, products: Products, precondition: Precondition, most: int
) -> tuple[Array, Array, Array]:
    """v on the zero residuals with (AJ)ᵀ(fixed + v) = 0, as small as it can be found; what is left; the products.

    What is left is ‖(AJ)ᵀ(fixed + v)‖ against ‖(AJ)ᵀfixed‖, in the metric of the map.
    """
    none, unknown, no = jnp.zeros((), jnp.int32), jnp.asarray(-1.0, fixed.dtype), jnp.asarray(False)

    def again(s: _Balance) -> _Balance:
        v = jnp.where(s.inside, s.v, jnp.clip(s.v, -_CLIP, _CLIP))
        g = trees.scale(-1.0, products.pull(fixed + v))
        y = precondition(g)
        first = trees.dot(g, y)
        whole = jnp.where(s.whole < 0, first, s.whole)
        least = jnp.where(s.inside, _TIGHT, _LOOSE) ** 2 * whole

        def iterate(s: tuple[Array, Tree, Tree, Array, Array]) -> tuple[Array, Tree, Tree, Array, Array]:
            v, residual, direction, rho, count = s
            pushed, pulled = products.product(direction, zero)
            p = zero * pushed
            t = ratio(rho, jnp.sum(p * p))
            residual = trees.add_scaled(residual, -t, pulled)
            y = precondition(residual)
            new = jnp.where(t > 0, trees.dot(residual, y), 0.0)
            return v + t * p, residual, trees.add_scaled(y, ratio(new, rho), direction), new, count + 1

        v, _, _, rho, count = lax.while_loop(
            lambda s: (s[3] > least) & (s[4] < most), iterate, (v, g, y, first, jnp.ones((), jnp.int32))
        )
        inside = jnp.max(jnp.abs(v), initial=0.0) <= 1
        return _Balance(v, whole, rho, inside, s.inside, s.products + count, s.rounds + 1)

    def unfinished(s: _Balance) -> Array:
        hopeless = jnp.max(jnp.abs(s.v), initial=0.0) >= _HOPELESS
        return ~(s.inside & s.tight) & ~hopeless & (s.rounds < _MOST_ROUNDS)

    end = lax.while_loop(unfinished, again, _Balance(jnp.zeros_like(fixed), unknown, unknown, no, no, none, none))
    return end.v, jnp.sqrt(jnp.maximum(ratio(end.rho, end.whole), 0.0)), end.products
