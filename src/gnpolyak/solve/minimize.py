"""The only loop in the package: compiled chunks of steps, and between them everything a person may want."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gnpolyak.base import arrays
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.penalties import L1
from gnpolyak.solve import arguments
from gnpolyak.solve.outliers import corrupted, data, on_the_inliers
from gnpolyak.solve.progress import progress_bar
from gnpolyak.solve.result import History, Result, Status
from gnpolyak.steps.iteration import State, init, step
from gnpolyak.steps.methods import GNP, Method, as_method
from gnpolyak.steps.targets import Known, Target

# The most steps between two returns to the host, and the time a chunk should take: Ctrl-C and callbacks wait that long.
_CHUNK = 1024
_CHUNK_SECONDS = 0.1
_FIRST_CHUNK = 8
# Gauss–Newton steps converge quadratically: a few take any separated solution to the limit of the arithmetic.
_POLISHING_CALLS = 5
# Who was stopped from outside wants an end, and no more work.
_STOPPED = {Status.INTERRUPTED, Status.TIME_LIMIT, Status.STOPPED_BY_CALLBACK}


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


def minimize(
    problem: Composite,
    x0: Tree = None,
    method: str | Method = "auto",
    *,
    rank: int | str = "auto",
    cuts: int | None = None,
    target: float | None = None,
    lower_bound: float | None = None,
    strategy: str | None = None,
    inner: int = 200,
    outer: int = 50,
    tol: float = 1e-10,
    max_calls: int | None = None,
    max_seconds: float | None = None,
    polish: bool = False,
    callback: Callable[[Result], Any] | None = None,
    progress: bool = False,
) -> Result:
    """Minimise h(c(x)).

    Parameters
    ----------
    problem : Composite
        From `composite` or an instance's ``problem``.
    x0 : array_like or pytree, optional
        The start. NumPy in, NumPy out; JAX in, JAX out; computed in the dtype of the data. Without one, power
        measurements of low-rank matrices and tensors are started from the data alone (`starts.spectral`).
    method : str or Method
        ``"auto"`` (GNP that damps itself where rank is lost, with several cuts), the methods of the literature
        ``"gnp"``, ``"lmm"``, ``"scaledsm"`` and ``"polyak"``, or a configured object such as ``GNP(solver="cg")``.
    rank : int or "auto"
        The number of factors of a start from the data; ``"auto"`` estimates it (`starts.estimate_rank`). Better too
        large than too small: the default method can do with surplus factors. Not used when x0 is given.
    cuts : int, optional
        How many of the last points each step takes into account, 1 to 10; by default the method's own choice: 5 for
        ``"auto"``, 1 for the methods of the literature.
    target : float, optional
        The optimal value h*, where it is known.
    lower_bound : float, optional
        A number that h* is known not to fall below, where h* itself is not known. With neither, the penalty's own
        infimum (0 for a norm) is taken.
    strategy : {"level", "restart"}, optional
        How to find h* from a lower bound: by a level below the best value that shrinks when it proves too much
        (`Level`, the default), or by the paper's restarts (`Restart`: RGNP, RPolyak).
    inner, outer : int
        Steps in a restart and number of restarts: the paper's T and K.
    tol : float
        Stop when the gap is at most tol times the first gap. The gap is measured from the target; with a lower
        bound, from the strategy's own estimate of h*.
    max_calls : int, optional
        Most oracle calls: 1,000 for a known target, the whole schedule for restarts, and 20,000 for the level rule,
        which ends by itself.
    max_seconds : float, optional
        Most seconds in the loop, not counting compilation. Honoured between chunks of about 0.1 s.
    polish : bool
        Once good and corrupted measurements separate (see ``res.outliers``), finish on the good ones with Gauss–Newton
        steps, to the limit of the arithmetic, with at most 6 calls on top of max_calls. Kept only if the objective
        itself falls. For the L1 penalty; not done when the solve was stopped from outside.
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
    chosen = as_method(method, cuts)
    rule = arguments.target_rule(
        problem,
        chosen,
        target=target,
        lower_bound=lower_bound,
        strategy=strategy,
        inner=inner,
        outer=outer,
        tol=tol,
    )
    limits = _Limits(arguments.checked_calls(max_calls, rule), arguments.checked_seconds(max_seconds))
    arguments.check_callback(callback)
    x0 = arguments.start(problem, rank) if x0 is None else x0
    x, dtype = arguments.checked_start(problem, chosen, x0)
    chosen = chosen.suited(problem, x) if cuts is None and isinstance(method, str) else chosen
    convert = _identity if arrays.is_jax(x0) else arrays.to_numpy
    with arrays.computing_in(dtype), progress_bar(progress, limits.calls, chosen.name) as report:
        run = _Run(problem=problem.cast(dtype), method=chosen, target=rule, convert=convert)
        with _interruptible() as interrupted:
            observers = [observer for observer in (callback, report) if observer is not None]
            res = run.loop(x, limits, interrupted, observers)
            return _finish(run.problem, res, convert, polish and res.status not in _STOPPED, interrupted)


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

    def loop(
        self,
        x: Tree,
        limits: _Limits,
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
        self, state: State, observers: Sequence[Callable[[Result], Any]], interrupted: threading.Event, limits: _Limits
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
            method=f"{self.method.name} ({self.method.cuts} cut{'s' * (self.method.cuts > 1)})",
            rule=type(self.target).__name__.lower(),
            history=History(
                value=columns[0],
                best=columns[1],
                step=columns[2],
                inner_iterations=columns[3].astype(int),
                seconds=columns[4],
            ),
        )


@jax.jit
def _residuals(problem: Composite, x: Tree) -> Array:
    measured, _ = problem.sensing.measure(problem.map, x)
    return measured - data(problem)


@jax.jit
def _value(problem: Composite, x: Tree) -> Array:
    return problem.evaluate(x).value


def _finish(
    problem: Composite, res: Result, convert: Callable[[Tree], Tree], polish: bool, interrupted: threading.Event
) -> Result:
    """Tell which measurements are corrupted, and polish on the others if asked to."""
    if not isinstance(problem.penalty, L1) or not np.isfinite(res.value):
        return res
    b = np.asarray(data(problem))
    bad = corrupted(np.asarray(_residuals(problem, res.x)), b)
    res = replace(res, outliers=bad, measurements=b.size)
    return res if bad is None or not polish else _polished(problem, res, bad, convert, interrupted)


def _polished(
    problem: Composite, res: Result, bad: np.ndarray, convert: Callable[[Tree], Tree], interrupted: threading.Event
) -> Result:
    run = _Run(problem=on_the_inliers(problem, bad), method=GNP(), target=Known(0.0, tol=0.0), convert=convert)
    better = run.loop(jax.tree.map(jnp.asarray, res.x), _Limits(_POLISHING_CALLS, float("inf")), interrupted)
    value = float(_value(problem, better.x))
    calls = better.calls + 1
    res = replace(res, calls=res.calls + calls, polish_calls=calls, seconds=res.seconds + better.seconds)
    return replace(res, x=better.x, value=value, bound=min(res.bound, value)) if value < res.value else res


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
        # None stands for a handler that was not installed from Python, and cannot be put back from here.
        signal.signal(signal.SIGINT, signal.default_int_handler if previous is None else previous)


def _identity(tree: Tree) -> Tree:
    return tree
