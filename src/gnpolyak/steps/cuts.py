"""Several cuts instead of one: the nearest point, in the method's metric, where all of them are at or below the level.

Each evaluated point gives a cut, f(y) ≈ f_j + ⟨g_j, y − x_j⟩. Polyak's step goes to the nearest point where the newest
cut meets the level. Older cuts, which the method has already paid for, say where that point would be too high.
"""

from __future__ import annotations

import operator
from functools import partial, reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gnpolyak.base import small, trees
from gnpolyak.base.namespace import Array, eps_of, solve
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Point
from gnpolyak.steps import cut_kernel

# Added to the unit diagonal of the scaled cut matrix, in rounding units, so that equal cuts do not make it singular.
_RIDGE = 1e4
# The point common to all cuts may be this many times as far as the furthest single cut; beyond, they are in conflict.
_REACH = 5.0


class Cut(NamedTuple):
    """What one point says about all others: f(y) ≈ value + ⟨subgradient, y − x⟩."""

    x: Tree
    value: Array
    subgradient: Tree

    @classmethod
    def at(cls, point: Point) -> Cut:
        """The cut of an evaluated point."""
        return cls(point.x, point.value, point.subgradient)

    def height(self, y: Tree) -> Array:
        """The value of the cut at y."""
        return self.value + trees.dot(self.subgradient, trees.subtract(y, self.x))


class Bundle(NamedTuple):
    """The cuts of the last k evaluated points, stacked along a leading axis, the newest first."""

    cuts: Cut
    filled: Array
    """Which of the k places hold a cut."""


def begin(xp: Any, size: int, point: Point) -> Bundle:
    """A bundle of `size` places that holds one cut."""
    # Copies: views of one would leave the cuts in an order in memory that no file keeps, and rounding depends on it.
    cuts = jax.tree.map(lambda leaf: xp.stack([leaf] * size), Cut.at(point))
    return Bundle(cuts, xp.arange(size) == 0)


def push(xp: Any, bundle: Bundle, point: Point) -> Bundle:
    """The bundle with a new cut in front and the oldest dropped; unchanged by a point that is not finite."""
    cut = Cut.at(point)
    cuts = _in_front(xp, cut, jax.tree.map(lambda old: old[:-1], bundle.cuts))
    pushed = Bundle(cuts, xp.concatenate([xp.ones(1, bool), bundle.filled[:-1]]))
    return trees.select(trees.all_finite(cut), pushed, bundle)


def _in_front(xp: Any, cut: Cut, others: Cut) -> Cut:
    return jax.tree.map(lambda own, old: xp.concatenate([xp.asarray(own)[None], old]), cut, others)


def from_here(xp: Any, bundle: Bundle, point: Point) -> Bundle:
    """The bundle with the cut of the point to step from in a new first place.

    That point need not be the newest, since a target rule may go back to a better one. Where its cut is in the bundle
    already, the older copy counts as an empty place.
    """
    cut = Cut.at(point)
    cuts = _in_front(xp, cut, bundle.cuts)
    # The point itself is compared too: sums of which some are put into an array are no longer sums to a GPU's compiler.
    copies = _equal_to(cuts.x, cut.x)
    own = xp.arange(len(copies)) == 0
    return Bundle(cuts, own | (xp.concatenate([xp.zeros(1, bool), bundle.filled]) & ~copies))


def _equal_to(stacked: Tree, x: Tree) -> Array:
    """Which members of a stack are x."""
    pairs = zip(jax.tree.leaves(stacked), jax.tree.leaves(x), strict=True)
    return reduce(operator.and_, [(many == one).reshape(len(many), -1).all(axis=1) for many, one in pairs])


def heights(bundle: Bundle, y: Tree) -> Array:
    """The value of each cut at y, f_j + ⟨g_j, y − x_j⟩."""
    cuts = bundle.cuts
    leaves = zip(jax.tree.leaves(cuts.subgradient), jax.tree.leaves(cuts.x), jax.tree.leaves(y), strict=True)
    rises = [(g.conj() * (one - x)).real.reshape(len(g), -1).sum(axis=1) for g, x, one in leaves]
    return cuts.value + reduce(operator.add, rises)


def _products(a: Tree, b: Tree) -> Array:
    """The matrix ⟨a_i, b_j⟩ of two stacks."""
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return reduce(operator.add, [(_rows(u.conj()) @ _rows(v).T).real for u, v in pairs])


def _rows(stacked: Array) -> Array:
    return stacked.reshape(len(stacked), -1)


def displacement(xp: Any, bundle: Bundle, directions: Tree, gap: Array) -> tuple[Tree, Array, Array]:
    """The step −Σ λ_j s_j from the bundle's first point to the nearest where every cut is at most f − gap, s_j = G†g_j.

    λ ≥ 0 minimises ½ λᵀMλ − ⟨e, λ⟩ with M_ij = ⟨g_i, s_j⟩ and e_j the height of cut j above the level at x. Where c is
    curved, an old cut may claim more at x than the value found there. Up to the gap such a cut is lowered to that
    value; beyond, it is dropped.

    Returns
    -------
    step : array or pytree
        Σ λ_j s_j, to be subtracted.
    total : Array
        Σ λ_j, which is γ for a single cut.
    sound : Array
        Whether the cuts have a common point in reach; if not, the first alone is to be used.
    """
    point = jax.tree.map(lambda leaf: leaf[0], bundle.cuts)
    matrix = _products(bundle.cuts.subgradient, directions)
    height = heights(bundle, point.x)
    solve = _multipliers if xp is jnp else partial(multipliers, np)
    weights, sound = solve(matrix, height, bundle.filled, point.value, gap)
    step = jax.tree.map(lambda s: (weights @ _rows(s)).reshape(s.shape[1:]), directions)
    return step, weights.sum(), sound


def multipliers(xp: Any, matrix: Array, height: Array, filled: Array, value: Array, gap: Array) -> tuple[Array, Array]:
    """The λ of `displacement`, and whether the cuts have a common point in reach.

    Parameters
    ----------
    matrix : Array
        M.
    height : Array
        The height of each cut at the point to step from.
    filled : Array
        Which cuts there are.
    value, gap : Array
        The value at that point, and how far below it the level is.
    """
    size = xp.sqrt(xp.maximum(_diagonal(xp, matrix), 0.0))
    usable = filled & (height <= value + gap) & (size > 0)
    size = xp.where(usable, size, 1.0)
    cosines = matrix / size[:, None] / size[None, :]
    excess = xp.where(usable, (xp.minimum(height, value) - value + gap) / size, 0.0)
    weights = nonnegative_minimizer(xp, cosines, excess, usable)
    met = cosines @ weights
    length = xp.sqrt(xp.maximum((weights * met).sum(), 0.0))
    left = xp.where(usable, excess - met, 0.0).max()
    furthest = excess.max()
    sound = (
        (length <= _REACH * furthest)
        & (left <= eps_of(left.dtype) ** 0.4 * furthest)
        & (xp.where(xp.isfinite(weights), 0, 1).sum() == 0)
    )
    return weights / size, sound


def nonnegative_minimizer(xp: Any, matrix: Array, linear: Array, usable: Array) -> Array:
    """The λ ≥ 0 that minimises ½ λᵀMλ − ⟨e, λ⟩ over the usable entries, by an active-set method.

    M is positive semidefinite with a unit diagonal. Each round either solves on the current support and admits the
    entry with the largest violation, or steps back to the boundary and removes what became zero; k entries
    need a few rounds, and the cap is only there for cycles of rounding.
    """
    size = linear.shape[0]
    ridge = _RIDGE * eps_of(matrix.dtype)
    unit = _unit(xp, matrix)
    ridged = matrix + ridge * unit
    threshold = ridge * abs(linear).max()
    if xp is np:
        return _on_the_support(ridged, linear, usable, threshold)
    places = lax.iota(jnp.int32, size)

    def unfinished(state: _Support) -> Array:
        return ~state.done & (state.rounds < 6 * size)

    def improve(state: _Support) -> _Support:
        weights, support = state.weights, state.support
        both = support[:, None] & support[None, :]
        solved = jnp.linalg.solve(jnp.where(both, ridged, unit), jnp.where(support, linear, 0.0))
        negative = support & (solved <= 0)
        ratio = jnp.where(negative, weights / jnp.where(negative, weights - solved, 1.0), jnp.inf)
        backed = weights + jnp.minimum(ratio.min(), 1.0) * (solved - weights)
        kept = support & ~(negative & (ratio <= ratio.min()))
        violation = jnp.where(usable & ~support, linear - ridged @ solved, -jnp.inf)
        worst = violation.max()
        admits = worst > threshold
        first = jnp.where(violation >= worst, places, size).min()
        grown = support | (admits & (places == first))
        stuck = jnp.where(negative, 1, 0).sum() > 0
        return _Support(
            jnp.where(stuck, jnp.where(kept, backed, 0.0), solved),
            jnp.where(stuck, kept, grown),
            state.rounds + 1,
            ~stuck & ~admits,
        )

    start = usable & (places == 0)
    none = jnp.where(start, 0, 0).sum().astype(np.int32)
    return jnp.maximum(lax.while_loop(unfinished, improve, _Support(0 * linear, start, none, none > 0)).weights, 0.0)


class _Support(NamedTuple):
    """The weights, which of them may be positive, and how often that was revised."""

    weights: Array
    support: Array
    rounds: Array
    done: Array


def _on_the_support(matrix: Any, linear: Any, usable: Any, threshold: float) -> Any:
    """The same rounds on the host, on the entries of the support alone: a third of the work of whole matrices."""
    weights, support = np.zeros_like(linear), np.flatnonzero(usable[:1])
    for _ in range(6 * len(linear)):
        solved = solve(np, matrix[support[:, None], support], linear[support])
        negative = solved <= 0
        if negative.any():
            before = weights[support]
            ratio = np.where(negative, before / np.where(negative, before - solved, 1.0), np.inf)
            backed = before + min(ratio.min(), 1.0) * (solved - before)
            kept = ~(negative & (ratio <= ratio.min()))
            weights[:] = 0.0
            support = support[kept]
            weights[support] = backed[kept]
            continue
        weights[:] = 0.0
        weights[support] = solved
        violation = np.where(usable, linear - matrix[:, support] @ solved, -np.inf)
        violation[support] = -np.inf
        first = int(violation.argmax())
        if not violation[first] > threshold:
            break
        support = np.append(support, first)
    return np.maximum(weights, 0.0)


def _diagonal(xp: Any, matrix: Array) -> Array:
    return jnp.sum(jnp.where(_unit(jnp, matrix) > 0, matrix, 0.0), axis=1) if xp is jnp else np.diagonal(matrix)


def _unit(xp: Any, matrix: Array) -> Array:
    """The unit matrix of the same size; for JAX in a form that kernels of a GPU can have too."""
    if xp is np:
        return np.eye(len(matrix), dtype=matrix.dtype)
    rows, columns = (lax.broadcasted_iota(jnp.int32, matrix.shape, axis) for axis in (0, 1))
    return jnp.where(rows == columns, 1.0, 0.0).astype(matrix.dtype)


def in_a_kernel(*parts: Array, interpret: bool = False) -> tuple[Array, Array]:
    """`multipliers` as one kernel of a GPU."""
    ridge = _RIDGE * eps_of(parts[0].dtype)
    return cut_kernel.in_a_kernel(*parts, ridge=ridge, reach=_REACH, interpret=interpret)


_multipliers = small.by_platform(in_a_kernel, partial(multipliers, jnp))
