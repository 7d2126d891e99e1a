"""The only loop in the package: compiled chunks of steps, and between them everything a person may want."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.solve.certificate import LEAST
from gnpolyak.solve.result import History, Result
from gnpolyak.steps.iteration import State, init, step
from gnpolyak.steps.methods import Method
from gnpolyak.steps.status import Status
from gnpolyak.steps.targets import Target

# The most steps between two returns to the host, and the time a chunk should take: Ctrl-C and callbacks wait that long.
_CHUNK = 1024
_CHUNK_SECONDS = 0.1
_FIRST_CHUNK = 8
# The most oracle calls of a single step: an inner solve without a preconditioner, and the point it leads to.
_LONGEST_STEP = 128
# Values that differ by less, in units of rounding, are equal: each of some hundred steps may have added a few units.
_ROUNDING = 1e4


class _Trace(eqx.Module):
    """What a chunk writes down of each of its oracle calls."""

    value: Array
    best: Array
    step: Array
    inner_iterations: Array


@jax.jit
def _start(problem: Composite, method: Method, target: Target, x0: Tree, made: tuple[int, int]) -> State:
    """`init`, compiled. `made` are the oracle calls made before, and the most there may be."""
    return init(problem, method, target, x0, calls=made[0], limit=made[1])


@jax.jit
def _chunk(problem: Composite, method: Method, target: Target, state: State, limit: Array) -> tuple[State, _Trace]:
    """Steps until `limit` oracle calls are made, the state stops, or too few calls are left for another step."""
    places = jnp.arange(_CHUNK + _LONGEST_STEP)
    blank = jnp.zeros(places.shape, state.point.value.dtype)
    trace = _Trace(blank, blank, blank, jnp.zeros(places.shape, jnp.int32))
    first = state.calls

    def unfinished(carry: tuple[State, _Trace]) -> Array:
        now, _ = carry
        enough = now.limit - now.calls >= method.least_calls
        return (now.status == Status.RUNNING) & (now.calls - first < limit) & enough

    def iterate(carry: tuple[State, _Trace]) -> tuple[State, _Trace]:
        before, trace = carry
        now, info = step(problem, method, target, before)
        last = _Trace(info.value, now.best.value, info.step, info.inner_iterations)
        if method.least_calls == 1:
            # One row; where no call was made there is none, and what is written is written over.
            return now, jax.tree.map(lambda column, entry: column.at[before.calls - first].set(entry), trace, last)
        # The products that led to a point are calls too: they have rows of their own, with the value before.
        rest = _Trace(before.point.value, before.best.value, info.step, info.inner_iterations)
        ours = (places >= before.calls - first) & (places < now.calls - first)
        newest = places == now.calls - first - 1

        def write(column: Array, entry: Array, final: Array) -> Array:
            return jnp.where(ours, jnp.where(newest, final, entry), column)

        return now, jax.tree.map(write, trace, rest, last)

    return lax.while_loop(unfinished, iterate, (state, trace))


# What was compiled lately, by structure and shapes: to ask JAX itself takes milliseconds.
_compiled: OrderedDict[Any, None] = OrderedDict()
_MOST_KNOWN = 256


def _known(begin: tuple[Any, ...]) -> bool:
    """Whether these arguments were compiled for before; they will be."""
    leaves, structure = jax.tree.flatten(begin)
    key = structure, tuple((np.shape(leaf), getattr(leaf, "dtype", type(leaf))) for leaf in leaves)
    known = key in _compiled
    _compiled[key] = None
    _compiled.move_to_end(key)
    while len(_compiled) > _MOST_KNOWN:
        _compiled.popitem(last=False)
    return known


@dataclass(frozen=True)
class Limits:
    """When the host ends a solve."""

    calls: int
    seconds: float


# Ends after which no other method is to go on.
_FINAL = {
    Status.TARGET_REACHED,
    Status.BELOW_TARGET,
    Status.CALL_LIMIT,
    Status.TIME_LIMIT,
    Status.INTERRUPTED,
    Status.STOPPED_BY_CALLBACK,
}


@dataclass
class Run:
    """One solve on the host: the clock, the history so far, and the reasons to stop that only the host can see."""

    problem: Composite
    """What is solved; its variable may be another than that of `given`."""
    given: Composite
    """What was to be solved."""
    to_user: Callable[[Tree], Tree]
    """Arrays as the user's own are."""
    limits: Limits
    interrupted: threading.Event
    observers: Sequence[Callable[[Result], Any]] = ()
    seconds: float = 0.0
    calls: int = 0
    rows: list[np.ndarray] = field(default_factory=list)
    proves: Callable[[float, float], bool] = lambda value, first: False
    """Whether a value, beside the first one, is so near the lower bound that nothing else needs to be said."""
    method: Method | None = None
    """The method of the last stage."""

    def through(self, stages: Sequence[tuple[Method, Target]], x: Tree) -> Result:
        """Run the stages one after the other, each from the best point so far, and return the last one's result."""
        first_gap: Array | None = None
        before: Result | None = None
        for place, (method, target) in enumerate(stages):
            state, status = self._stage(method, target, x, first_gap)
            res = self._result(method, target, state, status)
            res = before = res if before is None else no_worse(res, before)
            x, first_gap = res.state.best.x, state.first_gap
            # A rule for an unknown optimum may be wrong about having reached it; whoever comes next will see.
            reached = status is Status.TARGET_REACHED
            final = status in _FINAL and not (reached and not target.exact and not self.proved(float(state.best.value)))
            if final or not np.isfinite(float(state.best.value)) or place == len(stages) - 1:
                break
        self.method = method
        return res

    @property
    def room(self) -> bool:
        """Whether enough calls are left to try anything else."""
        return self.limits.calls - self.calls > LEAST

    def proved(self, value: float) -> bool:
        """Whether a value is its own certificate."""
        return self.proves(value, float(self.rows[0][0][0]))

    def _stage(self, method: Method, target: Target, x: Tree, first_gap: Array | None) -> tuple[State, Status]:
        state = self._begin(method, target, x)
        if first_gap is not None:
            state = eqx.tree_at(lambda s: s.first_gap, state, first_gap)
        status = Status(int(state.status))
        length = min(_FIRST_CHUNK, _next_length(1, self.seconds, self.limits.seconds - self.seconds))
        while status is Status.RUNNING:
            status = self._observe(method, target, state)
            if status is not Status.RUNNING:
                break
            taken, elapsed, state = self._advance(method, target, state, length)
            status = Status(int(state.status))
            length = _next_length(taken, elapsed, self.limits.seconds - self.seconds)
        return state, status

    def _begin(self, method: Method, target: Target, x: Tree) -> State:
        new = self._compile(method, target, x)
        began = time.perf_counter()
        state = jax.block_until_ready(_start(self.problem, method, target, x, self._made))
        self.seconds += time.perf_counter() - began
        if new:
            # No step at all: what the first call of a program takes beside its steps is not to be the clock's either.
            jax.block_until_ready(_chunk(self.problem, method, target, state, 0))
        self.calls += 1
        value = float(state.point.value)
        self.rows.append(np.array([[value], [value], [0.0], [0.0], [self.seconds]]))
        return state

    def _compile(self, method: Method, target: Target, x: Tree) -> bool:
        """Compile what a stage runs, so that the clock need not include that; tell whether it was new."""
        begin = (self.problem, method, target, x, self._made)
        if _known(begin):
            return False
        _start.lower(*begin).compile()
        _chunk.lower(self.problem, method, target, _start.eval_shape(*begin), 0).compile()
        return True

    @property
    def _made(self) -> tuple[int, int]:
        """The oracle calls made so far, and the most there may be."""
        return self.calls, self.limits.calls

    def _advance(self, method: Method, target: Target, state: State, length: int) -> tuple[int, float, State]:
        began = time.perf_counter()
        state, trace = jax.block_until_ready(_chunk(self.problem, method, target, state, length))
        elapsed = time.perf_counter() - began
        taken = int(state.calls) - self.calls
        marks = self.seconds + elapsed * np.arange(1, taken + 1) / max(taken, 1)
        columns = (trace.value, trace.best, trace.step, trace.inner_iterations)
        if taken:  # None are made where the first direction cannot be followed.
            self.rows.append(np.array([*(np.asarray(column, np.float64)[:taken] for column in columns), marks]))
        self.seconds += elapsed
        self.calls += taken
        return taken, elapsed, state

    def convert(self, x: Tree) -> Tree:
        """A point of the loop as the user is to see it."""
        return self.to_user(self.problem.sensing.back(x))

    def note(self, products: int, seconds: float) -> None:
        """Write down calls that led to no other point, and the time they took: their rows repeat the last one."""
        self.seconds += seconds
        last = next(rows[:, -1:] for rows in reversed(self.rows) if rows.shape[1])
        row = np.array([last[0], last[1], [0.0], [0.0], [self.seconds]])
        self.rows.append(np.repeat(row, products, axis=1))
        self.calls += products

    def _observe(self, method: Method, target: Target, state: State) -> Status:
        if self.interrupted.is_set():
            return Status.INTERRUPTED
        try:
            for observer in self.observers:
                observer(self._result(method, target, state, Status.RUNNING))
        except StopIteration:
            return Status.STOPPED_BY_CALLBACK
        if self.calls + method.least_calls > self.limits.calls:
            return Status.CALL_LIMIT
        return Status.TIME_LIMIT if self.seconds >= self.limits.seconds else Status.RUNNING

    def _result(self, method: Method, target: Target, state: State, status: Status) -> Result:
        return Result(
            x=self.convert(state.best.x),
            value=float(state.best.value),
            status=status,
            calls=self.calls,
            seconds=self.seconds,
            bound=float(target.stated() if method.leads else target.bound(state.aim)),
            problem=self.problem.label,
            method=method.label,
            rule="" if method.leads and not target.exact else target.name,
            state=state,
            history=self.history(),
        )

    def so_far(self, res: Result) -> Result:
        """The result with all that was done for it."""
        return replace(res, calls=self.calls, seconds=self.seconds, history=self.history())

    def history(self) -> History:
        """One entry for each call so far."""
        columns = np.concatenate(self.rows, axis=1)
        return History(
            value=columns[0],
            best=np.minimum.accumulate(columns[1]),
            step=columns[2],
            inner_iterations=columns[3].astype(int),
            seconds=columns[4],
        )


def is_lower(value: float, than: float) -> bool:
    """Tell whether a value is the better one; only a number can be: −inf and NaN are no values."""
    return bool(np.isfinite(value) and not value >= than)


def no_worse(res: Result, before: Result) -> Result:
    """The result, at the point that was the best before it where it has lost that: a start may evaluate otherwise.

    Values that are equal to rounding are no loss: see `gnpolyak.steps.iteration`.
    """
    rounding = _ROUNDING * np.finfo(jax.tree.leaves(res.x)[0].dtype).eps * abs(before.value)
    if np.isfinite(res.value) and not res.value > before.value + rounding:
        return res
    state = eqx.tree_at(lambda s: s.best, res.state, before.state.best)
    return replace(res, x=before.x, value=before.value, state=state)


def _next_length(taken: int, elapsed: float, left: float) -> int:
    """The chunk that should take a tenth of a second, or what is left of the time limit."""
    pace = elapsed / max(taken, 1)
    wanted = min(_CHUNK_SECONDS, max(left, 0.0)) / max(pace, 1e-9)
    return int(np.clip(wanted, 1, min(_CHUNK, 4 * max(taken, _FIRST_CHUNK))))
