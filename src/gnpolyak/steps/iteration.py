"""The pure functions under the loop: `init` and `step`, for use inside any jit, vmap or scan."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from gnpolyak.base import trees
from gnpolyak.base.errors import InputError
from gnpolyak.base.namespace import Array, cond, eps_of
from gnpolyak.base.numbers import COUNTABLE
from gnpolyak.base.trees import Tree
from gnpolyak.oracles import Oracle, oracle_for
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


class State(NamedTuple):
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


class Info(NamedTuple):
    """What one oracle call showed; nothing here is needed to go on."""

    value: Array
    step: Array
    inner_iterations: Array
    residual: Array


def init(
    problem: Composite | Oracle,
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
    problem : Composite or Oracle
        An oracle says how the problem is to be evaluated; for a problem that is decided here.
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
    oracle, method, target = _suited(problem, method, target, x0)
    x0 = x0 if oracle.box is None else oracle.box.project(oracle.xp, x0)
    start, seen = method.evaluate(oracle, x0)
    xp = oracle.xp
    scale = xp.asarray(oracle.scale, start.value.dtype)
    state = State(
        point=start,
        best=start,
        aim=target.init(start),
        memory=method.init(oracle, start, seen),
        first_gap=_first_gap(xp, scale, start.value - target.stated()),
        scale=scale,
        calls=xp.asarray(calls, np.int32) + 1,
        limit=xp.asarray(limit, np.int32),
        idle=xp.zeros((), np.int32),
        status=xp.zeros((), np.int32),
    )
    return state._replace(status=_judge(xp, method, target, state))


def _first_gap(xp: Any, scale: Array, gap: Array) -> Array:
    """The gap that others are measured by.

    One of a start that is beyond all bounds would make a success of anything; the size of the data stands in for it.
    """
    return xp.where((scale > 0) & (gap > _DIVERGENCE * scale), scale, gap)


def step(
    problem: Composite | Oracle, method: Method, target: Target, state: State, *, branch: bool = True
) -> tuple[State, Info]:
    """Take one step and evaluate where it leads: one oracle call.

    No call is made, and `calls` stays as it is, when the state has already stopped or when the inner linear solve
    failed.

    Parameters
    ----------
    problem : Composite or Oracle
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
    oracle, method, target = _suited(problem, method, target, state.point.x)
    xp = oracle.xp
    gap = xp.maximum(state.point.value - target.level(state.aim), 0.0)
    outlook = Outlook(gap, target.fraction, state.limit - state.calls)
    proposal = method.propose(oracle, state.point, state.memory, outlook)
    if oracle.box is not None:
        # Outside of the box a model may not be defined: whatever a method proposes, it is not asked there.
        proposal = proposal._replace(x=oracle.box.project(xp, proposal.x))
    going = (state.status == Status.RUNNING) & proposal.solved
    advance, retreat = (
        lambda: _advance(oracle, method, target, state, proposal),
        lambda: _retreat(xp, target, state, proposal),
    )
    chosen: tuple[State, Info] = (
        cond(xp, going, advance, retreat) if branch else trees.select(going, advance(), retreat())
    )
    return chosen


def check_state(state: Any) -> None:
    """Raise InputError unless this is what `init` and `step` return."""
    if not isinstance(state, State):
        raise InputError(
            given=f"a state of type {type(state).__name__}",
            needed="a State",
            missing="the evaluated start",
            advice="begin with state = gnpolyak.init(problem, method, target, x0)",
        )


def _suited(problem: Composite | Oracle, method: Method, target: Target, x: Tree) -> tuple[Oracle, Method, Target]:
    """The oracle, method and rule with what they leave open decided; with an oracle, that was done already."""
    if isinstance(problem, Oracle):
        return problem, method, target
    method = method.suited(problem, x)
    return oracle_for(problem, x), method, target.suited(method.breadth)


def _retreat(xp: Any, target: Target, state: State, proposal: Proposal) -> tuple[State, Info]:
    """Without a usable proposal: let a rule that recovers go back to the best point, else stop. No oracle call."""
    info = Info(state.point.value, xp.zeros_like(proposal.step), proposal.inner_iterations, proposal.residual)
    running = state.status == Status.RUNNING
    ended = xp.where(running, Status.LINEAR_SOLVE_FAILED, state.status)
    failed = state._replace(status=xp.asarray(ended, np.int32))
    if not target.recovers:
        return failed, info
    lost = state.point._replace(value=xp.full_like(state.point.value, np.nan))
    aim, onward = target.advance(state.aim, lost, state.best)
    back = state._replace(aim=aim, point=onward)
    elsewhere = ~trees.equal(state.point.x, state.best.x)
    return trees.select(running & elsewhere, back, failed), info


def _advance(oracle: Oracle, method: Method, target: Target, state: State, proposal: Proposal) -> tuple[State, Info]:
    xp = oracle.xp
    point, seen = method.evaluate(oracle, proposal.x)
    memory, onward = method.follow(oracle, proposal.memory, state.point, point, seen)
    improved = _is_better(xp, method, point, onward, state)
    best = trees.select(improved, point, state.best)
    aim = state.aim
    if not method.leads:
        aim, onward = target.advance(state.aim, point, best)
    moved = state._replace(
        point=onward,
        best=best,
        aim=aim,
        memory=memory,
        calls=state.calls + 1 + proposal.products,
        idle=xp.where(improved, 0, state.idle + 1),
    )
    stuck = trees.equal(proposal.x, state.point.x)
    info = Info(point.value, proposal.step, proposal.inner_iterations, proposal.residual)
    return moved._replace(status=_judge(xp, method, target, moved, stuck)), info


def _is_better(xp: Any, method: Method, point: Point, onward: Point, state: State) -> Array:
    """Tell whether a point takes the place of the best one.

    Only a number may: −inf would compare as smaller than everything, and no model means it. Where the values are equal
    to rounding, which outliers of 1e20 make them everywhere, a method that leads knows better than they do.
    """
    best = state.best
    lower = (point.value < best.value) & xp.isfinite(point.value)
    if not method.leads:
        return lower
    scale = xp.maximum(state.scale, abs(best.value))
    equal = point.value <= best.value + _ROUNDING * eps_of(scale.dtype) * scale
    return lower | (equal & xp.isfinite(point.value) & trees.equal(onward.x, point.x))


def _judge(xp: Any, method: Method, target: Target, state: State, stuck: Array | bool = False) -> Array:
    """The status of a state; of several reasons to stop, the first in this list."""
    if method.leads:
        return _judge_led(xp, method, target, state)
    onward = state.point
    gap = state.best.value - target.bound(state.aim)
    scale = xp.maximum(state.scale, abs(state.best.value))
    rounding = _ROUNDING * eps_of(gap.dtype) * scale
    allowed = target.tol * state.first_gap
    # A rule that recovers knows itself when the arithmetic is exhausted: its gap is one that it chose.
    precise = (gap <= _STALL_FACTOR * rounding) & (state.idle >= _PATIENCE) & (not target.recovers)
    spent = stuck | precise
    reached = (gap <= allowed) & (target.settled(state.aim) | spent)
    optimal_start = (state.calls == 1) & (gap <= rounding)
    grown = onward.value > _DIVERGENCE * xp.maximum(scale, state.first_gap)
    reasons = (
        (Status.NON_FINITE, ~trees.all_finite(onward.value, onward.subgradient)),
        (Status.BELOW_TARGET, state.best.value < target.stated() - xp.maximum(allowed, rounding)),
        (Status.NON_FINITE, reached & target.blocked(state.aim)),
        (Status.TARGET_REACHED, reached | optimal_start),
        (Status.CRITICAL_POINT, trees.is_zero(onward.subgradient)),
        (Status.DIVERGED, grown & (not target.recovers)),
        (Status.STALLED, spent),
    )
    return _first_of(xp, reasons, target.verdict(state.aim))


def _first_of(xp: Any, reasons: tuple[tuple[Status, Any], ...], otherwise: Any) -> Array:
    """The status of the first reason that holds."""
    if xp is np:
        return np.asarray(next((code for code, holds in reasons if holds), otherwise), np.int32)
    # One after the other: `jnp.select` puts the conditions into an array, and on a GPU each of its entries, sums over
    # all of a subgradient among them, is then the work of a single thread.
    status = jnp.asarray(otherwise, jnp.int32)
    for code, condition in reversed(reasons):
        status = jnp.where(condition, jnp.asarray(code, jnp.int32), status)
    return status


def _judge_led(xp: Any, method: Method, target: Target, state: State) -> Array:
    """The status of a state that the method leads: its own verdict, unless the value settles the matter."""
    value, stated = state.best.value, target.stated()
    rounding = _ROUNDING * eps_of(value.dtype) * xp.maximum(state.scale, abs(value))
    allowed = target.tol * state.first_gap if target.exact else 0.0
    reasons = (
        (Status.NON_FINITE, ~xp.isfinite(value)),
        (Status.BELOW_TARGET, value < stated - xp.maximum(allowed, rounding)),
        (Status.TARGET_REACHED, value - stated <= allowed),
    )
    return _first_of(xp, reasons, method.verdict(state.memory))
