"""What the caller has waited, and how long that may be."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


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
