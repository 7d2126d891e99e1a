"""The only loop in the package: compiled chunks of steps, and between them everything a person may want."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.solve.result import History, Result
from gnpolyak.steps.iteration import State, init, step
from gnpolyak.steps.methods import Method
from gnpolyak.steps.status import Status
from gnpolyak.steps.targets import Target

# The most steps between two returns to the host, and the time a chunk should take: Ctrl-C and callbacks wait that long.
_CHUNK = 1024
_CHUNK_SECONDS = 0.1
_FIRST_CHUNK = 8


class _Trace(eqx.Module):
    """What a chunk writes down of each of its oracle calls."""

    value: Array
    best: Array
    step: Array
    inner_iterations: Array


@jax.jit
def _start(problem: Composite, method: Method, target: Target, x0: Tree, run: Array) -> State:
    """`init`, compiled; with run=False only compiled, so that the clock need not include that."""
    shapes = jax.eval_shape(init, problem, method, target, x0)
    return lax.cond(
        run,
        lambda: init(problem, method, target, x0),
        lambda: jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes),
    )


@jax.jit
def _chunk(problem: Composite, method: Method, target: Target, state: State, limit: Array) -> tuple[State, _Trace]:
    """At most `limit` oracle calls, fewer if the state stops."""
    blank = jnp.zeros(_CHUNK, state.point.value.dtype)
    trace = _Trace(blank, blank, blank, jnp.zeros(_CHUNK, jnp.int32))
    first = state.calls

    def unfinished(carry: tuple[State, _Trace]) -> Array:
        now, _ = carry
        return (now.status == Status.RUNNING) & (now.calls - first < limit)

    def iterate(carry: tuple[State, _Trace]) -> tuple[State, _Trace]:
        before, trace = carry
        now, info = step(problem, method, target, before)
        row = _Trace(info.value, now.best.value, info.step, info.inner_iterations)
        # A step that made no call has no row: its index is out of bounds, and dropped.
        index = jnp.where(now.calls > before.calls, before.calls - first, _CHUNK)
        trace = jax.tree.map(lambda column, entry: column.at[index].set(entry, mode="drop"), trace, row)
        return now, trace

    return lax.while_loop(unfinished, iterate, (state, trace))


@dataclass(frozen=True)
class Limits:
    """When the host ends a solve."""

    calls: int
    seconds: float


@dataclass
class Run:
    """One solve on the host: the clock, the history so far, and the reasons to stop that only the host can see."""

    problem: Composite
    method: Method
    target: Target
    convert: Callable[[Tree], Tree]
    seconds: float = 0.0
    rows: list[np.ndarray] = field(default_factory=list)

    def loop(
        self,
        x: Tree,
        limits: Limits,
        interrupted: threading.Event,
        observers: Sequence[Callable[[Result], Any]] = (),
    ) -> Result:
        state = self._begin(x)
        calls, status = 1, Status(int(state.status))
        length = min(_FIRST_CHUNK, _next_length(1, self.seconds, limits.seconds - self.seconds))
        while status is Status.RUNNING:
            status = self._observe(state, observers, interrupted, limits)
            if status is not Status.RUNNING:
                break
            taken, elapsed, state = self._advance(state, calls, min(length, limits.calls - calls))
            status = Status(int(state.status))
            calls += taken
            length = _next_length(taken, elapsed, limits.seconds - self.seconds)
        return self._result(state, status)

    def _begin(self, x: Tree) -> State:
        compiled = _start(self.problem, self.method, self.target, x, False)
        jax.block_until_ready(_chunk(self.problem, self.method, self.target, compiled, 0))
        began = time.perf_counter()
        state = jax.block_until_ready(_start(self.problem, self.method, self.target, x, True))
        self.seconds = time.perf_counter() - began
        value = float(state.point.value)
        self.rows.append(np.array([[value], [value], [0.0], [0.0], [self.seconds]]))
        return state

    def _advance(self, state: State, calls: int, limit: int) -> tuple[int, float, State]:
        began = time.perf_counter()
        state, trace = jax.block_until_ready(_chunk(self.problem, self.method, self.target, state, limit))
        elapsed = time.perf_counter() - began
        taken = int(state.calls) - calls
        marks = self.seconds + elapsed * np.arange(1, taken + 1) / max(taken, 1)
        columns = (trace.value, trace.best, trace.step, trace.inner_iterations)
        self.rows.append(np.array([*(np.asarray(column, np.float64)[:taken] for column in columns), marks]))
        self.seconds += elapsed
        return taken, elapsed, state

    def _observe(
        self, state: State, observers: Sequence[Callable[[Result], Any]], interrupted: threading.Event, limits: Limits
    ) -> Status:
        if interrupted.is_set():
            return Status.INTERRUPTED
        try:
            for observer in observers:
                observer(self._result(state, Status.RUNNING))
        except StopIteration:
            return Status.STOPPED_BY_CALLBACK
        if int(state.calls) >= limits.calls:
            return Status.CALL_LIMIT
        return Status.TIME_LIMIT if self.seconds >= limits.seconds else Status.RUNNING

    def _result(self, state: State, status: Status) -> Result:
        columns = np.concatenate(self.rows, axis=1)
        return Result(
            x=self.convert(state.best.x),
            value=float(state.best.value),
            status=status,
            calls=int(state.calls),
            seconds=self.seconds,
            bound=float(self.target.bound(state.aim)),
            problem=self.problem.label,
            method=self.method.label,
            rule=type(self.target).__name__.lower(),
            history=History(
                value=columns[0],
                best=columns[1],
                step=columns[2],
                inner_iterations=columns[3].astype(int),
                seconds=columns[4],
            ),
        )


def _next_length(taken: int, elapsed: float, left: float) -> int:
    """The chunk that should take a tenth of a second, or what is left of the time limit."""
    pace = elapsed / max(taken, 1)
    wanted = min(_CHUNK_SECONDS, max(left, 0.0)) / max(pace, 1e-9)
    return int(np.clip(wanted, 1, min(_CHUNK, 4 * max(taken, _FIRST_CHUNK))))


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C into an event for the loop to see; a second one raises as usual.

    Compiled code cannot be interrupted, and an exception between two chunks would lose the best iterate.
    """
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed
        return
    previous = signal.getsignal(signal.SIGINT)

    def press(signum: int, frame: FrameType | None) -> None:
        if pressed.is_set():
            raise KeyboardInterrupt
        pressed.set()

    signal.signal(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        # None stands for a handler that was not installed from Python, and cannot be put back from here.
        signal.signal(signal.SIGINT, signal.default_int_handler if previous is None else previous)
