"""Steps of problems whose rows are streamed: on the host, one after the other, each of some passes over the rows.

`step` is run as it is written, operation by operation: beside passes of seconds that costs nothing. To compile it with
the passes inside would need callbacks that compute with JAX themselves, for which compiled programs may wait for ever.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from gnpolyak.base.memory import give_back
from gnpolyak.base.streams.reading import HaltedError, halted_by
from gnpolyak.base.threads import one_lapack_thread
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.streams import on_host
from gnpolyak.solve.hosted import goes_on, rows_of
from gnpolyak.solve.result import Result
from gnpolyak.steps.iteration import State, init, step
from gnpolyak.steps.methods import Method
from gnpolyak.steps.targets import Target


class Streaming:
    """Runs `step` without compiling it."""

    def __init__(self, problem: Composite, halt: Callable[[float], bool]) -> None:
        self._problem = problem
        self._halt = halt
        """Whether a step that has taken so many seconds is to be given up."""

    def begin(self, method: Method, target: Target, x: Tree, made: tuple[int, int]) -> tuple[State, float]:
        """The evaluated start, and the seconds it took."""
        began = time.perf_counter()
        with on_host(self._problem), one_lapack_thread():
            state = init(self._problem, method, target, x, calls=made[0], limit=made[1])
        return state, time.perf_counter() - began

    def like(self, method: Method, target: Target, x: Tree, made: tuple[int, int]) -> State:
        """A state of the shapes that the stage's have."""
        return self.begin(method, target, x, made)[0]

    def advance(self, method: Method, target: Target, state: State, length: int) -> tuple[State, np.ndarray, float]:
        """One step, if there is room for one, what each of its calls showed, and the seconds it took.

        A step that is given up, between two blocks, leaves the state as it was.
        """
        began, rows, before = time.perf_counter(), [], state
        try:
            with (
                on_host(self._problem),
                one_lapack_thread(),
                halted_by(lambda: self._halt(time.perf_counter() - began)),
            ):
                if goes_on(method, state, int(state.calls) + length):
                    state, info = step(self._problem, method, target, before)
                    rows = rows_of(before, state, info)
        except HaltedError:
            state = before
        # Vectors of all measurements come and go by the dozen: what the C library keeps of them would add up.
        give_back()
        return state, np.array(rows, np.float64).reshape(-1, 4).T, time.perf_counter() - began


def to_the_end(run: Any, solve: Callable[[], Result]) -> Result:
    """What a solve finds; where somebody wants it to end during a pass, the best so far, and none of the rest."""
    try:
        with on_host(run.given), halted_by(run.interrupted.is_set):
            return solve()
    except HaltedError:
        return run.given_up()


def compiling(observer: Callable[[Result], Any]) -> Callable[[Result], Any]:
    """The observer with what it computes compiled, or not, as it is now: steps that are not are not its affair."""
    plain = bool(getattr(jax.config, "jax_disable_jit"))  # noqa: B009

    def observe(res: Result) -> Any:
        with jax.disable_jit(plain):
            return observer(res)

    return observe
