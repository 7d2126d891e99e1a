"""How the stages of one member ended, and the history that the traces of its tiles add up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import equinox as eqx
import numpy as np

from gnpolyak.problem.composite import Point
from gnpolyak.solve.batch.members import part
from gnpolyak.solve.batch.rounds import Stage
from gnpolyak.steps.iteration import State
from gnpolyak.steps.methods import Method
from gnpolyak.steps.status import Status
from gnpolyak.steps.targets import Target


@dataclass(frozen=True)
class End:
    """The end of a stage for one member."""

    method: Method
    target: Target
    stage: Stage
    row: int = 0
    """The member's place in the stage."""
    better: End | None = None
    """The end before it, where this one lost the best point."""

    def of(self, row: int, better: End | None) -> End:
        """That of one member."""
        return replace(self, row=row, better=better)

    @property
    def status(self) -> Status:
        """Why it ended."""
        return Status(int(self.stage.state.status[self.row]))

    @property
    def value(self) -> float:
        """The best value of the stage itself."""
        return float(self.stage.state.best.value[self.row])

    @property
    def calls(self) -> int:
        """Oracle calls made until then, in all stages."""
        return int(self.stage.state.calls[self.row])

    @property
    def best(self) -> Point:
        """The best point so far."""
        return part(self.stage.state.best, self.row) if self.better is None else self.better.best

    @property
    def state(self) -> State:
        """The last state, with the best point so far."""
        state = part(self.stage.state, self.row)
        return state if self.better is None else eqx.tree_at(lambda s: s.best, state, self.better.best)


def rows_of(ends: Sequence[End]) -> np.ndarray:
    """One column for each call: the value, the best one, the step, the inner iterations, and the clock."""
    return np.concatenate([_of_stage(end) for end in ends], axis=1)


def _of_stage(end: End) -> np.ndarray:
    stage, row = end.stage, end.row
    value = float(stage.first[row])
    calls, columns = int(stage.made[row]), [np.array([[value], [value], [0.0], [0.0], [stage.began]])]
    for trace, column, steps, before, after in stage.traces[row]:
        reached = trace.calls[:steps, column]
        calls_each = np.diff(reached, prepend=calls)
        # The products that led to a point are calls too: they have rows of their own, with the value before.
        step = np.repeat(np.arange(steps), calls_each)
        last = np.cumsum(calls_each) - 1
        points = np.zeros(len(step), bool)
        points[last[calls_each > 0]] = True
        taken = [each[:steps, column][step] for each in (trace.value, trace.before, trace.best, trace.best_before)]
        marks = before + (after - before) * np.arange(1, len(step) + 1) / max(len(step), 1)
        columns.append(
            np.array(
                [
                    np.where(points, taken[0], taken[1]),
                    np.where(points, taken[2], taken[3]),
                    trace.step[:steps, column][step],
                    trace.inner_iterations[:steps, column][step],
                    marks,
                ],
                np.float64,
            )
        )
        calls = int(reached[-1]) if steps else calls
    return np.concatenate(columns, axis=1)
