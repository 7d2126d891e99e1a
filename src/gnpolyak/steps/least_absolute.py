"""The value itself, where there is noise: each linearised l1 problem is solved to its end by an interior point.

Graduated steps end in an estimate, whose value is near the least one. To find that, x ← x + z with

    z = argmin ‖r − AJz‖₁ + (prox/2) ‖Dz‖²,     D the lengths of the columns of AJ,

where the proximal term is there only while steps are refused. For AJ that is formed.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp

from gnpolyak.base import trees
from gnpolyak.base.namespace import Array, cho_solver, eps_of, svd, while_loop
from gnpolyak.base.trees import Tree
from gnpolyak.oracles.base import Oracle
from gnpolyak.oracles.reductions import Reductions
from gnpolyak.problem.capabilities import RESIDUALS, TILT
from gnpolyak.problem.composite import Composite, Point
from gnpolyak.steps.methods import Method, Outlook, Proposal
from gnpolyak.steps.status import Status
from gnpolyak.steps.weighted import lengths, ratio, residuals_at

# The relative gap to which an l1 problem is solved, and the steps that may take; a dozen are usual.
_GAP, _MOST_STEPS = 1e-10, 60
# A linearised problem that promises less of the value than this has nothing left to give.
_PROMISE = 1e-9
# A dozen steps are usual. More than this creep along a valley that has no end.
_MOST_TRIALS = 100
# How far a step of the interior point goes to the boundary.
_SHORT = 0.9995


class _Interior(NamedTuple):
    """max ⟨c, v⟩ over Qᵀv = 0, |v| ≤ 1, and its other side, min Σ p + o over p − o = c − Qz."""

    z: Array
    v: Array
    p: Array
    o: Array
    steps: Array
    going: Array


Within = tuple[Array, Array]
"""The steps to the lower bounds of the variables, at most 0, and to the upper ones, at least 0."""


def least_absolute(
    xp: Any,
    matrix: Array,
    r: Array,
    prox: Array | float = 0.0,
    tilt: Array | None = None,
    within: Within | None = None,
) -> tuple[Array, Array]:
    """The z that minimises ‖r − matrix·z‖₁ + (prox/2)‖Dz‖², and the v that proves it, by a primal-dual interior point.

    With a tilt t the sum of t (r − matrix·z) is part of what is minimised, as quantiles have it. With bounds on z it is
    minimised between them, and v balances the others up to multipliers that push out of the box.

    Columns are turned orthonormal first, so that the condition of the matrix does not enter the iteration. Directions
    that the matrix does not see stay where they are.
    """
    eps, data = eps_of(r.dtype), r.size
    column = lengths(xp, matrix)
    unit = Reductions(xp).median(abs(r), r != 0)
    unit = xp.where(unit > 0, unit, 1.0)
    tilts = None if tilt is None else xp.full(r.shape, tilt, r.dtype)
    if within is not None:
        matrix, r, tilts = _with_bounds(xp, matrix, r, tilts, within)
    q, triangle = xp.linalg.qr(matrix / column)
    # Without pivots a dependent column leaves a direction in q that is none of the matrix; those of R are all of it.
    left, values, right = svd(xp, triangle)
    seen = values > len(values) * eps * values[0]
    q = q @ xp.where(seen, left, 0.0)
    back = right.T * xp.where(seen, 1 / xp.where(seen, values, 1.0), 0.0)
    # A far datum pulls by its sign alone: some thousand medians away is as good as 1e20.
    c = xp.clip(r / unit, -(eps**-0.25), eps**-0.25)
    kernel = prox * unit * back.T @ back
    pull = xp.zeros(q.shape[1], r.dtype) if tilts is None else q.T @ tilts
    start = q.T @ c
    rest = c - q @ start
    lift = xp.mean(xp.abs(rest)) + eps
    first = _Interior(
        start,
        xp.zeros_like(c),
        xp.maximum(rest, 0.0) + lift,
        xp.maximum(-rest, 0.0) + lift,
        xp.zeros((), jnp.int32),
        xp.asarray(True),
    )

    def iterate(s: _Interior) -> _Interior:
        moved = _newton(xp, q, c, kernel, pull, s)
        gap = moved.p @ (1 - moved.v) + moved.o @ (1 + moved.v)
        left = (gap > _GAP * xp.sum(xp.abs((c - q @ moved.z)[:data]))) & (gap > 8 * r.size * eps)
        return moved._replace(going=moved.going & left)

    end = while_loop(xp, lambda s: s.going & (s.steps < _MOST_STEPS), iterate, first)
    z = (back @ end.z) * unit / column
    if within is not None and tilts is not None:
        slack, multiplier = (row[data:].reshape(2, -1) for row in (xp.abs(c - q @ end.z), xp.abs(end.v + tilts)))
        # A bound of a variable that the matrix does not see has a row of zeros, and no say.
        bound = xp.any(matrix[data:] != 0, axis=1).reshape(2, -1)
        z = _on_its_bounds(xp, z, within, bound & (slack <= 100 * eps**0.5 * multiplier))
    return z, end.v[:data]


def _on_its_bounds(xp: Any, z: Array, within: Within, there: Array) -> Array:
    """z with the variables at their bounds that are there but for the end of the iteration, and none outside."""
    low, high = within
    return xp.where(there[0], low, xp.where(there[1], high, xp.clip(z, low, high)))


def _with_bounds(xp: Any, matrix: Array, r: Array, tilts: Array | None, within: Within) -> tuple[Array, Array, Array]:
    """The problem with a row for each bound, which costs 2kⱼ times what z is outside by, and nothing inside.

    |ρ| + ρ with ρ = k(low − z), and |ρ| − ρ with ρ = k(high − z). No multiplier is larger than ‖AJeⱼ‖₁ times the
    steepest penalty, which is less than 2: with that norm for kⱼ the penalty is exact, and nothing is left to choose.
    """
    k = xp.sum(xp.abs(matrix), axis=0)
    sides = [xp.isfinite(side) for side in within]
    rows = [xp.diag(xp.where(there, k, 0.0)) for there in sides]
    ends = [xp.where(there, k * xp.where(there, side, 0.0), 0.0) for there, side in zip(sides, within, strict=True)]
    signs = [xp.where(there, sign, 0.0) for there, sign in zip(sides, (1.0, -1.0), strict=True)]
    first = xp.zeros_like(r) if tilts is None else tilts
    return xp.concatenate([matrix, *rows]), xp.concatenate([r, *ends]), xp.concatenate([first, *signs])


def reach(oracle: Oracle, x: Tree) -> Within | None:
    """The steps to the bounds of x, flat; None where there are none."""
    if oracle.box is None:
        return None
    below, above = oracle.box.like(oracle.xp, x).room(x)
    return oracle.ravel(below)[0], oracle.ravel(above)[0]


def _newton(xp: Any, q: Array, c: Array, kernel: Array, pull: Array, state: _Interior) -> _Interior:
    """A predictor and a corrector step (Mehrotra) towards p(1 − v) = o(1 + v) = 0, with Qᵀv = −pull."""
    z, v, p, o = state.z, state.v, state.p, state.o
    n, eps = len(z), eps_of(c.dtype)
    s, u = 1 - v, 1 + v
    d = 1 / (p / s + o / u)
    system = (q.T * d) @ q + kernel
    scale = xp.sqrt(xp.diag(system))
    scale = xp.where(scale > 0, scale, 1.0)
    solve = cho_solver(xp, system / xp.outer(scale, scale) + 4 * n * eps * xp.eye(n, dtype=c.dtype))
    infeasible, primal = q.T @ v + pull - kernel @ z, c - q @ z - p + o

    def direction(first: Array, second: Array) -> tuple[Array, Array, Array, Array]:
        target = primal - first / s + second / u
        dz = solve((infeasible + q.T @ (d * target)) / scale) / scale
        dv = d * (target - q @ dz)
        return dz, dv, (first + p * dv) / s, (second - o * dv) / u

    def longest(dv: Array, dp: Array, do: Array) -> tuple[Array, Array]:
        dual, primal = (
            xp.minimum(_longest(xp, *first), _longest(xp, *second))
            for first, second in (((s, -dv), (u, dv)), ((p, dp), (o, do)))
        )
        # A quadratic term ties z and v to each other.
        both = xp.minimum(dual, primal)
        tied = xp.any(kernel != 0)
        return xp.where(tied, both, dual), xp.where(tied, both, primal)

    mu = (p @ s + o @ u) / (2 * c.size)
    _, dv, dp, do = direction(-p * s, -o * u)
    a, b = longest(dv, dp, do)
    predicted = ((p + b * dp) @ (s - a * dv) + (o + b * do) @ (u + a * dv)) / (2 * c.size)
    centre = (predicted / mu) ** 3 * mu
    dz, dv, dp, do = direction(centre - p * s + dp * dv, centre - o * u - do * dv)
    a, b = longest(dv, dp, do)
    moved = _Interior(z + b * dz, v + a * dv, p + b * dp, o + b * do, state.steps + 1, xp.asarray(True))
    fine = trees.all_finite(moved.z, moved.v, moved.p, moved.o)
    return trees.select(fine, moved, state._replace(going=xp.asarray(False)))


def _longest(xp: Any, x: Array, dx: Array) -> Array:
    """The length at which x + t·dx is nearly zero, at most 1."""
    return xp.minimum(1.0, _SHORT * xp.min(xp.where(dx < 0, -x / xp.where(dx < 0, dx, -1.0), xp.inf)))


def _fall(r: Array, s: Array, tilt: Array | None) -> Array:
    """By how much the penalty of the residuals s is less than that of r."""
    sizes = (abs(r) - abs(s)).sum()
    return sizes if tilt is None else sizes + tilt * (r - s).sum()


class _Descent(NamedTuple):
    r: Array
    prox: Array
    promise: Array
    """What the linearised problem promised the trial to gain."""
    length: Array
    """‖Dz‖² of the trial."""
    trials: Array
    status: Array


class LeastAbsolute(Method):
    """l1 Gauss–Newton: each linearised l1 problem solved to its dual gap, for problems whose Jacobian is formed."""

    over_xp: ClassVar[bool] = True
    name: ClassVar[str] = "least-absolute"
    least_calls: ClassVar[int] = 2
    leads: ClassVar[bool] = True

    def check(self, problem: Composite, x: Tree) -> None:
        if not problem.penalty.has(TILT):
            problem.penalty.require(
                RESIDUALS, "the method 'least-absolute'", "use method='gnp', which takes any penalty"
            )

    def evaluate(self, oracle: Oracle, x: Tree) -> tuple[Point, Array]:
        point, seen = residuals_at(oracle, x)
        return point, seen.r

    def init(self, oracle: Oracle, start: Point, seen: Array) -> _Descent:
        xp = self.xp
        zero = xp.zeros((), seen.dtype)
        none = xp.zeros((), jnp.int32)
        return _Descent(seen, zero, zero, zero, none, none)

    def propose(self, oracle: Oracle, point: Point, memory: _Descent, outlook: Outlook) -> Proposal:
        xp, matrix, (_, unravel) = self.xp, oracle.matrix(point.x), oracle.ravel(point.x)
        tilt = oracle.tilt
        z, _ = least_absolute(xp, matrix, memory.r, memory.prox, tilt, reach(oracle, point.x))
        promise = _fall(memory.r, memory.r - matrix @ z, tilt)
        length = xp.sum(xp.sum(matrix * matrix, axis=0) * z * z)
        return Proposal(
            x=trees.add_scaled(point.x, 1.0, unravel(z)),
            memory=memory._replace(promise=promise, length=length),
            step=xp.ones((), promise.dtype),
            inner_iterations=xp.ones((), jnp.int32),
            residual=xp.zeros((), promise.dtype),
            solved=xp.asarray(True),
            products=xp.ones((), jnp.int32),
        )

    def follow(
        self, oracle: Oracle, memory: _Descent, before: Point, point: Point, seen: Array
    ) -> tuple[_Descent, Point]:
        xp = self.xp
        value = xp.sum(xp.abs(memory.r))
        fall = _fall(memory.r, seen, oracle.tilt)
        fall = xp.where(xp.all(xp.isfinite(seen)), fall, -xp.inf)
        done = (memory.promise <= _PROMISE * value) & (memory.prox <= 0)
        accepted = (fall >= 1e-4 * memory.promise) & (fall > 0) & ~done
        stuck = ~accepted & ~done & (memory.promise <= eps_of(seen.dtype) * value)
        stuck = stuck | (memory.trials + 1 >= _MOST_TRIALS)
        # A refused step is answered with the term that costs what it promised; one that costs a hundredth is dropped.
        raised = xp.maximum(4 * memory.prox, 2 * ratio(xp, memory.promise, memory.length))
        idle = memory.prox * memory.length < 0.02 * memory.promise
        eased = xp.where(fall > 0.5 * memory.promise, xp.where(idle, 0.0, memory.prox / 10), memory.prox)
        ended = xp.where(done, Status.UNCERTIFIED, xp.where(stuck, Status.STALLED, Status.RUNNING))
        moved = _Descent(
            r=xp.where(accepted, seen, memory.r),
            prox=xp.where(accepted, eased, xp.where(done, memory.prox, raised)),
            promise=memory.promise,
            length=memory.length,
            trials=memory.trials + 1,
            status=xp.asarray(ended, jnp.int32),
        )
        return moved, trees.select(accepted, point, before)

    def verdict(self, memory: _Descent) -> Array:
        return memory.status
