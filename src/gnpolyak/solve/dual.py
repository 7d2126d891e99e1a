"""The search for a dual vector v: sign(r) where r is not zero, inside the box where it is, with (AJ)ᵀv = 0."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gnpolyak.base import trees
from gnpolyak.base.namespace import namespace, svd
from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import GRAM_PINV
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.formed import Formed
from gnpolyak.problem.oracles import Products
from gnpolyak.steps.least_absolute import least_absolute
from gnpolyak.steps.weighted import data, forms_jacobian, lengths, ratio
from gnpolyak.steps.weights import ROUNDING, typical

# Products of one solve for v, in the map's own metric and without a closed form.
_IN_METRIC, _WITHOUT = 60, 300
# Rounds of clipping and solving again.
_MOST_ROUNDS = 12
# Where v leaves the box it is clipped to a little less, to leave room for the correction.
_CLIP = 0.95
# A first v this large says that the zero residuals cannot balance the others.
_HOPELESS = 1e2
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
    products: int
    seconds: float
    """How long the search took, without compilation."""


class _Data(eqx.Module):
    """The residuals, which of them are zero, the size of a typical datum, and whether the residuals add up to h."""

    r: Array
    zero: Array
    unit: Array
    adds_up: Array


_Search = Callable[[Any, _Data], np.ndarray]


def _told(of: _Data, **figures: object) -> Dual:
    r, zero = np.asarray(of.r), np.asarray(of.zero)
    return Dual(r=r, zero=zero, unit=float(of.unit), adds_up=bool(of.adds_up), **figures)  # type: ignore[arg-type]


def _split(r: Array, value: Array, b: Array, tilt: Array | None, tol: Array | float) -> _Data:
    """The data of a point.

    A residual is zero by the size of a typical datum: the widest gap between residuals would do for neither points that
    are 1e-7 off nor data with outliers of 1e20.
    """
    xp, unit, eps = namespace(r), typical(b), float(jnp.finfo(r.dtype).eps)
    told = xp.sum(xp.abs(r)) if tilt is None else xp.sum(xp.abs(r) + tilt * r)
    adds_up = xp.abs(told - value) <= eps**0.5 * xp.maximum(value, unit)
    return _Data(r, xp.abs(r) <= xp.maximum(ROUNDING * eps, tol) * unit, unit, adds_up)


def smallest(problem: Composite, x: Tree, tol: float, budget: int) -> Dual:
    """The smallest v on the zero residuals that balances the signs of the others, brought into the box."""
    if forms_jacobian(problem, x):
        return _with_the_matrix(Formed(problem, trees.on_host(x)), trees.on_host(x), tol, _projected)
    search = _in_metric.lower(problem, x, tol, budget).compile()
    began = time.perf_counter()
    of, v, *figures, products = search(problem, x, tol, budget)
    steps, slope, left = map(float, figures)
    seconds = time.perf_counter() - began
    return _told(of, v=np.asarray(v), steps=steps, slope=slope, left=left, products=int(products), seconds=seconds)


def of_the_l1_problem(problem: Composite, x: Tree, tol: float) -> Dual:
    """The v of the linearised l1 problem itself; in noise no more residuals are zero than there are variables."""
    formed = Formed(problem, trees.on_host(x))

    # Inside the box to rounding: zero residuals may be anywhere in it.
    def search(even: Any, of: _Data) -> np.ndarray:
        return np.asarray(least_absolute(even, of.r, tilt=formed.penalty.tilt)[1])

    return _with_the_matrix(formed, trees.on_host(x), tol, search)


def _with_the_matrix(formed: Formed, x: Tree, tol: float, search: _Search) -> Dual:
    """A search with AJ at hand, on the host: its small factorisations would take longer to compile than to run."""
    began, tilt = time.perf_counter(), formed.penalty.tilt
    with np.errstate(all="ignore"):
        (value, r), matrix = formed.seen(x), formed.matrix(x)
        of: Any = _split(r, value, formed.data, tilt, tol)
        column: Any = lengths(matrix)
        even, flat = matrix / column, trees.ravel(x)[0]
        v = search(even, of)
        g = even.T @ (v if tilt is None else v + tilt)
        signs = np.where(of.zero, 0.0, np.sign(of.r))
        along = max(float(np.max(np.abs(g), initial=0.0)), float(np.finfo(g.dtype).tiny))
        moved, whole = (float(np.linalg.norm(each)) for each in (even @ (g / along), even.T @ signs))
        return _told(
            of,
            v=v,
            steps=float(np.sum(np.abs(flat) * np.abs(g) * column)),
            slope=along * float((g / along) @ (g / along)) / moved if moved > 0 else 0.0,
            left=float(np.linalg.norm(g)) / whole if whole > 0 else 0.0,
            products=1,
            seconds=time.perf_counter() - began,
        )


def _projected(even: np.ndarray, of: _Data) -> np.ndarray:
    """Projections on the balanced v and on the box in turn, by a factorisation of the rows of the zero residuals."""
    zero, r = np.asarray(of.zero), np.asarray(of.r)
    kept, v = even[zero], np.where(zero, 0.0, np.sign(r))
    q, triangle = np.linalg.qr(kept)
    left, values, right = svd(triangle)
    seen = values > len(values) * np.finfo(even.dtype).eps * np.max(values, initial=0.0)
    basis = (q @ left[:, : len(values)])[:, seen] / values[seen]
    for _ in range(_MOST_ROUNDS):
        v[zero] = np.clip(v[zero], -_CLIP, _CLIP)
        # Twice, so that rounding in the first correction is taken out by the second.
        for _ in range(2):
            v[zero] -= basis @ (right[: len(values)][seen] @ (even.T @ v))
        if np.max(np.abs(v)) <= 1 or np.max(np.abs(v)) >= _HOPELESS:
            break
    return v


@jax.jit
def _in_metric(
    problem: Composite, x: Tree, tol: Array | float, budget: Array | int
) -> tuple[_Data, Array, Array, Array, Array, Array]:
    z = problem.measure(x)
    r, value = problem.penalty.residuals(z).ravel(), problem.penalty.value(z)
    of = _split(r, value, data(problem, x), problem.penalty.tilt, tol)
    products, precondition = problem.linearised(x), problem.map.preconditioner(x)
    fixed = jnp.where(of.zero, 0.0, jnp.sign(of.r))
    most = _IN_METRIC if problem.map.has(GRAM_PINV) else _WITHOUT
    # Two products are kept for the end.
    free, left, count = _balanced(of.zero.astype(of.r.dtype), fixed, products, precondition, most, budget - 2)
    # What CG believes to be left is not believed: the bound on the gain rests on these products.
    g = products.pull(fixed + free)
    pairs = zip(jax.tree.leaves(x), jax.tree.leaves(g), strict=True)
    steps = jnp.sum(jnp.stack([jnp.sum(jnp.abs(a) * jnp.abs(b)) for a, b in pairs]))
    return of, fixed + free, steps, _slope(g, precondition(g), products.push), left, count + 2


def _slope(g: Tree, y: Tree, push: Callable[[Tree], Array]) -> Array:
    """⟨g, y⟩/‖AJy‖, for numbers of any size."""
    along, by = (jnp.max(jnp.stack([jnp.max(jnp.abs(leaf)) for leaf in jax.tree.leaves(each)])) for each in (g, y))
    along, by = (jnp.where(size > 0, size, 1.0) for size in (along, by))
    g, y = trees.scale(1 / along, g), trees.scale(1 / by, y)
    return along * (trees.dot(g, y) / lengths(push(y)[:, None])[0])


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
        v = jnp.where(s.inside, s.v, jnp.clip(s.v, -_CLIP, _CLIP))
        g = trees.scale(-1.0, products.pull(fixed + v))
        y = precondition(g)
        first = trees.dot(g, y)
        whole = jnp.where(s.whole < 0, first, s.whole)
        least = jnp.where(s.inside, _TIGHT, _LOOSE) ** 2 * whole
        allowed = jnp.minimum(most, budget - s.products)

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
            lambda s: (s[3] > least) & (s[4] < allowed), iterate, (v, g, y, first, jnp.ones((), jnp.int32))
        )
        inside = jnp.max(jnp.abs(v), initial=0.0) <= 1
        return _Balance(v, whole, rho, inside, s.inside, s.products + count, s.rounds + 1)

    def unfinished(s: _Balance) -> Array:
        hopeless = jnp.max(jnp.abs(s.v), initial=0.0) >= _HOPELESS
        return ~(s.inside & s.tight) & ~hopeless & (s.rounds < _MOST_ROUNDS) & (s.products < budget)

    end = lax.while_loop(unfinished, again, _Balance(jnp.zeros_like(fixed), unknown, unknown, no, no, none, none))
    return end.v, jnp.sqrt(jnp.maximum(ratio(end.rho, end.whole), 0.0)), end.products
