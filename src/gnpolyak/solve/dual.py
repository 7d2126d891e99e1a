"""The search for a dual vector v: sign(r) where r is not zero, inside the box where it is, with (AJ)ᵀv = 0."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gnpolyak.base import trees
from gnpolyak.base.measurements import Layout, gathered, laid_out
from gnpolyak.base.modules import Module
from gnpolyak.base.sniffing import namespace
from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import GRAM_PINV
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.oracles import Products
from gnpolyak.steps.weighted import data, lengths, over, ratio, while_going
from gnpolyak.steps.weights import ROUNDING, typical

# The fewest products that a search takes.
LEAST = 4
# Products of one solve for v, in the map's own metric and without a closed form.
_IN_METRIC, _WITHOUT = 60, 300
# Rounds of clipping and solving again, and of freeing variables whose multipliers push inwards.
MOST_ROUNDS, MOST_FREED = 12, 5
# Where v leaves the box it is clipped to a little less, to leave room for the correction.
CLIP = 0.95
# A first v this large says that the zero residuals cannot balance the others.
HOPELESS = 1e2
# How far v is balanced while it is outside of the box, and in the end.
_LOOSE, _TIGHT = 1e-3, 1e-9


@dataclass(frozen=True)
class Dual:
    """A vector v, and what is needed to judge it."""

    v: np.ndarray
    r: np.ndarray
    """The residuals."""
    zero: np.ndarray
    """Which of them are zero."""
    unit: float
    """The size of a typical datum."""
    adds_up: bool
    """Whether the sizes of the residuals add up to the value."""
    steps: float
    """Σ |xⱼ| |gⱼ| for g = (AJ)ᵀv: by how much steps as large as the variables could lower ⟨v, r⟩."""
    slope: float
    """By how much a step that moves the data by one lowers it, along the direction that the metric calls steepest."""
    left: float
    """‖(AJ)ᵀv‖ against that of the signs alone, in the metric of the map."""
    edge: float
    """What variables that are next to their bounds, and pushed outwards by g, could gain on the way there."""
    products: int
    seconds: float
    """How long the search took, without compilation."""
    sees: bool = True
    """Whether any variable moves any measurement at all, as far as AJ was formed."""

    def of_many(self) -> Dual:
        """The same as one of several, of which each figure but the seconds has an axis in front."""
        figures: dict[str, Any] = {each.name: np.asarray(getattr(self, each.name))[None] for each in fields(self)}
        return replace(self, **{**figures, "seconds": self.seconds})


class Data(Module):
    """The residuals, which of them are zero, the size of a typical datum, and whether the residuals add up to h."""

    r: Array
    zero: Array
    unit: Array
    adds_up: Array


def told(of: Data, layout: Layout | None = None, **figures: object) -> Dual:
    """A dual vector of these data, with its figures."""
    r, zero = gathered(layout, of.r), gathered(layout, of.zero)
    return Dual(r=r, zero=zero, unit=float(of.unit), adds_up=bool(of.adds_up), **figures)  # type: ignore[arg-type]


def stacked(found: tuple[Any, ...], seconds: float) -> Dual:
    """Those of several points, each figure with an axis in front: what `search` has found for all of them at once."""
    of, v, steps, slope, left, products = found
    figures: dict[str, Any] = {"steps": steps, "slope": slope, "left": left, "products": products}
    edge, sees = np.zeros(len(v)), np.ones(len(v), bool)
    return Dual(v, of.r, of.zero, of.unit, of.adds_up, edge=edge, seconds=seconds, sees=sees, **figures)  # type: ignore[arg-type]


def split(r: Array, value: Array, b: Array, tilt: Array | None, tol: Array | float) -> Data:
    """The data of a point.

    A residual is zero by the size of a typical datum: the widest gap between residuals would do for neither points that
    are 1e-7 off nor data with outliers of 1e20.
    """
    xp, unit, eps = namespace(r), typical(b), float(jnp.finfo(r.dtype).eps)
    told = xp.sum(xp.abs(r)) if tilt is None else xp.sum(xp.abs(r) + tilt * r)
    adds_up = xp.abs(told - value) <= eps**0.5 * xp.maximum(value, unit)
    return Data(r, xp.abs(r) <= xp.maximum(ROUNDING * eps, tol) * unit, unit, adds_up)


def in_metric(problem: Composite, x: Tree, tol: float, budget: int) -> Dual:
    """The smallest v on the zero residuals that balances the signs of the others, brought into the box.

    By conjugate gradients in the metric of the map. Variables at their bounds are held, and freed again where v pushes
    them inwards.
    """
    free = None if problem.box is None else jax.tree.map(jnp.logical_not, problem.box.active(x))
    search = _in_metric if problem.streamed else _in_metric.lower(problem, x, tol, budget, free).compile()
    began, made = time.perf_counter(), 0
    for _ in range(MOST_FREED):
        of, v, *figures, products, inwards = search(problem, x, tol, budget - made, free)
        made += int(products)
        if free is None or bool(trees.equal(inwards, free)) or budget - made < LEAST:
            break
        free = inwards
    steps, slope, left = map(float, figures)
    seconds = time.perf_counter() - began
    layout = problem.sensing.spread
    figures_told = {"steps": steps, "slope": slope, "left": left, "products": made, "seconds": seconds}
    return told(of, layout, v=gathered(layout, v), edge=0.0, **figures_told)


def search(
    problem: Composite, x: Tree, tol: Array | float, budget: Array | int, free: Tree | None
) -> tuple[Data, Array, Array, Array, Array, Array, Tree]:
    """The search on the variables that are free; at last which ones those are that its v does not push outwards."""
    with laid_out(problem.sensing.spread):
        return _searched(problem, x, tol, budget, free)


def _searched(
    problem: Composite, x: Tree, tol: Array | float, budget: Array | int, free: Tree | None
) -> tuple[Data, Array, Array, Array, Array, Array, Tree]:
    z, kept = problem.measured(x)
    r, value = problem.penalty.residuals(z).ravel(), problem.penalty.value(z)
    of = split(r, value, data(problem, x), problem.penalty.tilt, tol)
    every = problem.linearised(x, kept)
    products, precondition = every if free is None else every.over(free), over(free, problem.map.preconditioner(x))
    fixed = jnp.where(of.zero, 0.0, jnp.sign(of.r))
    most = _IN_METRIC if problem.map.has(GRAM_PINV) else _WITHOUT
    # Two products are kept for the end.
    found, left, count = _balanced(of.zero.astype(of.r.dtype), fixed, products, precondition, most, budget - 2)
    # What CG believes to be left is not believed: the bound on the gain rests on these products.
    g, inwards = every.pull(fixed + found), free
    if free is not None and problem.box is not None:
        inwards = jax.tree.map(jnp.logical_or, free, problem.box.free(x, g))
        g = trees.masked(inwards, g)
    pairs = zip(jax.tree.leaves(x), jax.tree.leaves(g), strict=True)
    steps = jnp.sum(jnp.stack([jnp.sum(jnp.abs(a) * jnp.abs(b)) for a, b in pairs]))
    slope = _slope(g, over(inwards, problem.map.preconditioner(x))(g), every.push)
    return of, fixed + found, steps, slope, left, count + 2, inwards


_in_metric = jax.jit(search)


def _slope(g: Tree, y: Tree, push: Callable[[Tree], Array]) -> Array:
    """⟨g, y⟩/‖AJy‖, for numbers of any size."""
    along, by = (jnp.max(jnp.stack([jnp.max(jnp.abs(leaf)) for leaf in jax.tree.leaves(each)])) for each in (g, y))
    along, by = (jnp.where(size > 0, size, 1.0) for size in (along, by))
    g, y = trees.scale(1 / along, g), trees.scale(1 / by, y)
    return along * (trees.dot(g, y) / lengths(push(y)[:, None])[0])


class _Balance(Module):
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
    zero: Array,
    fixed: Array,
    products: Products,
    precondition: Callable[[Tree], Tree],
    most: int,
    budget: Array | int,
) -> tuple[Array, Array, Array]:
    """v on the zero residuals with (AJ)ᵀ(fixed + v) = 0, as small as it can be found; what is left; the products.

    What is left is ‖(AJ)ᵀ(fixed + v)‖ against ‖(AJ)ᵀfixed‖, in the metric of the map.
    """
    none, unknown, no = jnp.zeros((), jnp.int32), jnp.asarray(-1.0, fixed.dtype), jnp.asarray(False)

    def again(s: _Balance) -> _Balance:
        v = jnp.where(s.inside, s.v, jnp.clip(s.v, -CLIP, CLIP))
        g = trees.scale(-1.0, products.pull(fixed + v))
        y = precondition(g)
        first = trees.dot(g, y)
        whole = jnp.where(s.whole < 0, first, s.whole)
        least = jnp.where(s.inside, _TIGHT, _LOOSE) ** 2 * whole
        allowed = jnp.minimum(most, budget - s.products)

        def going(rho: Array, count: Array) -> Array:
            return (rho > least) & (count < allowed)

        def iterate(s: tuple[Array, Tree, Tree, Array, Array]) -> tuple[Array, Tree, Tree, Array, Array]:
            v, residual, direction, rho, count = s
            pushed, pulled, energy = products.weighed(direction, zero)
            p = zero * pushed
            t = ratio(rho, energy)
            residual = trees.add_scaled(residual, -t, pulled)
            y = precondition(residual)
            new = jnp.where(t > 0, trees.dot(residual, y), 0.0)
            direction = while_going(going(new, count + 1), trees.add_scaled(y, ratio(new, rho), direction))
            return v + t * p, residual, direction, new, count + 1

        start = (v, g, y, first, jnp.ones((), jnp.int32))
        v, _, _, rho, count = lax.while_loop(lambda s: going(*s[3:]), iterate, start)
        inside = jnp.max(jnp.abs(v), initial=0.0) <= 1
        return _Balance(v, whole, rho, inside, s.inside, s.products + count, s.rounds + 1)

    def unfinished(s: _Balance) -> Array:
        hopeless = jnp.max(jnp.abs(s.v), initial=0.0) >= HOPELESS
        return ~(s.inside & s.tight) & ~hopeless & (s.rounds < MOST_ROUNDS) & (s.products < budget)

    end = lax.while_loop(unfinished, again, _Balance(jnp.zeros_like(fixed), unknown, unknown, no, no, none, none))
    return end.v, jnp.sqrt(jnp.maximum(ratio(end.rho, end.whole), 0.0)), end.products
