"""The pure functions under the loop: `init` and `step`, for use inside any jit, vmap or scan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from gnpolyak.base import trees
from gnpolyak.base.errors import InputError
from gnpolyak.base.modules import Module
from gnpolyak.base.numbers import COUNTABLE
from gnpolyak.base.sniffing import cond, namespace
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite, Point
from gnpolyak.steps.arguments import check_parts, check_variable
from gnpolyak.steps.methods import Memory, Method, Outlook, Proposal
from gnpolyak.steps.status import Status
from gnpolyak.steps.targets import Aim, Target

# Rounding in a value, in units of eps times the size of the numbers summed.
_ROUNDING = 64
# This many calls without a better value, at a gap within this factor of rounding, are a stall.
_PATIENCE = 25
_STALL_FACTOR = 64
# A value this many times the data's size is a divergence, not an excursion.
_DIVERGENCE = 1e8


class State(Module):
    """All that the next step needs."""

    point: Point
    """Where the next step starts."""
    best: Point
    """The point of the smallest value so far."""
    aim: Aim
    """The target rule's own state."""
    memory: Memory
    """The method's own state."""
    first_gap: Array
    scale: Array
    """The size of the data, in whose units rounding is measured."""
    calls: Array
    limit: Array
    """The most oracle calls."""
    idle: Array
    """Calls since the best value last fell."""
    status: Array
    """A `Status` code; `Status.RUNNING` until there is a reason to stop."""


class Info(Module):
    """What one oracle call showed; nothing here is needed to go on."""

    value: Array
    step: Array
    inner_iterations: Array
    residual: Array


def init(
    problem: Composite,
    method: Method,
    target: Target,
    x0: Tree,
    *,
    calls: Array | int = 0,
    limit: Array | int = COUNTABLE,
) -> State:
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
        Moved to the nearest point of the problem's box, where it has one.
    calls : int
        Oracle calls that were made before.
    limit : int
        The most oracle calls that steps may make in all.
    """
    check_parts(problem, method, target)
    check_variable(problem, x0)
    method, target = _suited(problem, method, target, x0)
    x0 = x0 if problem.box is None else problem.box.project(x0)
    start, seen = method.evaluate(problem, x0)
    xp = namespace(start)
    scale = xp.asarray(problem.penalty.scale(), start.value.dtype)
    state = State(
        point=start,
        best=start,
        aim=target.init(start),
        memory=method.init(problem, start, seen),
        first_gap=_first_gap(scale, start.value - target.stated()),
        scale=scale,
        calls=xp.asarray(calls, jnp.int32) + 1,
        limit=xp.asarray(limit, jnp.int32),
        idle=xp.zeros((), jnp.int32),
        status=xp.zeros((), jnp.int32),
    )
    return _with_status(state, _judge(method, target, state))


def _first_gap(scale: Array, gap: Array) -> Array:
    """The gap that others are measured by.

    One of a start that is beyond all bounds would make a success of anything; the size of the data stands in for it.
    """
    xp = namespace(gap)
    return xp.where((scale > 0) & (gap > _DIVERGENCE * scale), scale, gap)


def step(
    problem: Composite, method: Method, target: Target, state: State, *, branch: bool = True
) -> tuple[State, Info]:
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
    branch : bool
        Whether what is not needed is not computed. On a GPU a branch may cost more than it saves; False, for a state
        that has not stopped, computes the oracle in any case. What is returned is the same.

    Returns
    -------
    state : State
    info : Info
    """
    check_state(state)
    method, target = _suited(problem, method, target, state.point.x)
    gap = namespace(state).maximum(state.point.value - target.level(state.aim), 0.0)
    outlook = Outlook(gap, target.fraction, state.limit - state.calls)
    proposal = method.propose(problem, state.point, state.memory, outlook)
    if problem.box is not None:
        # Outside of the box a model may not be defined: whatever a method proposes, it is not asked there.
        proposal = replace(proposal, x=problem.box.project(proposal.x))
    choose = cond if branch else _both
    chosen: tuple[State, Info] = choose(
        (state.status == Status.RUNNING) & proposal.solved,
        lambda: _advance(problem, method, target, state, proposal),
        lambda: _retreat(target, state, proposal),
    )
    return chosen


def _both(condition: Array, then: Callable[[], Tree], otherwise: Callable[[], Tree]) -> Tree:
    """One of two results, where both are computed."""
    return trees.select(condition, then(), otherwise())


def check_state(state: Any) -> None:
    """Raise InputError unless this is what `init` and `step` return."""
    if not isinstance(state, State):
        raise InputError(
            given=f"a state of type {type(state).__name__}",
            needed="a State",
            missing="the evaluated start",
            advice="begin with state = gnpolyak.init(problem, method, target, x0)",
        )


def _suited(problem: Composite, method: Method, target: Target, x: Tree) -> tuple[Method, Target]:
    """The method and the rule with what they leave open decided; `minimize` has done so already."""
    method = method.suited(problem, x)
    return method, target.suited(method.breadth)


def _retreat(target: Target, state: State, proposal: Proposal) -> tuple[State, Info]:
    """Without a usable proposal: let a rule that recovers go back to the best point, else stop. No oracle call."""
    xp = namespace(state)
    info = Info(state.point.value, xp.zeros_like(proposal.step), proposal.inner_iterations, proposal.residual)
    running = state.status == Status.RUNNING
    failed = _with_status(state, xp.where(running, Status.LINEAR_SOLVE_FAILED, state.status))
    if not target.recovers:
        return failed, info
    lost = eqx.tree_at(lambda p: p.value, state.point, xp.full_like(state.point.value, jnp.nan))
    aim, onward = target.advance(state.aim, lost, state.best)
    back = eqx.tree_at(lambda s: (s.aim, s.point), state, (aim, onward))
    elsewhere = ~trees.equal(state.point.x, state.best.x)
    return trees.select(running & elsewhere, back, failed), info


def _advance(
    problem: Composite, method: Method, target: Target, state: State, proposal: Proposal
) -> tuple[State, Info]:
    point, seen = method.evaluate(problem, proposal.x)
    memory, onward = method.follow(problem, proposal.memory, state.point, point, seen)
    improved = _is_better(method, point, onward, state)
    best = trees.select(improved, point, state.best)
    aim = state.aim
    if not method.leads:
        aim, onward = target.advance(state.aim, point, best)
    moved = State(
        point=onward,
        best=best,
        aim=aim,
        memory=memory,
        first_gap=state.first_gap,
        scale=state.scale,
        calls=state.calls + 1 + proposal.products,
        limit=state.limit,
        idle=namespace(state).where(improved, 0, state.idle + 1),
        status=state.status,
    )
    stuck = trees.equal(proposal.x, state.point.x)
    info = Info(point.value, proposal.step, proposal.inner_iterations, proposal.residual)
    return _with_status(moved, _judge(method, target, moved, stuck)), info


def _is_better(method: Method, point: Point, onward: Point, state: State) -> Array:
    """Tell whether a point takes the place of the best one.

    Only a number may: −inf would compare as smaller than everything, and no model means it. Where the values are equal
    to rounding, which outliers of 1e20 make them everywhere, a method that leads knows better than they do.
    """
    xp, best = namespace(point), state.best
    lower = (point.value < best.value) & xp.isfinite(point.value)
    if not method.leads:
        return lower
    scale = xp.maximum(state.scale, xp.abs(best.value))
    equal = point.value <= best.value + _ROUNDING * float(jnp.finfo(scale.dtype).eps) * scale
    return lower | (equal & xp.isfinite(point.value) & trees.equal(onward.x, point.x))


def _judge(method: Method, target: Target, state: State, stuck: Array | bool = False) -> Array:
    """The status of a state; of several reasons to stop, the first in this list."""
    if method.leads:
        return _judge_led(method, target, state)
    onward = state.point
    gap = state.best.value - target.bound(state.aim)
    scale = jnp.maximum(state.scale, jnp.abs(state.best.value))
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
    # One after the other: `jnp.select` puts the conditions into an array, and on a GPU each of its entries, sums over
    # all of a subgradient among them, is then the work of a single thread.
    status = jnp.asarray(target.verdict(state.aim), jnp.int32)
    for code, condition in reversed(reasons):
        status = jnp.where(condition, jnp.asarray(code, jnp.int32), status)
    return status


def _judge_led(method: Method, target: Target, state: State) -> Array:
    """The status of a state that the method leads: its own verdict, unless the value settles the matter."""
    value, stated, xp = state.best.value, target.stated(), namespace(state)
    rounding = _ROUNDING * float(jnp.finfo(value.dtype).eps) * xp.maximum(state.scale, xp.abs(value))
    allowed = target.tol * state.first_gap if target.exact else 0.0
    verdict = xp.asarray(method.verdict(state.memory), jnp.int32)
    below, reached = value < stated - xp.maximum(allowed, rounding), value - stated <= allowed
    status = xp.where(reached, xp.asarray(Status.TARGET_REACHED, jnp.int32), verdict)
    status = xp.where(below, xp.asarray(Status.BELOW_TARGET, jnp.int32), status)
    return xp.where(xp.isfinite(value), status, xp.asarray(Status.NON_FINITE, jnp.int32))


def _with_status(state: State, status: Array) -> State:
    return replace(state, status=namespace(state, status).asarray(status, jnp.int32))
