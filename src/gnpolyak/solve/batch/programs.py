"""What is compiled for a batch: a start, a chunk of steps and a certificate of a tile of members at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.oracles import oracle_for
from gnpolyak.solve.batch.members import Members, chosen
from gnpolyak.solve.dual import search
from gnpolyak.steps.iteration import State, init, step
from gnpolyak.steps.methods import Method
from gnpolyak.steps.status import Status
from gnpolyak.steps.targets import Target

# The most steps of a chunk.
STEPS = 16


class Trace(NamedTuple):
    """What a chunk writes down of each of its steps, one column for each member."""

    calls: Array
    """Oracle calls made up to the end of the step."""
    before: Array
    """The value where the step began, and the best one then: what its products are said to have shown."""
    best_before: Array
    value: Array
    best: Array
    step: Array
    inner_iterations: Array


@jax.jit
def begin(
    members: Members,
    method: Method,
    target: Target,
    x: Tree,
    made: Array,
    limit: Array,
    gap: Array | None,
    filled: Array,
) -> State:
    """The evaluated starts; of the first `filled` members, the others being there for the number's sake.

    `gap` is that of the first stage, where there was one before.
    """
    state = members.each(lambda problem, x, made: init(problem, method, target, x, calls=made, limit=limit), x, made)
    counts = jnp.arange(state.status.shape[0]) < filled
    status = jnp.where(counts, state.status, jnp.asarray(Status.INTERRUPTED, jnp.int32))
    state = state._replace(status=status)
    return state if gap is None else state._replace(first_gap=gap)


def going(method: Method, state: State) -> Array:
    """Which members take another step."""
    return (state.status == Status.RUNNING) & (state.limit - state.calls >= method.least_calls)


@jax.jit
def advance(members: Members, method: Method, target: Target, state: State, least: Array) -> tuple[State, Trace, Array]:
    """Steps of all members that go on, until fewer than `least` do; and how many steps those were.

    Who has stopped stays as he is: what is computed for him is thrown away.
    """
    blank = jnp.zeros((STEPS, *state.calls.shape), state.best.value.dtype)
    trace = Trace(blank.astype(jnp.int32), blank, blank, blank, blank, blank, blank.astype(jnp.int32))

    def unfinished(carry: tuple[State, Trace, Array]) -> Array:
        now, _, made = carry
        return (made < STEPS) & (jnp.sum(going(method, now)) >= least)

    def iterate(carry: tuple[State, Trace, Array]) -> tuple[State, Trace, Array]:
        before, trace, made = carry
        goes = going(method, before)
        # Who has stopped is left no calls, so that nothing is looked for on its behalf for long.
        tried = before._replace(limit=jnp.where(goes, before.limit, before.calls))
        moved, info = members.each(lambda problem, state: step(problem, method, target, state), tried)
        now = chosen(goes, moved, before)
        row = Trace(
            now.calls,
            before.point.value,
            before.best.value,
            info.value,
            now.best.value,
            info.step,
            info.inner_iterations,
        )
        return now, jax.tree.map(lambda column, entry: column.at[made].set(entry), trace, row), made + 1

    return lax.while_loop(unfinished, iterate, (state, trace, jnp.zeros((), jnp.int32)))


@jax.jit
def certificates(members: Members, x: Tree, tol: float, budget: Array) -> tuple[Any, ...]:
    """The searches for dual vectors of problems without a box."""
    return members.each(lambda problem, x, budget: search(oracle_for(problem, x), x, tol, budget, None)[:-1], x, budget)


@jax.jit
def residuals(members: Members, x: Tree) -> Array:
    """b − A(c(x)), flat."""
    return members.each(lambda problem, x: oracle_for(problem, x).residuals(x)[1], x)


@jax.jit
def all_data(members: Members, x: Tree) -> Array:
    """The data, flat."""
    return members.each(lambda problem, x: oracle_for(problem, x).data, x)
