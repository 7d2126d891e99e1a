"""Several cuts instead of one: the nearest point, in the method's metric, where all of them are at or below the level.

Each evaluated point gives a cut, f(y) ≈ f_j + ⟨g_j, y − x_j⟩. Polyak's step goes to the nearest point where the newest
cut meets the level. Older cuts, which the method has already paid for, say where that point would be too high.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

from gnpolyak.base import small, trees
from gnpolyak.base.modules import Module
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Point
from gnpolyak.steps import cut_kernel

# Added to the unit diagonal of the scaled cut matrix, in rounding units, so that equal cuts do not make it singular.
_RIDGE = 1e4
# The point common to all cuts may be this many times as far as the furthest single cut; beyond, they are in conflict.
_REACH = 5.0


class Cut(Module):
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


class Bundle(Module):
    """The cuts of the last k evaluated points, stacked along a leading axis, the newest first."""

    cuts: Cut
    filled: Array
    """Which of the k places hold a cut."""


def begin(size: int, point: Point) -> Bundle:
    """A bundle of `size` places that holds one cut."""
    cuts = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (size, *leaf.shape)), Cut.at(point))
    return Bundle(cuts, jnp.arange(size) == 0)


def push(bundle: Bundle, point: Point) -> Bundle:
    """The bundle with a new cut in front and the oldest dropped; unchanged by a point that is not finite."""
    cut = Cut.at(point)
    cuts = jax.tree.map(lambda old, new: jnp.concatenate([new[None], old[:-1]]), bundle.cuts, cut)
    pushed = Bundle(cuts, jnp.concatenate([jnp.ones(1, bool), bundle.filled[:-1]]))
    return trees.select(trees.all_finite(cut), pushed, bundle)


def from_here(bundle: Bundle, point: Point) -> Bundle:
    """The bundle with the cut of the point to step from in a new first place.

    That point need not be the newest, since a target rule may go back to a better one. Where its cut is in the bundle
    already, the older copy counts as an empty place.
    """
    cut = Cut.at(point)
    cuts = jax.tree.map(lambda old, own: jnp.concatenate([own[None], old]), bundle.cuts, cut)
    # The point itself is compared too: sums of which some are put into an array are no longer sums to a GPU's compiler.
    copies = jax.vmap(lambda each: trees.equal(each.x, cut.x))(cuts)
    own = jnp.arange(len(copies)) == 0
    return Bundle(cuts, own | (jnp.pad(bundle.filled, (1, 0)) & ~copies))


def heights(bundle: Bundle, y: Tree) -> Array:
    """The value of each cut at y."""
    return jax.vmap(lambda cut: cut.height(y))(bundle.cuts)


def displacement(bundle: Bundle, directions: Tree, gap: Array) -> tuple[Tree, Array, Array]:
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
    g = bundle.cuts.subgradient
    matrix = jax.vmap(lambda a: jax.vmap(lambda b: trees.dot(a, b))(directions))(g)
    height = heights(bundle, point.x)
    multipliers, sound = _multipliers(matrix, height, bundle.filled, point.value, gap)
    step = jax.tree.map(lambda s: jnp.tensordot(multipliers, s, axes=1), directions)
    return step, jnp.sum(multipliers), sound


def multipliers(matrix: Array, height: Array, filled: Array, value: Array, gap: Array) -> tuple[Array, Array]:
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
    size = jnp.sqrt(jnp.maximum(jnp.sum(jnp.where(_unit(matrix) > 0, matrix, 0.0), axis=1), 0.0))
    usable = filled & (height <= value + gap) & (size > 0)
    size = jnp.where(usable, size, 1.0)
    cosines = matrix / size[:, None] / size[None, :]
    excess = jnp.where(usable, (jnp.minimum(height, value) - value + gap) / size, 0.0)
    weights = nonnegative_minimizer(cosines, excess, usable)
    length = jnp.sqrt(jnp.maximum(jnp.sum(weights * (cosines @ weights)), 0.0))
    left = jnp.max(jnp.where(usable, excess - cosines @ weights, 0.0))
    furthest = jnp.max(excess)
    sound = (
        (length <= _REACH * furthest)
        & (left <= float(jnp.finfo(left.dtype).eps) ** 0.4 * furthest)
        & (jnp.sum(jnp.where(jnp.isfinite(weights), 0, 1)) == 0)
    )
    return weights / size, sound


def nonnegative_minimizer(matrix: Array, linear: Array, usable: Array) -> Array:
    """The λ ≥ 0 that minimises ½ λᵀMλ − ⟨e, λ⟩ over the usable entries, by an active-set method.

    M is positive semidefinite with a unit diagonal. Each round either solves on the current support and admits the
    entry with the largest violation, or steps back to the boundary and removes what became zero; k entries
    need a few rounds, and the cap is only there for cycles of rounding.
    """
    size = linear.shape[0]
    places = lax.iota(jnp.int32, size)
    ridge = _RIDGE * float(jnp.finfo(matrix.dtype).eps)
    unit = _unit(matrix)
    ridged = matrix + ridge * unit
    threshold = ridge * jnp.max(jnp.abs(linear))

    def unfinished(state: tuple[Array, Array, Array, Array]) -> Array:
        _, _, rounds, done = state
        return ~done & (rounds < 6 * size)

    def improve(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        weights, support, rounds, _ = state
        both = support[:, None] & support[None, :]
        solved = jnp.linalg.solve(jnp.where(both, ridged, unit), jnp.where(support, linear, 0.0))
        negative = support & (solved <= 0)
        ratio = jnp.where(negative, weights / jnp.where(negative, weights - solved, 1.0), jnp.inf)
        backed = weights + jnp.minimum(jnp.min(ratio), 1.0) * (solved - weights)
        kept = support & ~(negative & (ratio <= jnp.min(ratio)))
        violation = jnp.where(usable & ~support, linear - ridged @ solved, -jnp.inf)
        worst = jnp.max(violation)
        admits = worst > threshold
        first = jnp.min(jnp.where(violation >= worst, places, size))
        grown = support | (admits & (places == first))
        stuck = jnp.sum(jnp.where(negative, 1, 0)) > 0
        return (
            jnp.where(stuck, jnp.where(kept, backed, 0.0), solved),
            jnp.where(stuck, kept, grown),
            rounds + 1,
            ~stuck & ~admits,
        )

    start = usable & (places == 0)
    none = jnp.sum(jnp.where(start, 0, 0)).astype(jnp.int32)
    weights, *_ = lax.while_loop(unfinished, improve, (0 * linear, start, none, none > 0))
    return jnp.maximum(weights, 0.0)


def _unit(matrix: Array) -> Array:
    """The unit matrix of the same size."""
    rows, columns = (lax.broadcasted_iota(jnp.int32, matrix.shape, axis) for axis in (0, 1))
    return jnp.where(rows == columns, 1.0, 0.0).astype(matrix.dtype)


def in_a_kernel(*parts: Array, interpret: bool = False) -> tuple[Array, Array]:
    """`multipliers` as one kernel of a GPU."""
    ridge = _RIDGE * float(jnp.finfo(parts[0].dtype).eps)
    return cut_kernel.in_a_kernel(*parts, ridge=ridge, reach=_REACH, interpret=interpret)


_multipliers = small.by_platform(in_a_kernel, multipliers)
