"""Weighted least squares between bounds, z = argmin Σ wᵢ (rᵢ − (AJz)ᵢ)² + λ‖z‖² over lo ≤ x + z ≤ hi, by an active set.

The columns of AJ whose variables are held at a bound are left out, the others are solved for in the same metric, and
which are held is told again from where that leads. A solution that still leaves the box is taken to its nearest point;
of all that were seen, the one that promises most is tried. The more a step is damped the less it couples variables to
each other, so that a step that is refused and damped further ends as a projected gradient, which cannot but descend.
"""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from gnpolyak.base import trees
from gnpolyak.base.namespace import Array, solve_triangular, while_loop
from gnpolyak.base.trees import Tree
from gnpolyak.oracles.base import Oracle
from gnpolyak.problem.box import Box
from gnpolyak.steps.weighted import (
    Trial,
    Weighted,
    conjugate_gradient,
    lengths,
    marquardt,
    ratio,
    trial,
)

# Sets that are tried in one step: a handful settles it where AJ is formed, and the next step goes on where not. By
# conjugate gradients each takes an inner solve, which a step that is a few products long cannot have many of.
_MOST_SETS, _MOST_SOLVES = 20, 3


class _Set(NamedTuple):
    """A guess at which variables end at their bounds, in units of the columns' lengths."""

    at_low: Array
    at_high: Array
    y: Array
    """The best step so far, inside the box."""
    model: Array
    """What the damped sum of squares would be after it, less what it is."""
    tried: Array
    going: Array


def dense(oracle: Oracle, box: Box, x: Tree, system: Weighted) -> tuple[Tree, Trial, Array]:
    """The primal-dual active set on the triangle of QR of √W AJ D⁻¹, with columns of length 1."""
    xp, matrix, (_, unravel) = oracle.xp, oracle.matrix(x), oracle.ravel(x)
    weighted = xp.sqrt(system.w)[:, None] * matrix
    column, damping = lengths(xp, weighted), marquardt(xp, system, matrix.shape[1])
    below, above = (oracle.ravel(side)[0] * column for side in box.like(xp, x).room(x))
    joined = xp.concatenate([weighted / column, (xp.sqrt(system.w) * system.r)[:, None]], axis=1)
    triangle = xp.linalg.qr(joined, mode="r")
    y = _between(xp, triangle[:, :-1], triangle[:, -1], damping, below, above)
    image = matrix @ (y / column)
    bending = ratio(xp, xp.sum(system.w * image * image), xp.sum(y * y))
    return unravel(y / column), trial(oracle, system, image, bending, damping), xp.ones((), jnp.int32)


def _between(xp: Any, matrix: Array, c: Array, damping: Array, below: Array, above: Array) -> Array:
    """The y that minimises ‖c − matrix·y‖² + damping‖y‖² over below ≤ y ≤ above, or the best point that was met.

    A variable is held at the bound that its own value plus its multiplier lies beyond: a semismooth Newton step.
    """

    def slope(y: Array) -> Array:
        return matrix.T @ (c - matrix @ y) - damping * y

    def model(y: Array) -> Array:
        image = matrix @ y
        return image @ image - 2 * c @ image + damping * y @ y

    def again(s: _Set) -> _Set:
        held = s.at_low | s.at_high
        fixed = xp.where(s.at_low, below, xp.where(s.at_high, above, 0.0))
        y = fixed + _free_part(xp, matrix, c - matrix @ fixed, damping, held)
        inside = xp.clip(y, below, above)
        value, towards = model(inside), y + xp.where(held, slope(y), 0.0)
        low, high = towards < below, towards > above
        # At the bound with no multiplier to speak of it may stay.
        low, high = low | (s.at_low & (towards <= below)), high | (s.at_high & (towards >= above))
        changed = xp.any((low != s.at_low) | (high != s.at_high))
        better = value < s.model
        return _Set(
            at_low=low,
            at_high=high,
            y=xp.where(better, inside, s.y),
            model=xp.where(better, value, s.model),
            tried=s.tried + 1,
            going=changed,
        )

    first = slope(xp.zeros_like(below))
    # A gradient step of this length lowers the model wherever anything can: the columns have length 1.
    short = xp.clip(first / (len(below) + damping), below, above)
    start = _Set(
        (below >= 0) & (first < 0),
        (above <= 0) & (first > 0),
        short,
        model(short),
        xp.zeros((), jnp.int32),
        xp.asarray(True),
    )
    return while_loop(xp, lambda s: s.going & (s.tried < _MOST_SETS), again, start).y


def _free_part(xp: Any, matrix: Array, c: Array, damping: Array, held: Array) -> Array:
    """The minimiser over the variables that are not held, zero for the others."""
    n = matrix.shape[1]
    top = xp.concatenate([xp.where(held, 0.0, matrix), c[:, None]], axis=1)
    foot = xp.sqrt(damping) * xp.eye(n, n + 1, dtype=matrix.dtype)
    triangle = xp.linalg.qr(xp.concatenate([top, foot]), mode="r")
    return solve_triangular(xp, triangle[:n, :n], triangle[:n, n])


class _Solves(NamedTuple):
    """What the solves of one step have found: the free variables, the steps of those held, and the best of all."""

    free: Tree
    fixed: Tree
    z: Tree
    trial: Trial
    promise: Array
    damping: Array
    products: Array
    solves: Array
    going: Array


def iterative(oracle: Oracle, box: Box, x: Tree, system: Weighted, budget: Array) -> tuple[Tree, Trial, Array]:
    """Conjugate gradients on the variables that are free, and again without those that this takes out of the box."""
    xp, products = oracle.xp, oracle.linearise(x, system.kept)
    below, above = box.like(xp, x).room(x)
    ascent = products.pull(system.w * system.r)

    def solve(s: _Solves) -> _Solves:
        # The others are fitted to what those at their bounds leave.
        rest = system.r - products.push(s.fixed)
        part = Weighted(rest, system.kept, system.w, s.damping, system.apart)
        share = xp.minimum(budget - s.products - 1, _MOST_CALLS // _MOST_SOLVES - 1)
        step, found, count = conjugate_gradient(oracle, x, part, share, s.free)
        z = jax.tree.map(operator.add, step, s.fixed)
        inside = jax.tree.map(xp.clip, z, below, above)
        left = jax.tree.map(lambda f, a, b: f & (a != b), s.free, z, inside)
        image = products.push(inside)
        promised = trial(oracle, system, image, found.bending, found.damping)
        # A promise that is none is refused by its own step: what the face promised is not to be had.
        kept = promised._replace(predicted=xp.maximum(promised.predicted, 0.0))
        kept = trees.select(promised.predicted > 0, kept, kept._replace(predicted=found.predicted))
        better = (s.solves == 0) | (promised.predicted > s.promise)
        made = s.products + count + 1
        out = reduce(operator.or_, [leaf.any() for leaf in jax.tree.leaves(left)])
        return _Solves(
            free=jax.tree.map(lambda f, out: f & ~out, s.free, left),
            fixed=jax.tree.map(xp.where, left, inside, s.fixed),
            z=trees.select(better, inside, s.z),
            trial=trees.select(better, kept, s.trial),
            promise=xp.where(better, promised.predicted, s.promise),
            damping=found.damping,
            products=made,
            solves=s.solves + 1,
            going=out & (made + 2 < budget),
        )

    zero, none = xp.zeros((), system.r.dtype), xp.zeros((), jnp.int32)
    still = trees.scale(0.0, ascent)
    blank = Trial(zero, zero, zero, zero)
    start = _Solves(box.free(x, ascent), still, still, blank, zero, system.damping, none, none, xp.asarray(True))
    end = while_loop(xp, lambda s: s.going & (s.solves < _MOST_SOLVES), solve, start)
    return end.z, end.trial, end.products


# A step may be this many calls long in all; each solve has its share of them.
_MOST_CALLS = 120
