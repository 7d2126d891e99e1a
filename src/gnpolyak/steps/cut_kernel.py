"""The small problem of `gnpolyak.steps.cuts` as one kernel of a GPU.

There every call of a library, and every turn of a loop that XLA runs, takes longer than all of this. Each number of the
matrix is a variable of its own, as it is in `gnpolyak.base.kernels.eigh`: threads have nothing to exchange, and what
arrays of 8 numbers would spend on sums across a warp is not spent.
"""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from gnpolyak.base import small
from gnpolyak.base.namespace import Array, eps_of

Vector = list[Array]
Matrix = dict[tuple[int, int], Array]
"""A symmetric matrix by its entries (i, j) with i ≤ j."""


def in_a_kernel(
    matrix: Array,
    height: Array,
    filled: Array,
    value: Array,
    gap: Array,
    *,
    ridge: float,
    reach: float,
    interpret: bool = False,
) -> tuple[Array, Array]:
    """`gnpolyak.steps.cuts.multipliers` of the same arguments.

    Parameters
    ----------
    ridge, reach : float
        What is added to the unit diagonal, and how far the common point may be, in units of the furthest cut.
    """
    k, dtype = len(height), matrix.dtype

    def kernel(matrix: Any, height: Any, filled: Any, value: Any, gap: Any, found: Any, sound: Any) -> None:
        m = {(i, j): (matrix[i, j] + matrix[j, i]) / 2 for j in range(k) for i in range(j + 1)}
        told, fine = _multipliers(
            m, [height[i] for i in range(k)], [filled[i] > 0 for i in range(k)], value[0], gap[0], ridge, reach
        )
        for i in range(k):
            found[i] = told[i]
        sound[0] = jnp.where(fine, 1, 0).astype(jnp.int32)

    shapes = [jax.ShapeDtypeStruct((k,), dtype), jax.ShapeDtypeStruct((1,), jnp.int32)]
    given = matrix, height.astype(dtype), filled.astype(jnp.int32), *(jnp.reshape(each, 1) for each in (value, gap))
    found, sound = small.kernels().call(kernel, shapes, *given, interpret=interpret)
    return found, sound[0] > 0


def _multipliers(
    m: Matrix, height: Vector, filled: Vector, value: Array, gap: Array, ridge: float, reach: float
) -> tuple[Vector, Array]:
    """The multipliers, and whether the cuts have a common point in reach; inside, all cuts are of length 1."""
    k, zero = len(height), value - value
    size = [jnp.sqrt(jnp.maximum(m[i, i], 0.0)) for i in range(k)]
    usable = [filled[i] & (height[i] <= value + gap) & (size[i] > 0) for i in range(k)]
    unit = [1.0 / jnp.where(each, length, 1.0) for each, length in zip(usable, size, strict=True)]
    cosines = {(i, j): jnp.where(usable[i] & usable[j], m[i, j], 0.0) * unit[i] * unit[j] for i, j in m}
    excess = [jnp.where(usable[i], (jnp.minimum(height[i], value) - value + gap) * unit[i], zero) for i in range(k)]
    weights = _minimizer(cosines, excess, usable, ridge)
    raised = _product(cosines, weights)
    length = jnp.sqrt(jnp.maximum(_sum([w * c for w, c in zip(weights, raised, strict=True)]), 0.0))
    left = _largest([jnp.where(usable[i], excess[i] - raised[i], 0.0) for i in range(k)])
    furthest = _largest(excess)
    finite = reduce(operator.and_, [jnp.abs(w) < jnp.inf for w in weights])
    near = left <= eps_of(left.dtype) ** 0.4 * furthest
    return [w * u for w, u in zip(weights, unit, strict=True)], (length <= reach * furthest) & near & finite


def _minimizer(m: Matrix, linear: Vector, usable: Vector, ridge: float) -> Vector:
    """The λ ≥ 0 that minimises ½ λᵀMλ − ⟨e, λ⟩, by the rounds of `gnpolyak.steps.cuts.nonnegative_minimizer`."""
    k = len(linear)
    ridged = {(i, j): jnp.where(usable[i], entry, 1.0) + ridge if i == j else entry for (i, j), entry in m.items()}
    threshold = ridge * _largest([jnp.abs(e) for e in linear])
    # Made of what was read: Triton takes no constants where a loop begins or ends.
    zero = linear[0] - linear[0]

    def improve(state: tuple[Vector, Vector, Array, Array]) -> tuple[Vector, Vector, Array, Array]:
        weights, held, rounds, _ = state
        support = [each > 0 for each in held]
        solved = _solved(ridged, linear, support)
        negative = [s & (x <= 0) for s, x in zip(support, solved, strict=True)]
        ratio = [
            jnp.where(n, w / jnp.where(n, w - x, 1.0), jnp.inf)
            for n, w, x in zip(negative, weights, solved, strict=True)
        ]
        least = -_largest([-each for each in ratio])
        share = jnp.minimum(least, 1.0)
        kept = [s & ~(n & (each <= least)) for s, n, each in zip(support, negative, ratio, strict=True)]
        against = _product(ridged, solved)
        violation = [jnp.where(usable[i] & ~support[i], linear[i] - against[i], -jnp.inf) for i in range(k)]
        worst = _largest(violation)
        admits = worst > threshold
        stuck = reduce(operator.or_, negative)
        grown = _with_first(support, [admits & (each >= worst) for each in violation])
        following = [
            jnp.where(stuck, jnp.where(keep, w + share * (x - w), 0.0), x)
            for keep, w, x in zip(kept, weights, solved, strict=True)
        ]
        ours = [jnp.where(jnp.where(stuck, keep, grow), zero + 1, zero) for keep, grow in zip(kept, grown, strict=True)]
        return following, ours, rounds + 1, jnp.where(stuck | admits, zero, zero + 1)

    start = [jnp.where(usable[0], zero + 1, zero)] + [zero] * (k - 1)
    weights, *_ = lax.while_loop(
        lambda state: (state[3] <= 0) & (state[2] < 6 * k), improve, ([zero] * k, start, zero, zero)
    )
    return [jnp.maximum(w, 0.0) for w in weights]


def _solved(m: Matrix, b: Vector, support: Vector) -> Vector:
    """The solution on a support, zero outside, by elimination in the order of the rows."""
    k = len(b)
    a = {
        (i, j): jnp.where(support[i], entry, 1.0) if i == j else jnp.where(support[i] & support[j], entry, 0.0)
        for (i, j), entry in m.items()
    }
    x = [jnp.where(s, each, 0.0) for s, each in zip(support, b, strict=True)]
    inverse = []
    for p in range(k):
        inverse.append(1.0 / a[p, p])
        for i in range(p + 1, k):
            factor = a[p, i] * inverse[p]
            x[i] = x[i] - factor * x[p]
            for j in range(i, k):
                a[i, j] = a[i, j] - factor * a[p, j]
    for p in reversed(range(k)):
        x[p] = (x[p] - _sum([a[p, j] * x[j] for j in range(p + 1, k)])) * inverse[p] if p + 1 < k else x[p] * inverse[p]
    return x


def _with_first(support: Vector, candidates: Vector) -> Vector:
    """A support with the first of the candidates in it."""
    grown, before = [], candidates[0] & ~candidates[0]
    for s, candidate in zip(support, candidates, strict=True):
        grown.append(s | (candidate & ~before))
        before = before | candidate
    return grown


def _product(m: Matrix, x: Vector) -> Vector:
    k = len(x)
    return [_sum([m[min(i, j), max(i, j)] * x[j] for j in range(k)]) for i in range(k)]


def _sum(terms: Vector) -> Array:
    return reduce(operator.add, terms)


def _largest(terms: Vector) -> Array:
    return reduce(jnp.maximum, terms)
