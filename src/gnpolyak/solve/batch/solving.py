"""The members of a batch from their starts to their results."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import numpy as np

from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import RESIDUALS
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import NumpyMap
from gnpolyak.solve.batch import programs
from gnpolyak.solve.batch.history import End, rows_of
from gnpolyak.solve.batch.members import Members, assign, part
from gnpolyak.solve.batch.rounds import Rounds
from gnpolyak.solve.dual import LEAST, Dual, told
from gnpolyak.solve.finish import CLAIMS, certified, proves
from gnpolyak.solve.hosted import is_hosted
from gnpolyak.solve.loop import FINAL, Limits, Run, is_lost
from gnpolyak.solve.result import Result
from gnpolyak.solve.ways import concluded, otherwise, solution
from gnpolyak.steps.methods import Method
from gnpolyak.steps.status import Status
from gnpolyak.steps.targets import Target
from gnpolyak.steps.weighted import forms_jacobian

# Small problems take some ten milliseconds each on the host, and some seconds to compile a batch for.
_WORTH_COMPILING = 100


@dataclass
class Task:
    """What is the same for all members."""

    method: Method
    rule: Target
    limits: Limits
    interrupted: threading.Event
    to_user: Callable[[Tree], Tree]
    polish: bool
    dtype: np.dtype
    count: int
    """How many members there are."""
    shows: Callable[[int], Any] = lambda running: None
    """Is told how many members are still running."""
    stopped: bool = False
    """Whether a callback has asked for an end."""
    seconds: float = 0.0
    """The clock of the whole batch."""

    def stops(self, seconds: float) -> Status:
        """The reason to end that only the host can see, if there is one."""
        if self.interrupted.is_set():
            return Status.INTERRUPTED
        if self.stopped:
            return Status.STOPPED_BY_CALLBACK
        return Status.TIME_LIMIT if seconds >= self.limits.seconds else Status.RUNNING

    def run(self, given: Composite, solved: Composite, **known: Any) -> Run:
        """The solve of one member."""
        return Run(solved, given, self.to_user, self.limits, self.interrupted, self._observers(), **known)

    def _observers(self) -> list[Callable[[Result], Any]]:
        def stop(res: Result) -> None:
            raise StopIteration

        return [stop] if self.stopped else []


@dataclass
class Wave:
    """Members of one structure that are solved together."""

    task: Task
    given: list[Composite]
    """The problems as they were given, cast and settled."""
    solved: list[Composite]
    """Those in the variable that they are solved in."""
    x: Tree
    """The starts, stacked, in that variable."""
    like: list[Tree]
    """The starts as the user gave them."""

    def results(self) -> Iterator[Result]:
        """One for each member, in order."""
        return self._one_by_one() if self.is_hosted else Together(self).results()

    @property
    def is_hosted(self) -> bool:
        """Whether members are solved one after the other, in NumPy: few small problems, or models that run there."""
        problem, x, task = self.solved[0], part(self.x, 0), self.task
        stages = task.method.stages(problem, task.rule, x)
        few = task.count < _WORTH_COMPILING and any(is_hosted(problem, *stage, x) for stage in stages)
        return few or isinstance(problem.map, NumpyMap)

    def _one_by_one(self) -> Iterator[Result]:
        task = self.task
        for i, (given, solved, like) in enumerate(zip(self.given, self.solved, self.like, strict=True)):
            x = part(self.x, i)
            run = task.run(given, solved, proves=proves(solved, task.rule, x), seconds=task.seconds)
            res = solution(run, task.method, task.rule, x)
            res = concluded(run, task.method, task.rule, res, task.polish, like)
            task.seconds = run.seconds
            task.shows(len(self.like) - i - 1)
            yield res


class Together:
    """The stages, certificates and residuals of all members of a wave at once; what few need, each does alone."""

    def __init__(self, wave: Wave) -> None:
        self.wave, self.task = wave, wave.task
        self.count = len(wave.given)
        task = self.task
        members = Members.of(wave.solved)
        self.rounds = Rounds(members, self.count, task.dtype, task.stops, task.shows, seconds=task.seconds)
        self.everyone = np.arange(self.count)
        self.has_data = wave.solved[0].penalty.has(RESIDUALS)

    def results(self) -> Iterator[Result]:
        """One for each member, in order."""
        self._prove()
        self._through()
        duals = self._duals()
        seen = self._residuals()
        self.task.seconds = self.rounds.seconds
        for i in range(self.count):
            yield self._conclude(i, duals.get(i), seen)

    def _prove(self) -> None:
        """What tells of each member's value whether it is its own certificate."""
        x, rounds = self.wave.x, self.rounds
        self.b = None
        if self.has_data:
            self.b = rounds.all_of(self.everyone, lambda m, at: programs.all_data(m, part(x, at)), "data")
        self.proves = [
            proves(problem, self.task.rule, None, None if self.b is None else self.b[i])
            for i, problem in enumerate(self.wave.solved)
        ]

    def _through(self) -> None:
        """The stages, each for those that need it, from the best point so far."""
        wave, task = self.wave, self.task
        stages = task.method.stages(wave.solved[0], task.rule, part(wave.x, 0))
        self.x, self.value = jax.tree.map(np.array, wave.x), np.full(self.count, np.inf)
        self.ends: list[list[End]] = [[] for _ in self.everyone]
        gap: Any = None
        made, who = np.zeros(self.count, np.int32), self.everyone
        for method, target in stages:
            stage = self.rounds.begin(method, target, part(self.x, who), made[who], task.limits.calls, who)
            if gap is None:
                self.first, gap = stage.state.best.value.copy(), stage.state.first_gap.copy()
            stage.state = eqx.tree_at(lambda s: s.first_gap, stage.state, gap[who])
            self.rounds.finish(stage, method, target, who)
            self._keep(End(method, target, stage), who)
            made[who] = stage.state.calls
            who = who[[not self._is_final(int(i), target) for i in who]]
            if not len(who):
                break

    def _keep(self, end: End, who: np.ndarray) -> None:
        """Note how a stage ended for its members; a best point that was lost in it is the best one still."""
        best, again = end.stage.state.best, bool(self.ends[who[0]])
        lost = is_lost(best.value, self.value[who], self.task.dtype) if again else np.zeros(len(who), bool)
        for row, i in enumerate(who):
            self.ends[i].append(end.of(row, self.ends[i][-1] if lost[row] else None))
        assign(self.x, who[~lost], part(best.x, ~lost))
        self.value[who[~lost]] = best.value[~lost]

    def _is_final(self, i: int, target: Target) -> bool:
        """Whether no further stage is to go on from where a member is."""
        status, value = self.ends[i][-1].status, self.ends[i][-1].value
        wrong = status is Status.TARGET_REACHED and not target.exact and not self._proved(i, value)
        return (status in FINAL and not wrong) or not np.isfinite(value)

    def _proved(self, i: int, value: float) -> bool:
        return self.proves[i](value, float(self.first[i]))

    def _duals(self) -> dict[int, Dual]:
        """The searches for dual vectors of those whose ends need one, where that is by products alone."""
        rule, problem = self.task.rule, self.wave.solved[0]
        by_products = self.has_data and problem.box is None and not forms_jacobian(problem, part(self.x, 0))
        if rule.exact or not by_products:
            return {}
        who = np.flatnonzero([self._needs_certificate(i) for i in range(self.count)])
        if not len(who) or self.task.stops(self.rounds.seconds) is Status.INTERRUPTED:
            return {}
        budget = np.array([self.task.limits.calls - self.ends[i][-1].calls for i in who], np.int32)
        x, tol, began = part(self.x, who), float(rule.tol), self.rounds.seconds
        found = self.rounds.all_of(
            who, lambda m, at: programs.certificates(m, part(x, at), tol, budget[at]), "certificates"
        )
        # As much of the time as each would be charged with alone, were the work shared evenly.
        share = (self.rounds.seconds - began) / len(who)
        return {int(i): _dual(part(found, row), share) for row, i in enumerate(who)}

    def _needs_certificate(self, i: int) -> bool:
        end = self.ends[i][-1]
        room = self.task.limits.calls - end.calls > LEAST
        return end.status in CLAIMS and room and bool(np.isfinite(self.value[i])) and not self._proved(i, self.value[i])

    def _residuals(self) -> np.ndarray | None:
        if self.b is None:
            return None
        return self.rounds.all_of(self.everyone, lambda m, at: programs.residuals(m, part(self.x, at)), "residuals")

    def _conclude(self, i: int, dual: Dual | None, r: np.ndarray | None) -> Result:
        wave, task, end = self.wave, self.task, self.ends[i][-1]
        run = task.run(wave.given[i], wave.solved[i], proves=self.proves[i], method=end.method)
        run.rows, run.calls = [rows_of(self.ends[i])], end.calls
        run.seconds = task.seconds
        res = run.result(end.method, end.target, end.state, end.status)
        seen = None if r is None or self.b is None else (res.x, r[i], self.b[i])
        res = certified(run, task.rule, res, found=dual)
        res = otherwise(run, task.method, task.rule, part(wave.x, i), res)
        res = concluded(run, task.method, task.rule, res, task.polish, wave.like[i], seen)
        # What a member did alone is the batch's time too.
        task.seconds = max(task.seconds, run.seconds)
        return res


def _dual(found: Any, seconds: float) -> Dual:
    of, v, steps, slope, left, products = found
    figures = {"steps": float(steps), "slope": float(slope), "left": float(left), "products": int(products)}
    return told(of, v=v, edge=0.0, seconds=seconds, **figures)
