"""The pure functions under the loop: `init` and `step`, for use inside any jit, vmap or scan."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jax import Array, lax

from gnpolyak.base import trees
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite, Point
from gnpolyak.solve.result import Status
from gnpolyak.steps import cuts
from gnpolyak.steps.methods import Method
from gnpolyak.steps.metrics import Direction
from gnpolyak.steps.targets import Aim, Target

# Rounding in a value, in units of eps times the size of the numbers summed.
_ROUNDING = 64
# This many calls without a better value, at a gap within this factor of rounding, are a stall.
_PATIENCE = 25
_STALL_FACTOR = 64
# A value this many times the data's size is a divergence, not an excursion.
_DIVERGENCE = 1e8


class State(eqx.Module):
    """All that the next step needs."""

    point: Point
    """Where the next step starts."""
    best: Point
    """The point of the smallest value so far."""
    aim: Aim
    """The target rule's own state."""
    bundle: cuts.Bundle | None
    """The last points evaluated, for a method of several cuts."""
    first_gap: Array
    calls: Array
    idle: Array
    """Calls since the best value last fell."""
    status: Array
    """A `Status` code; `Status.RUNNING` until there is a reason to stop."""


class Info(eqx.Module):
    """What one oracle call showed; nothing here is needed to go on."""

    value: Array
    step: Array
    inner_iterations: Array
    residual: Array


def init(problem: Composite, method: Method, target: Target, x0: Tree) -> State:
    """Evaluate the start: the first oracle call.

    These functions compute in the precision that JAX is set to where they are traced: for float64 data, call them
    inside ``with jax.enable_x64(True):``. `minimize` does that by itself.

    Parameters
    ----------
    problem : Composite
    method : Method
        Such as ``GNP()``.
    target : Target
        Such as ``Known(0.0)`` or ``Level(lower_bound=0.0)``.
    x0 : array or pytree
    """
    start = problem.evaluate(x0)
    state = State(
        point=start,
        best=start,
        aim=target.init(start),
        bundle=cuts.begin(method.cuts, start) if method.cuts > 1 else None,
        first_gap=start.value - target.stated(),
        calls=jnp.ones((), jnp.int32),
        idle=jnp.zeros((), jnp.int32),
        status=jnp.zeros((), jnp.int32),
    )
    return _with_status(state, _judge(problem, target, state))


def step(problem: Composite, method: Method, target: Target, state: State) -> tuple[State, Info]:
    """Take one step and evaluate where it leads: one oracle call.

    No call is made, and `calls` stays as it is, when the state has already stopped or when the inner linear solve
    failed.

    Parameters
    ----------
    problem : Composite
    method : Method
    target : Target
        The same rule that `init` was given.
    state : State

    Returns
    -------
    state : State
    info : Info
    """
    gap = jnp.maximum(state.point.value - target.level(state.aim), 0.0)
    direction = method.metric.direction(problem, state.point, gap)
    return lax.cond(
        (state.status == Status.RUNNING) & _is_solved(direction),
        lambda: _advance(problem, method, target, state, direction),
        lambda: _retreat(target, state, direction),
    )


def _retreat(target: Target, state: State, direction: Direction) -> tuple[State, Info]:
    """Without a usable direction: let a rule that recovers go back to the best point, else stop. No oracle call."""
    info = Info(state.point.value, jnp.zeros_like(direction.decrement), direction.inner_iterations, direction.residual)
    running = state.status == Status.RUNNING
    failed = _with_status(state, jnp.where(running, Status.LINEAR_SOLVE_FAILED, state.status))
    if not target.recovers:
        return failed, info
    lost = Point(state.point.x, jnp.full_like(state.point.value, jnp.nan), state.point.subgradient)
    aim, onward = target.advance(state.aim, lost, state.best)
    back = eqx.tree_at(lambda s: (s.aim, s.point), state, (aim, onward))
    elsewhere = ~trees.equal(state.point.x, state.best.x)
    return trees.select(running & elsewhere, back, failed), info


def _advance(
    problem: Composite, method: Method, target: Target, state: State, direction: Direction
) -> tuple[State, Info]:
    x, gamma = _move(problem, method, target, state, direction)
    point = problem.evaluate(x)
    improved = point.value < state.best.value
    best = trees.select(improved, point, state.best)
    aim, onward = target.advance(state.aim, point, best)
    moved = State(
        point=onward,
        best=best,
        aim=aim,
        bundle=None if state.bundle is None else cuts.push(state.bundle, point),
        first_gap=state.first_gap,
        calls=state.calls + 1,
        idle=jnp.where(improved, 0, state.idle + 1),
        status=state.status,
    )
    stuck = trees.equal(x, state.point.x)
    status = _judge(problem, target, moved, stuck)
    return _with_status(moved, status), Info(point.value, gamma, direction.inner_iterations, direction.residual)


def _move(problem: Composite, method: Method, target: Target, state: State, direction: Direction) -> tuple[Tree, Array]:
    """Where the step leads, and its size."""
    point, bundle = state.point, state.bundle
    fraction = target.fraction if method.fraction is None else method.fraction
    gap = fraction * jnp.maximum(point.value - target.level(state.aim), 0.0)
    gamma = gap / direction.decrement
    single = trees.add_scaled(point.x, -gamma, direction.s)
    if bundle is None:
        return single, gamma
    bundle = cuts.ahead(bundle, point)
    spread = method.metric.spread(problem, point.x, bundle.points.subgradient, direction.damping)
    step, total, sound = cuts.displacement(bundle, spread, gap)
    several = trees.add_scaled(point.x, -1.0, step)
    return trees.select(sound, several, single), jnp.where(sound, total, gamma)


def _judge(problem: Composite, target: Target, state: State, stuck: Array | bool = False) -> Array:
    """The status of a state; of several reasons to stop, the first in this list."""
    onward = state.point
    gap = state.best.value - target.bound(state.aim)
    scale = jnp.maximum(problem.penalty.scale(), jnp.abs(state.best.value))
    rounding = _ROUNDING * float(jnp.finfo(gap.dtype).eps) * scale
    allowed = target.tol * state.first_gap
    # A rule that recovers knows itself when the arithmetic is exhausted: its gap is one that it chose.
    precise = (gap <= _STALL_FACTOR * rounding) & (state.idle >= _PATIENCE) & (not target.recovers)
    spent = stuck | precise
    reached = (gap <= allowed) & (target.settled(state.aim) | spent)
    optimal_start = (state.calls == 1) & (gap <= rounding)
    grown = onward.value > _DIVERGENCE * jnp.maximum(scale, state.first_gap)
    reasons = (
        (Status.NON_FINITE, ~trees.all_finite(onward.value, onward.subgradient)),
        (Status.BELOW_TARGET, state.best.value < target.stated() - jnp.maximum(allowed, rounding)),
        (Status.NON_FINITE, reached & target.blocked(state.aim)),
        (Status.TARGET_REACHED, reached | optimal_start),
        (Status.CRITICAL_POINT, trees.is_zero(onward.subgradient)),
        (Status.DIVERGED, grown & (not target.recovers)),
        (Status.STALLED, spent),
    )
    codes, conditions = zip(*reasons, strict=True)
    choices = [jnp.asarray(code, jnp.int32) for code in codes]
    return jnp.select([jnp.asarray(c) for c in conditions], choices, jnp.asarray(target.verdict(state.aim), jnp.int32))


def _is_solved(direction: Direction) -> Array:
    """Tell whether the true residual is small enough to trust the direction; NaN is not."""
    largest = float(jnp.finfo(direction.residual.dtype).eps) ** 0.4
    return (direction.residual <= largest) & (direction.decrement > 0) & trees.all_finite(direction.s)


def _with_status(state: State, status: Array) -> State:
    return eqx.tree_at(lambda s: s.status, state, jnp.asarray(status, jnp.int32))
