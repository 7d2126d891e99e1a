"""What the caller has waited, and how long that may be."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from gnpolyak.solve.runners.compiled import LONGEST

# The time that a chunk should take: Ctrl-C and callbacks wait that long.
CHUNK_SECONDS = 0.1
FIRST_CHUNK = 8


@dataclass(frozen=True)
class Limits:
    """When the host ends a solve."""

    calls: int
    seconds: float


class Clock:
    """What the caller has waited, from the beginning of the call on, with what an earlier solve took before it."""

    def __init__(self) -> None:
        self._began, self._before = time.perf_counter(), 0.0
        self.spent: dict[str, float] = {}

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return self._before + time.perf_counter() - self._began

    def after(self, seconds: float) -> None:
        """Count the seconds of an earlier solve that this one goes on from."""
        self._before = max(self._before, seconds)

    @contextmanager
    def on(self, what: str) -> Iterator[None]:
        """A block whose time is told as that of one kind of work."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.spent[what] = self.spent.get(what, 0.0) + time.perf_counter() - began


def next_length(taken: int, elapsed: float, left: float) -> int:
    """The chunk that should take a tenth of a second, or what is left of the time limit."""
    pace = elapsed / max(taken, 1)
    wanted = min(CHUNK_SECONDS, max(left, 0.0)) / max(pace, 1e-9)
    return int(np.clip(wanted, 1, min(LONGEST, 4 * max(taken, FIRST_CHUNK))))
