"""The only loop in the package: compiled chunks of steps, and between them everything a person may want."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gnpolyak import arrays
from gnpolyak.errors import InputError
from gnpolyak.iteration import State, init, step
from gnpolyak.methods import Method, as_method
from gnpolyak.problem import Composite
from gnpolyak.progress import progress_bar
from gnpolyak.result import History, Result, Status
from gnpolyak.targets import Known, Level, Restart, Target
from gnpolyak.trees import Tree

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
def _start(problem: Composite, x0: Tree, target: Target, run: Array) -> State:
    """`init`, compiled; with run=False only compiled, so that the clock need not include that."""
    shapes = jax.eval_shape(init, problem, x0, target)
    return lax.cond(
        run,
        lambda: init(problem, x0, target),
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


def minimize(
    problem: Composite,
    x0: Tree,
    method: str | Method = "gnp",
    *,
    target: float | None = None,
    lower_bound: float | None = None,
    strategy: str | None = None,
    inner: int = 200,
    outer: int = 50,
    tol: float = 1e-10,
    max_calls: int | None = None,
    max_seconds: float | None = None,
    callback: Callable[[Result], Any] | None = None,
    progress: bool = False,
) -> Result:
    """Minimise h(c(x)) from x0.

    Parameters
    ----------
    problem : Composite
        From `composite` or an instance's ``problem``.
    x0 : array_like or pytree
        The start. NumPy in, NumPy out; JAX in, JAX out; computed in the dtype of the data.
    method : str or Method
        ``"gnp"``, ``"scaledsm"``, ``"polyak"``, or a configured object such as ``GNP(solver="cg")``.
    target : float, optional
        The optimal value h*, where it is known.
    lower_bound : float, optional
        A number that h* is known not to fall below, where h* itself is not known. With neither, the penalty's own
        infimum (0 for a norm) is taken.
    strategy : {"level", "restart"}, optional
        How to find h* from a lower bound: by a level below the best value that is halved when it proves too much
        (`Level`, the default), or by the paper's restarts (`Restart`: RGNP, RPolyak).
    inner, outer : int
        Steps in a restart and number of restarts: the paper's T and K.
    tol : float
        Stop when the gap is at most tol times the first gap. The gap is measured from the target; with a lower
        bound, from the strategy's own estimate of h*.
    max_calls : int, optional
        Most oracle calls: 1,000, or the whole schedule for restarts.
    max_seconds : float, optional
        Most seconds in the loop, not counting compilation. Honoured between chunks of about 0.1 s.
    callback : callable, optional
        Called with a `Result` so far (status RUNNING) between chunks; stops the solve by raising StopIteration.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Result
        The best point found, whatever happened. Ctrl-C ends the solve with what it has; twice raises.

    Raises
    ------
    InputError
        On input that cannot be solved, before anything is compiled.
    """
    rule = _target_rule(problem, target, lower_bound, strategy, inner, outer, tol)
    chosen = as_method(method)
    x, dtype = _checked_start(problem, chosen, x0)
    limits = _Limits(_checked_calls(max_calls, rule), _checked_seconds(max_seconds))
    _check_callback(callback)
    convert = _identity if arrays.is_jax(x0) else arrays.to_numpy
    with arrays.computing_in(dtype), progress_bar(progress, limits.calls, chosen.name) as report:
        run = _Run(problem=problem.cast(dtype), method=chosen, target=rule, convert=convert)
        return run.loop(x, limits, [observer for observer in (callback, report) if observer is not None])


@dataclass(frozen=True)
class _Limits:
    calls: int
    seconds: float


@dataclass
class _Run:
    """One solve on the host: the clock, the history so far, and the reasons to stop that only the host can see."""

    problem: Composite
    method: Method
    target: Target
    convert: Callable[[Tree], Tree]
    seconds: float = 0.0
    rows: list[np.ndarray] = field(default_factory=list)

    def loop(self, x: Tree, limits: _Limits, observers: list[Callable[[Result], Any]]) -> Result:
        with _interruptible() as interrupted:
            state = self._begin(x)
            length, calls, status = _FIRST_CHUNK, 1, Status(int(state.status))
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
        compiled = _start(self.problem, x, self.target, False)
        jax.block_until_ready(_chunk(self.problem, self.method, self.target, compiled, 0))
        began = time.perf_counter()
        state = jax.block_until_ready(_start(self.problem, x, self.target, True))
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
        self, state: State, observers: list[Callable[[Result], Any]], interrupted: threading.Event, limits: _Limits
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
def _interruptible() -> Iterator[threading.Event]:
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
        signal.signal(signal.SIGINT, previous)


def _identity(tree: Tree) -> Tree:
    return tree


def _target_rule(
    problem: Composite,
    target: float | None,
    lower_bound: float | None,
    strategy: str | None,
    inner: int,
    outer: int,
    tol: float,
) -> Target:
    if not isinstance(problem, Composite):
        raise InputError(
            given=f"a problem of type {type(problem).__name__}",
            needed="a Composite",
            missing="the map and the penalty",
            advice="make one with gnpolyak.composite(model, gnpolyak.L1(b))",
        )
    if target is not None and (lower_bound is not None or strategy is not None):
        raise InputError(
            given=f"target={target!r} together with lower_bound={lower_bound!r}, strategy={strategy!r}",
            needed="either the optimum, or a lower bound and a strategy to find it",
            missing="one decision",
            advice="drop target if it is only a bound; drop the other two if it is the optimum",
        )
    if target is not None:
        rule: Target = Known(target, tol=tol)
    elif strategy in (None, "level"):
        rule = Level(_lower_bound(problem, lower_bound), tol=tol)
    elif strategy == "restart":
        rule = Restart(_lower_bound(problem, lower_bound), inner, outer, tol=tol)
    else:
        raise InputError(
            given=f"strategy={strategy!r}",
            needed="'level' or 'restart'",
            missing="a known strategy",
            advice="leave strategy out for the default, 'level'",
        )
    rule.check()
    return rule


def _lower_bound(problem: Composite, lower_bound: float | None) -> float:
    bound = problem.penalty.infimum if lower_bound is None else lower_bound
    if bound is None:
        raise InputError(
            given=f"neither target nor lower_bound, with {type(problem.penalty).__name__}",
            needed="a number the value cannot fall below",
            missing="an infimum: this penalty states none",
            advice="pass target=, or lower_bound=, or construct the penalty with infimum=",
        )
    return bound


def _checked_start(problem: Composite, method: Method, x0: Tree) -> tuple[Tree, np.dtype]:
    x = arrays.as_variable(x0)
    dtype = arrays.working_dtype(x, problem)
    x = arrays.cast(x, dtype)
    with arrays.computing_in(dtype):
        problem.check(x)
        method.check(problem, x)
    return x, dtype


def _checked_calls(max_calls: int | None, rule: Target) -> int:
    calls = rule.default_calls() if max_calls is None else max_calls
    if isinstance(calls, bool) or not isinstance(calls, (int, np.integer)) or calls < 1:
        raise _bad_limit("max_calls", max_calls, "a whole number of at least 1")
    return int(calls)


def _checked_seconds(max_seconds: float | None) -> float:
    if max_seconds is None:
        return float("inf")
    if not isinstance(max_seconds, (int, float, np.number)) or not max_seconds > 0:
        raise _bad_limit("max_seconds", max_seconds, "a positive number of seconds")
    return float(max_seconds)


def _bad_limit(name: str, given: Any, needed: str) -> InputError:
    return InputError(
        given=f"{name}={given!r}",
        needed=needed,
        missing=f"a valid {name}",
        advice=f"leave {name} out for its default",
    )


def _check_callback(callback: Any) -> None:
    if callback is not None and not callable(callback):
        raise InputError(
            given=f"callback of type {type(callback).__name__}",
            needed="a function of one Result",
            missing="something to call",
            advice="pass a function such as lambda res: print(res.calls, res.value)",
        )
