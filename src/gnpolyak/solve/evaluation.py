"""A problem together with what evaluates it: the runner of its steps, and its oracle on the host."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import jax
import numpy as np

from gnpolyak.base import trees
from gnpolyak.base.measurements import Layout, gathered
from gnpolyak.base.trees import Tree
from gnpolyak.oracles import Oracle, forms_jacobian, host_oracle, is_small
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.oracles.native import direct
from gnpolyak.solve.runners import CompiledRunner, HostRunner, Runner
from gnpolyak.steps.methods import Method
from gnpolyak.steps.targets import Target

# The runner that is taken whatever the problem, for comparisons and tests.
FORCED = os.environ.get("GNPOLYAK_RUNNER")


# The bytes of a problem on an accelerator that is solved on the host all the same. Sensing of 6 MB takes 0.07 s there,
# and 0.09 s on an H200 once its programs, which take ten seconds, are compiled.
_SMALL = 16 * 2**20


class Evaluation:
    """A problem as it is solved, and what runs its steps.

    Parameters
    ----------
    problem : Composite
    x : pytree
        A point like those that it is evaluated at.
    runner : {"host", "compiled"}
    halted : callable, optional
        Tells, of the seconds that an evaluation is expected to take, whether it is not to be begun.
    say : callable, optional
        Hears what is done while nothing else moves: "compiling", and "" when that is over.
    """

    def __init__(
        self,
        problem: Composite,
        x: Tree,
        runner: str,
        halted: Callable[[float], bool] = lambda seconds: False,
        say: Callable[[str], Any] = lambda what: None,
    ) -> None:
        self.problem, self._x, self._halted, self._say = problem, x, halted, say
        self.compiling = 0.0
        self._on_host = runner == "host"

    @cached_property
    def forms(self) -> bool:
        """Whether AJ is formed."""
        return forms_jacobian(self.problem, self._x)

    @cached_property
    def small(self) -> bool:
        """Whether AJ could be formed."""
        return is_small(self.problem, self._x)

    @property
    def layout(self) -> Layout | None:
        """How the data lie on several devices."""
        return self.problem.sensing.spread

    @cached_property
    def host(self) -> Oracle:
        """The oracle on NumPy arrays."""
        oracle = host_oracle(self.problem, trees.on_host(self._x))
        oracle.compiling = self._compiles
        return oracle

    @property
    def oracle(self) -> Oracle:
        """The oracle on NumPy arrays as steps on the host ask it: what would end too late is not begun."""
        return self.runner.oracle if isinstance(self.runner, HostRunner) else self.host

    @cached_property
    def runner(self) -> Runner:
        """What runs the steps."""
        if self._on_host:
            return HostRunner(self.host, self._halted)
        return CompiledRunner(self.problem, self._compiles)

    @contextmanager
    def _compiles(self) -> Iterator[None]:
        began = time.perf_counter()
        self._say("compiling")
        try:
            yield
        finally:
            self.compiling += time.perf_counter() - began
            self._say("")

    def residuals(self, x: Tree) -> np.ndarray:
        """The residuals b − A(c(x)) of all data, flat."""
        return gathered(self.layout, self.runner.ask(_residuals, x))

    @cached_property
    def data(self) -> np.ndarray:
        """The data b, flat."""
        penalty: Any = self.problem.penalty
        if penalty.runs_on_numpy and self.layout is None:
            own = penalty.using(np)
            return np.ravel(own.residuals(np.zeros_like(own.b)))
        return gathered(self.layout, self.runner.ask(_data, self._x))


def _residuals(oracle: Oracle, x: Tree) -> Any:
    return oracle.residuals(x)[1]


def _data(oracle: Oracle, x: Tree) -> Any:
    return oracle.data


def chosen_runner(problem: Composite, method: Method, target: Target) -> str:
    """Where the steps run: on the host, unless a mesh, an accelerator or something that only JAX can run asks for it.

    It follows from problem, method and rule alone, and never from the clock.
    """
    if FORCED:
        return FORCED
    arrays = [leaf for leaf in jax.tree.leaves(problem) if isinstance(leaf, jax.Array)]
    devices = {device for leaf in arrays for device in leaf.devices()}
    spread = problem.sensing.spread is not None or any(len(leaf.devices()) > 1 for leaf in arrays)
    portable = method.runs_on_numpy and target.runs_on_numpy
    accelerated = any(device.platform != "cpu" for device in devices)
    # Without the compiled passes NumPy reads the rows several times, and the accelerator is the faster one.
    small = problem.runs_on_numpy and direct.available() and sum(leaf.nbytes for leaf in arrays) <= _SMALL
    return "compiled" if spread or not portable or (accelerated and not small) else "host"
