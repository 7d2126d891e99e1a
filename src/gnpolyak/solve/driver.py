"""The driver: stages of steps, and between them limits, observers, history, certificates and the record."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gnpolyak.base.hosts import ALONE, Peers
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.sharding import joined
from gnpolyak.solve.certificate import Certificate
from gnpolyak.solve.clock import CHUNK_SECONDS, FIRST_CHUNK, Clock, Limits, next_length
from gnpolyak.solve.course import Course, Mark, Proof, Record, Stage, another, filled
from gnpolyak.solve.dual import LEAST
from gnpolyak.solve.evaluation import Evaluation
from gnpolyak.solve.result import History, Result, noted
from gnpolyak.solve.runners import LONGEST_STEP
from gnpolyak.solve.runners.compiled import LONGEST
from gnpolyak.solve.values import is_lower, no_worse, rule_of
from gnpolyak.steps.iteration import State
from gnpolyak.steps.methods import Method
from gnpolyak.steps.status import FINAL, Status
from gnpolyak.steps.targets import Target


@dataclass
class Run:
    """One solve: the clock, the history so far, and the reasons to stop that only the host can see."""

    evaluation: Evaluation
    """What is solved, and what evaluates it; its variable may be another than that of `given`."""
    given: Composite
    """What was to be solved."""
    to_user: Callable[[Tree], Tree]
    """Arrays as the user's own are."""
    limits: Limits
    interrupted: threading.Event
    observers: Sequence[Callable[[Result], Any]] = ()
    clock: Clock = field(default_factory=Clock)
    calls: int = 0
    rows: list[np.ndarray] = field(default_factory=list)
    proves: Callable[[float, float], bool] = lambda value, first: False
    """Whether a value, beside the first one, is so near the lower bound that nothing else needs to be said."""
    method: Method | None = None
    """The method of the last stage."""
    course: Course = field(default_factory=lambda: Course(Record(0)))
    """What was done, and what of it is only gone through again."""
    peers: Peers = ALONE
    """The processes that solve it together: all of them take the same steps, by the clock of the first."""
    _best: Result | None = None
    _settled: float = 0.0

    @property
    def problem(self) -> Composite:
        """What is solved."""
        return self.evaluation.problem

    @property
    def seconds(self) -> float:
        """What the caller has waited so far; of several processes the first, when they settled on it last."""
        return self.clock.seconds if self.peers.count == 1 else self._settled

    def _settle(self) -> None:
        """Settle on the time: a call of all processes, at the same places of the solve.

        Whoever only reads it, such as a callback that another process does not come to, must not wait for the others.
        """
        self._settled = self.peers.of_first(self.clock.seconds)

    def halted_by(self) -> Status:
        """Why an evaluation was not begun."""
        return Status.INTERRUPTED if self.interrupted.is_set() else Status.TIME_LIMIT

    def through(self, stages: Sequence[tuple[Method, Target]], x: Tree) -> Result:
        """Run the stages one after the other, each from the best point so far, and return the last one's result."""
        first_gap: Array | None = None
        before: Result | None = None
        bind = self.evaluation.runner.bind
        for place, (method, target) in enumerate((bind(method), bind(target)) for method, target in stages):
            state, status = self._stage(method, target, x, first_gap)
            res = self.result(method, target, state, status)
            res = before = self._noted(res if before is None else no_worse(res, before))
            x, first_gap = res.state.best.x, state.first_gap
            # A rule for an unknown optimum may be wrong about having reached it; whoever comes next will see.
            reached = status is Status.TARGET_REACHED
            final = status in FINAL and not (reached and not target.exact and not self.proved(float(state.best.value)))
            if final or not np.isfinite(float(state.best.value)) or place == len(stages) - 1:
                break
        self.method = method
        return res

    def _noted(self, res: Result) -> Result:
        """The result, of which the best so far is kept for whoever wants the solve to end during a pass."""
        if self._best is None or is_lower(res.value, self._best.value):
            self._best = res
        return res

    def given_up(self) -> Result:
        """The best result so far; if no point was evaluated yet, raises KeyboardInterrupt."""
        if self._best is None:
            raise KeyboardInterrupt
        return self.so_far(replace(self._best, status=self.halted_by()))

    @property
    def room(self) -> bool:
        """Whether enough calls are left to try anything else."""
        return self.limits.calls - self.calls > LEAST

    def proved(self, value: float) -> bool:
        """Whether a value is its own certificate."""
        return self.proves(value, float(self.rows[0][0][0]))

    def _stage(self, method: Method, target: Target, x: Tree, first_gap: Array | None) -> tuple[State, Status]:
        known = self.course.stage()
        if known is not None and known.over:
            return self._gone_through(known, method, target, x), known.status
        state = self._begin(method, target, x, first_gap) if known is None else self._back(known, method, target, x)
        status, free = Status(int(state.status)), None if known is None else known.free
        # How long a step takes is not known before the first: with a time limit that is one by itself.
        length = FIRST_CHUNK if self.limits.seconds == float("inf") else 1
        self.course.made.append(Stage(self._mark(state), status, free))
        while status is Status.RUNNING:
            status = self._observe(method, target, state)
            if status is not Status.RUNNING:
                break
            spare = self._spare(method)
            free = free or (self._mark(state) if spare <= 0 else None)
            began = time.perf_counter()
            with self.clock.on("steps"):
                taken, state = self._advance(method, target, state, min(length, spare) if spare > 0 else length)
            status = Status(int(state.status))
            elapsed = self.peers.of_first(time.perf_counter() - began)
            length = next_length(taken, elapsed, self.limits.seconds - self.seconds)
            if not taken and status is Status.RUNNING and self._is_halted():
                status = self.halted_by()
            self.course.made[-1] = Stage(self._mark(state), status, free)
            self.course.keep(self.rows)
        self.course.made[-1] = Stage(self._mark(state), status, free)
        return state, status

    def _spare(self, method: Method) -> int:
        """The calls before steps are cut short by the limit: one that takes a single call never is."""
        return self.limits.calls - self.calls - LONGEST_STEP if method.least_calls > 1 else LONGEST

    def _mark(self, state: State) -> Mark:
        return Mark(state, self.calls, self.seconds)

    def _is_halted(self) -> bool:
        """Whether the host runner gave up a step, and not the step itself."""
        return self.interrupted.is_set() or self.limits.seconds < float("inf")

    def _begin(self, method: Method, target: Target, x: Tree, first_gap: Array | None) -> State:
        with self.clock.on("steps"):
            state = self.evaluation.runner.begin(method, target, x, self._made)
        self._settle()
        self.calls += 1
        value = float(state.point.value)
        self.rows.append(np.array([[value], [value], [0.0], [0.0], [self.seconds]]))
        return state if first_gap is None else state._replace(first_gap=first_gap)

    def _back(self, known: Stage, method: Method, target: Target, x: Tree) -> State:
        """Where a stage on record stood; it is begun as it once was, to have all that it runs compiled."""
        begun = self.evaluation.runner.begin(method, target, x, self._made)
        self._require_start(begun)
        self._catch_up(known.at.calls, known.at.seconds)
        return self._filled(begun, known)._replace(limit=begun.limit)

    def _gone_through(self, known: Stage, method: Method, target: Target, x: Tree) -> State:
        """The end of a stage on record."""
        runner, first = self.evaluation.runner, not self.rows and self.course.first_value is not None
        like = (runner.begin if first else runner.like)(method, target, x, self._made)
        if first:
            self._require_start(like)
        self._catch_up(known.at.calls, known.at.seconds)
        self.course.made.append(known)
        return self._filled(like, known)

    def _filled(self, like: State, known: Stage) -> State:
        layout = self.problem.sensing.spread
        return filled(like, known.at.state, None if layout is None else layout.everywhere)

    def _require_start(self, begun: State) -> None:
        expected = self.course.first_value
        if not self.rows and expected is not None and not np.array_equal(begun.point.value, expected, equal_nan=True):
            raise another(f"the value {expected:.6g} at its start, which here is {float(begun.point.value):.6g}")

    def _catch_up(self, calls: int, seconds: float) -> None:
        self.rows.append(self.course.rows[:, self.calls : calls])
        self.calls = calls
        self.clock.after(seconds)
        self._settle()

    def proof(self, certify: Callable[[], Certificate]) -> Certificate:
        """A certificate, from the record where it is there; its products and seconds are those of the solve."""
        known, budget = self.course.proof(), self.limits.calls - self.calls
        if known is not None:
            self._catch_up(known.calls, known.seconds)
            self.course.made.append(known)
            return known.certificate
        with self.clock.on("certificate"):
            found = certify()
        found = replace(found, seconds=self.peers.of_first(found.seconds))
        self._settle()
        self.note(found.products)
        self.course.made.append(Proof(found, budget, self.calls, self.seconds))
        self.course.keep(self.rows)
        return found

    @property
    def _made(self) -> tuple[int, int]:
        """The oracle calls made so far, and the most there may be."""
        return self.calls, self.limits.calls

    def _advance(self, method: Method, target: Target, state: State, length: int) -> tuple[int, State]:
        began, left = self.seconds, self.limits.seconds - self.seconds
        state, columns = self.evaluation.runner.advance(method, target, state, length, min(CHUNK_SECONDS, left))
        taken = columns.shape[1]
        self._settle()
        if taken:  # None are made where the first direction cannot be followed.
            marks = began + (self.seconds - began) * np.arange(1, taken + 1) / taken
            self.rows.append(np.array([*columns, marks]))
        self.calls += taken
        return taken, state

    def into(self, x: Tree) -> Tree:
        """A point of the problem that was given as one of that which is solved."""
        return self.problem.sensing.into(joined(self.given, x))

    def convert(self, x: Tree) -> Tree:
        """A point of the loop as the user is to see it."""
        return self.to_user(self.problem.sensing.back(x))

    def note(self, products: int) -> None:
        """Write down calls that led to no other point."""
        self.rows[:] = noted(self.rows, products, self.seconds)
        self.calls += products

    def _observe(self, method: Method, target: Target, state: State) -> Status:
        pressed = self.interrupted.is_set()
        pressed, stopped = self.peers.anywhere(pressed, not pressed and self._is_stopped(method, target, state))
        if pressed or stopped:
            return Status.INTERRUPTED if pressed else Status.STOPPED_BY_CALLBACK
        if self.calls + method.least_calls > self.limits.calls:
            return Status.CALL_LIMIT
        return Status.TIME_LIMIT if self.seconds >= self.limits.seconds else Status.RUNNING

    def _is_stopped(self, method: Method, target: Target, state: State) -> bool:
        """Whether an observer wants an end, having seen how far this is."""
        try:
            for observer in self.observers:
                observer(self.result(method, target, state, Status.RUNNING))
        except StopIteration:
            return True
        return False

    def result(self, method: Method, target: Target, state: State, status: Status) -> Result:
        """What is said of a state."""
        return Result(
            x=self.convert(state.best.x),
            value=float(state.best.value),
            status=status,
            calls=self.calls,
            seconds=self.seconds,
            bound=float(target.stated() if method.leads else target.bound(state.aim)),
            problem=self.problem.label,
            method=method.label,
            rule=rule_of(method, target),
            state=state,
            history=self.history(),
            timings=self.timings(),
        )

    def so_far(self, res: Result) -> Result:
        """The result with all that was done for it."""
        self._settle()
        return replace(res, calls=self.calls, seconds=self.seconds, history=self.history(), timings=self.timings())

    def timings(self) -> dict[str, float]:
        """What the seconds so far went into."""
        compiling, spent = self.evaluation.compiling, self.clock.spent
        rest = {name: spent.get(name, 0.0) for name in ("start", "steps", "certificate")}
        return {**rest, "compiling": compiling}

    def history(self) -> History:
        """One entry for each call so far."""
        return History.of(self.rows)
