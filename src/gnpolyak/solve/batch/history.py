"""What the tiles of a batch write down of their steps, and the history of one member that it adds up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gnpolyak.solve.batch.programs import Trace


@dataclass(frozen=True)
class Written:
    """One column for each call of each member of a tile, one member after the other."""

    columns: np.ndarray
    """The value, the best one, the step, the inner iterations, and the clock."""
    ends: np.ndarray
    """Where each member's columns end."""

    def of(self, place: int) -> np.ndarray:
        """The columns of one member."""
        return self.columns[:, self.ends[place - 1] if place else 0 : self.ends[place]]


def written(trace: Trace, calls: np.ndarray, before: float, after: float) -> Written:
    """The calls of a chunk's steps, whose clock went from `before` to `after`; `calls` are those made until then."""
    each = np.diff(trace.calls, axis=0, prepend=calls[None]).T
    flat = each.ravel()
    # The products that led to a point are calls too: they have rows of their own, with the value before.
    step = np.repeat(np.arange(flat.size), flat)
    points = np.zeros(len(step), bool)
    points[(np.cumsum(flat) - 1)[flat > 0]] = True
    taken = {name: getattr(trace, name).T.ravel()[step] for name in trace._fields if name != "calls"}
    ends, counts = np.cumsum(each.sum(axis=1)), each.sum(axis=1)
    rank = np.arange(1, len(step) + 1) - np.repeat(ends - counts, counts)
    columns = [
        np.where(points, taken["value"], taken["before"]),
        np.where(points, taken["best"], taken["best_before"]),
        taken["step"],
        taken["inner_iterations"],
        before + (after - before) * rank / np.repeat(np.maximum(counts, 1), counts),
    ]
    return Written(np.array(columns, np.float64), ends)


def rows_of(first: float, began: float, parts: Sequence[tuple[Written, int]]) -> list[np.ndarray]:
    """The columns of one member's stage, from its start on."""
    return [np.array([[first], [first], [0.0], [0.0], [began]]), *(told.of(place) for told, place in parts)]
