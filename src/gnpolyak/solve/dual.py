"""The search for a dual vector v: sign(r) where r is not zero, inside the box where it is, with (AJ)ᵀv = 0."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import reduce as reduce_
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base import trees
from gnpolyak.base.measurements import Layout, gathered
from gnpolyak.base.namespace import Array, eps_of, while_loop
from gnpolyak.base.trees import Tree
from gnpolyak.oracles import Oracle, Reductions
from gnpolyak.problem.box import Box
from gnpolyak.problem.oracles import Products
from gnpolyak.solve.runners import Runner
from gnpolyak.steps.weighted import lengths, over, ratio, while_going
from gnpolyak.steps.weights import ROUNDING

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
    sees: bool = True
    """Whether any variable moves any measurement at all, as far as AJ was formed."""

    def of_many(self) -> Dual:
        """The same as one of several, each figure with an axis in front."""
        figures: dict[str, Any] = {each.name: np.asarray(getattr(self, each.name))[None] for each in fields(self)}
        return replace(self, **figures)


class Data(NamedTuple):
    """The residuals, which of them are zero, the size of a typical datum, and whether the residuals add up to h."""

    r: Array
    zero: Array
    unit: Array
    adds_up: Array


def told(of: Data, layout: Layout | None = None, **figures: object) -> Dual:
    """A dual vector of these data, with its figures."""
    r, zero = gathered(layout, of.r), gathered(layout, of.zero)
    return Dual(r=r, zero=zero, unit=float(of.unit), adds_up=bool(of.adds_up), **figures)  # type: ignore[arg-type]


def stacked(found: tuple[Any, ...], counted: Callable[[Any], Any]) -> Dual:
    """Those of several points, each figure with an axis in front: what `search` has found for all of them at once.

    `counted` leaves out of vectors of data the places that hold none.
    """
    of, v, steps, slope, left, products = found
    figures: dict[str, Any] = {"steps": steps, "slope": slope, "left": left, "products": products}
    edge, sees = np.zeros(len(v)), np.ones(len(v), bool)
    v, r, zero = (counted(each) for each in (v, of.r, of.zero))
    return Dual(v, r, zero, of.unit, of.adds_up, edge=edge, sees=sees, **figures)  # type: ignore[arg-type]


def split(reduce: Reductions, r: Array, value: Array, b: Array, tilt: Array | None, tol: Array | float) -> Data:
    """The data of a point.

    A residual is zero by the size of a typical datum: the widest gap between residuals would do for neither points that
    are 1e-7 off nor data with outliers of 1e20.
    """
    xp, unit, eps = reduce.xp, reduce.typical(b), eps_of(r.dtype)
    (told,) = reduce.sums(abs(r) if tilt is None else abs(r) + tilt * r)
    adds_up = abs(told - value) <= eps**0.5 * xp.maximum(value, unit)
    return Data(r, abs(r) <= xp.maximum(ROUNDING * eps, tol) * unit, unit, adds_up)


def in_metric(runner: Runner, box: Box | None, layout: Layout | None, x: Tree, tol: float, budget: int) -> Dual:
    """The smallest v on the zero residuals that balances the signs of the others, brought into the box.

    By conjugate gradients in the metric of the map. Variables at their bounds are held, and freed again where v pushes
    them inwards.
    """
    free = None if box is None else jax.tree.map(operator.invert, box.active(x))
    made = 0
    for _ in range(MOST_FREED):
        of, v, *figures, products, inwards = runner.ask(search, x, tol, budget - made, free)
        made += int(products)
        if free is None or bool(trees.equal(inwards, free)) or budget - made < LEAST:
            break
        free = inwards
    steps, slope, left = map(float, figures)
    figures_told = {"steps": steps, "slope": slope, "left": left, "products": made}
    return told(of, layout, v=gathered(layout, v), edge=0.0, **figures_told)


def search(
    oracle: Oracle, x: Tree, tol: Array | float, budget: Array | int, free: Tree | None
) -> tuple[Data, Array, Array, Array, Array, Array, Tree]:
    """The search on the variables that are free; at last which ones those are that its v does not push outwards."""
    xp = oracle.xp
    value, r, kept = oracle.residuals(x)
    of = split(oracle.reduce, r, value, oracle.data, oracle.tilt, tol)
    every = oracle.linearise(x, kept)
    products = every if free is None else every.over(xp, free)
    fixed = xp.where(of.zero, 0.0, xp.sign(of.r))
    most = _IN_METRIC if oracle.preconditioned else _WITHOUT
    precondition = over(xp, free, oracle.metric(x))
    # Two products are kept for the end.
    found, left, count = _balanced(xp, of.zero.astype(of.r.dtype), fixed, products, precondition, most, budget - 2)
    # What CG believes to be left is not believed: the bound on the gain rests on these products.
    g, inwards = every.pull(fixed + found), free
    if free is not None and oracle.box is not None:
        inwards = jax.tree.map(operator.or_, free, oracle.box.free(x, g))
        g = trees.masked(xp, inwards, g)
    pairs = zip(jax.tree.leaves(x), jax.tree.leaves(g), strict=True)
    steps = reduce_(operator.add, [(abs(a) * abs(b)).sum() for a, b in pairs])
    slope = _slope(xp, g, over(xp, inwards, oracle.metric(x))(g), every.push)
    return of, fixed + found, steps, slope, left, count + 2, inwards


def _slope(xp: Any, g: Tree, y: Tree, push: Callable[[Tree], Array]) -> Array:
    """⟨g, y⟩/‖AJy‖, for numbers of any size."""
    along, by = (_largest(xp, each) for each in (g, y))
    g, y = trees.scale(1 / along, g), trees.scale(1 / by, y)
    return along * (trees.dot(g, y) / lengths(xp, push(y)[:, None])[0])


def _largest(xp: Any, a: Tree) -> Array:
    """The largest size of a number in the tree, 1 where all are zero."""
    size = reduce_(xp.maximum, [abs(leaf).max() for leaf in jax.tree.leaves(a)])
    return xp.where(size > 0, size, 1.0)


class _Balance(NamedTuple):
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
    xp: Any,
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
    none, unknown, no = xp.zeros((), jnp.int32), xp.asarray(-1.0, fixed.dtype), xp.asarray(False)

    def again(s: _Balance) -> _Balance:
        v = xp.where(s.inside, s.v, xp.clip(s.v, -CLIP, CLIP))
        g = trees.scale(-1.0, products.pull(fixed + v))
        y = precondition(g)
        first = trees.dot(g, y)
        whole = xp.where(s.whole < 0, first, s.whole)
        least = xp.where(s.inside, _TIGHT, _LOOSE) ** 2 * whole
        allowed = xp.minimum(most, budget - s.products)

        def going(rho: Array, count: Array) -> Array:
            return (rho > least) & (count < allowed)

        def iterate(s: tuple[Array, Tree, Tree, Array, Array]) -> tuple[Array, Tree, Tree, Array, Array]:
            v, residual, direction, rho, count = s
            pushed, pulled, energy = products.weighed(direction, zero)
            t = ratio(xp, rho, energy)
            residual = trees.add_scaled(residual, -t, pulled)
            y = precondition(residual)
            new = xp.where(t > 0, trees.dot(residual, y), 0.0)
            onward = trees.add_scaled(y, ratio(xp, new, rho), direction)
            direction = while_going(xp, going(new, count + 1), onward)
            return v + t * (zero * pushed), residual, direction, new, count + 1

        start = (v, g, y, first, xp.ones((), jnp.int32))
        v, _, _, rho, count = while_loop(xp, lambda s: going(*s[3:]), iterate, start)
        inside = xp.max(abs(v), initial=0.0) <= 1
        return _Balance(v, whole, rho, inside, s.inside, s.products + count, s.rounds + 1)

    def unfinished(s: _Balance) -> Array:
        hopeless = xp.max(abs(s.v), initial=0.0) >= HOPELESS
        return ~(s.inside & s.tight) & ~hopeless & (s.rounds < MOST_ROUNDS) & (s.products < budget)

    end = while_loop(xp, unfinished, again, _Balance(xp.zeros_like(fixed), unknown, unknown, no, no, none, none))
    return end.v, xp.sqrt(xp.maximum(ratio(xp, end.rho, end.whole), 0.0)), end.products
