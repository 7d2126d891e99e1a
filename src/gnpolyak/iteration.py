"""The pure functions under the loop: `init` and `step`, for use inside any jit, vmap or scan."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jax import Array, lax

from gnpolyak import trees
from gnpolyak.methods import Method
from gnpolyak.metrics import Direction
from gnpolyak.problem import Composite, Point
from gnpolyak.result import Status
from gnpolyak.targets import Aim, Target
from gnpolyak.trees import Tree

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


def init(problem: Composite, x0: Tree, target: Target) -> State:
    """Evaluate the start: the first oracle call.

    Parameters
    ----------
    problem : Composite
    x0 : array or pytree
    target : Target
        Such as ``Known(0.0)`` or ``Restart(lower_bound=0.0)``.
    """
    start = problem.evaluate(x0)
    state = State(
        point=start,
        best=start,
        aim=target.init(start),
        first_gap=start.value - target.stated(),
        calls=jnp.ones((), jnp.int32),
        idle=jnp.zeros((), jnp.int32),
        status=jnp.zeros((), jnp.int32),
    )
    return _with_status(state, _judge(problem, target, state, start))


def step(problem: Composite, method: Method, target: Target, state: State) -> tuple[State, Info]:
    """Take one step and evaluate where it leads: one oracle call, or none if the state has already stopped.

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
    direction = method.metric.direction(problem, state.point)
    solved = _is_solved(direction)
    running = state.status == Status.RUNNING
    unmoved = _with_status(state, jnp.where(running, Status.LINEAR_SOLVE_FAILED, state.status))
    idle = Info(state.point.value, jnp.zeros_like(direction.decrement), direction.inner_iterations, direction.residual)
    return lax.cond(
        running & solved,
        lambda: _advance(problem, method, target, state, direction),
        lambda: (unmoved, idle),
    )


def _advance(
    problem: Composite, method: Method, target: Target, state: State, direction: Direction
) -> tuple[State, Info]:
    fraction = target.fraction if method.fraction is None else method.fraction
    gap = jnp.maximum(state.point.value - target.level(state.aim), 0.0)
    gamma = fraction * gap / direction.decrement
    x = trees.add_scaled(state.point.x, -gamma, direction.s)
    point = problem.evaluate(x)
    improved = point.value < state.best.value
    best = trees.select(improved, point, state.best)
    aim, onward = target.advance(state.aim, point, best)
    moved = State(
        point=onward,
        best=best,
        aim=aim,
        first_gap=state.first_gap,
        calls=state.calls + 1,
        idle=jnp.where(improved, 0, state.idle + 1),
        status=state.status,
    )
    stuck = trees.equal(x, state.point.x)
    status = _judge(problem, target, moved, point, stuck)
    return _with_status(moved, status), Info(point.value, gamma, direction.inner_iterations, direction.residual)


def _judge(
    problem: Composite, target: Target, state: State, point: Point, stuck: Array | bool = False
) -> Array:
    """The status after `point` was evaluated; of several reasons to stop, the first in this list."""
    gap = state.best.value - target.bound(state.aim)
    scale = jnp.maximum(problem.penalty.scale(), jnp.abs(state.best.value))
    rounding = _ROUNDING * float(jnp.finfo(point.value.dtype).eps) * scale
    allowed = target.tol * state.first_gap
    optimal_start = (state.calls == 1) & (gap <= rounding)
    precise = (gap <= _STALL_FACTOR * rounding) & (state.idle >= _PATIENCE)
    reasons = (
        (~trees.all_finite(point.value, point.subgradient), Status.NON_FINITE),
        (state.best.value < target.stated() - jnp.maximum(allowed, rounding), Status.BELOW_TARGET),
        ((gap <= allowed) | optimal_start, Status.TARGET_REACHED),
        (trees.is_zero(point.subgradient), Status.CRITICAL_POINT),
        (point.value > _DIVERGENCE * jnp.maximum(scale, state.first_gap), Status.DIVERGED),
        (jnp.asarray(stuck) | precise, Status.STALLED),
        (jnp.asarray(target.exhausted(state.aim)), Status.CALL_LIMIT),
    )
    conditions, codes = zip(*reasons, strict=True)
    choices = [jnp.asarray(code, jnp.int32) for code in codes]
    return jnp.select(list(conditions), choices, jnp.asarray(Status.RUNNING, jnp.int32))


def _is_solved(direction: Direction) -> Array:
    """Tell whether the true residual is small enough to trust the direction; NaN is not."""
    largest = float(jnp.finfo(direction.residual.dtype).eps) ** 0.4
    return (direction.residual <= largest) & (direction.decrement > 0) & trees.all_finite(direction.s)


def _with_status(state: State, status: Array) -> State:
    return eqx.tree_at(lambda s: s.status, state, jnp.asarray(status, jnp.int32))
