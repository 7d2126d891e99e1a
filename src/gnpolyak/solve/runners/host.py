"""Runs the steps on NumPy arrays, one after the other: nothing is compiled but a user's own JAX functions."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from gnpolyak.base import trees
from gnpolyak.base.halting import HaltedError
from gnpolyak.base.memory import keep_pages
from gnpolyak.base.namespace import Portable
from gnpolyak.base.threads import one_lapack_thread
from gnpolyak.base.trees import Tree
from gnpolyak.oracles import Oracle
from gnpolyak.oracles.watched import Watched
from gnpolyak.steps.iteration import Info, State, init, step
from gnpolyak.steps.methods import Method
from gnpolyak.steps.status import Status
from gnpolyak.steps.targets import Target

P = TypeVar("P", bound=Portable)


class HostRunner:
    """Runs `step` on the host.

    Parameters
    ----------
    oracle : Oracle
        How the problem is evaluated.
    halted : callable
        Tells, of the seconds that the next evaluation is expected to take, whether it is not to be begun.
    """

    name = "host"

    def __init__(self, oracle: Oracle, halted: Callable[[float], bool]) -> None:
        keep_pages()
        self.oracle = Watched(oracle, halted)

    def bind(self, module: P) -> P:
        """A method or a rule as it runs here."""
        return module.using(np)

    def begin(self, method: Method, target: Target, x: Tree, made: tuple[int, int]) -> State:
        """The evaluated start."""
        with np.errstate(all="ignore"), one_lapack_thread(compiled=False), self.oracle.unwatched():
            return init(self.oracle, method, target, trees.on_host(x), calls=made[0], limit=made[1])

    def like(self, method: Method, target: Target, x: Tree, made: tuple[int, int]) -> State:
        """A state of the shapes that the stage's have."""
        return self.begin(method, target, x, made)

    def advance(
        self, method: Method, target: Target, state: State, length: int, seconds: float
    ) -> tuple[State, np.ndarray]:
        """Steps of up to `length` oracle calls or so many seconds, and what each call showed.

        A step that is halted leaves the state as it was before it.
        """
        rows: list[list[float]] = []
        last, end = int(state.calls) + length, time.perf_counter() + seconds
        try:
            with np.errstate(all="ignore"), one_lapack_thread(compiled=False):
                while _goes_on(method, state, last) and (time.perf_counter() < end or not rows):
                    before = state
                    state, info = step(self.oracle, method, target, before)
                    rows += _rows(before, state, info)
        except HaltedError:
            pass
        return state, np.array(rows, np.float64).reshape(-1, 4).T

    def ask(self, question: Callable[..., Any], x: Tree, *args: Any) -> Any:
        """What a function of an oracle and a point says."""
        with np.errstate(all="ignore"), one_lapack_thread(compiled=False):
            return question(self.oracle, trees.on_host(x), *args)


def _goes_on(method: Method, state: State, last: int) -> bool:
    """Whether there is room for another step before the call `last`."""
    enough = state.limit - state.calls >= method.least_calls
    return bool(state.status == Status.RUNNING and state.calls < last and enough)


def _rows(before: State, state: State, info: Info) -> list[list[float]]:
    """One for each call; the products that led to a point have the value before."""
    made = int(state.calls) - int(before.calls)
    rest = [float(before.point.value), float(before.best.value), float(info.step), float(info.inner_iterations)]
    return [rest] * (made - 1) + [[float(info.value), float(state.best.value), *rest[2:]]] * (made > 0)
