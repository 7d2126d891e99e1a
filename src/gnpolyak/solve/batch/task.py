"""What is the same for all members of a batch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.solve.clock import Clock, Limits
from gnpolyak.solve.driver import Run
from gnpolyak.solve.evaluation import Evaluation, chosen_runner
from gnpolyak.solve.finish import proves
from gnpolyak.solve.result import Result
from gnpolyak.steps.methods import Method
from gnpolyak.steps.status import Status
from gnpolyak.steps.targets import Target


@dataclass(frozen=True)
class Task:
    """What is the same for all members."""

    method: Method
    rule: Target
    limits: Limits
    interrupted: threading.Event
    to_user: Callable[[Tree], Tree]
    polish: bool
    dtype: np.dtype
    clock: Clock
    stopped: threading.Event = field(default_factory=threading.Event)
    """Whether a callback has asked for an end, or something else has ended it."""

    def suited(self, problem: Composite, x: Tree) -> Self:
        """With what the method and the rule leave open decided, for problems of one structure."""
        method = self.method.suited(problem, x)
        return replace(self, method=method, rule=self.rule.suited(method.breadth))

    def stops(self) -> Status:
        """The reason to end that only the host can see, if there is one."""
        if self.interrupted.is_set():
            return Status.INTERRUPTED
        if self.stopped.is_set():
            return Status.STOPPED_BY_CALLBACK
        return Status.TIME_LIMIT if self.clock.seconds >= self.limits.seconds else Status.RUNNING

    def run(self, given: Composite, solved: Composite, x: Tree, **known: Any) -> Run:
        """The solve of one member, from a point like x."""

        def halted(estimate: float) -> bool:
            return self.interrupted.is_set() or self.clock.seconds + estimate > self.limits.seconds

        evaluation = Evaluation(solved, x, chosen_runner(solved, self.method, self.rule), halted)
        known.setdefault("proves", proves(evaluation, self.rule) if "proves" not in known else None)
        observers, limits = self._observers(), self.limits
        return Run(evaluation, given, self.to_user, limits, self.interrupted, observers, self.clock, **known)

    def _observers(self) -> list[Callable[[Result], Any]]:
        def stop(res: Result) -> None:
            raise StopIteration

        return [stop] if self.stopped.is_set() else []
