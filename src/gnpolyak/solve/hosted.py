"""Steps on the host, for problems whose Jacobian is formed: only the model is compiled, and not the loop around it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from gnpolyak.base import trees
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.formed import Formed
from gnpolyak.steps.graduated import Graduated
from gnpolyak.steps.iteration import State, init, step
from gnpolyak.steps.least_absolute import LeastAbsolute
from gnpolyak.steps.methods import Method
from gnpolyak.steps.status import Status
from gnpolyak.steps.targets import Known, Level, Target
from gnpolyak.steps.weighted import forms_jacobian


class Hosted:
    """Runs `step` on NumPy arrays."""

    def __init__(self, problem: Composite, x: Tree) -> None:
        self.formed = Formed(problem, trees.on_host(x))

    def begin(self, method: Method, target: Target, x: Tree, made: tuple[int, int]) -> tuple[State, float]:
        """The evaluated start, and the seconds it took."""
        began = time.perf_counter()
        with np.errstate(all="ignore"):
            state = init(self._problem, method, target, trees.on_host(x), calls=made[0], limit=made[1])
        return state, time.perf_counter() - began

    def like(self, method: Method, target: Target, x: Tree, made: tuple[int, int]) -> State:
        """A state of the shapes that the stage's have."""
        return self.begin(method, target, x, made)[0]

    def advance(self, method: Method, target: Target, state: State, length: int) -> tuple[State, np.ndarray, float]:
        """Steps of up to `length` oracle calls, what each call showed, and the seconds they took."""
        began, rows = time.perf_counter(), []
        state = trees.on_host(state)
        last = int(state.calls) + length
        with np.errstate(all="ignore"):
            while goes_on(method, state, last):
                before = state
                state, info = step(self._problem, method, target, before)
                rows += rows_of(before, state, info)
        return state, np.array(rows, np.float64).reshape(-1, 4).T, time.perf_counter() - began

    @property
    def _problem(self) -> Any:
        # A `Formed` has all of a problem that steps of this kind ask for.
        return self.formed


def is_hosted(problem: Composite, method: Method, target: Target, x: Tree) -> bool:
    """Whether a stage runs on the host: of its arithmetic there is no more than NumPy does as fast as XLA."""
    return (
        isinstance(method, (Graduated, LeastAbsolute))
        and isinstance(target, (Known, Level))
        and forms_jacobian(problem, x)
    )


def goes_on(method: Method, state: State, last: int) -> bool:
    """Whether there is room for another step before the call `last`."""
    enough = state.limit - state.calls >= method.least_calls
    return bool(state.status == Status.RUNNING and state.calls < last and enough)


def rows_of(before: State, state: State, info: Any) -> list[list[float]]:
    """One for each call; the products that led to a point have the value before."""
    made = int(state.calls) - int(before.calls)
    rest = [float(before.point.value), float(before.best.value), float(info.step), float(info.inner_iterations)]
    return [rest] * (made - 1) + [[float(info.value), float(state.best.value), *rest[2:]]] * (made > 0)
