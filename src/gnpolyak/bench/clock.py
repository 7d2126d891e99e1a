"""Timing: interleaved repeats, medians and spread."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Sample:
    """Seconds of one contestant, one number a round."""

    seconds: np.ndarray

    @property
    def median(self) -> float:
        """The middle round."""
        return float(np.median(self.seconds))

    @property
    def spread(self) -> tuple[float, float]:
        """The quartiles of the rounds."""
        low, high = np.percentile(self.seconds, [25, 75])
        return float(low), float(high)

    def over(self, other: Sample) -> Sample:
        """The time in units of the other's, round by round: what disturbs a round disturbs both."""
        return Sample(self.seconds / other.seconds)


def interleaved(contestants: Mapping[str, Callable[[], float]], rounds: int, pause: float = 0.05) -> dict[str, Sample]:
    """Let every contestant report its seconds once a round, in turn, after one round that does not count.

    The first round compiles, faults in pages and warms caches. Turn-taking spreads whatever else the machine does over
    all of them.
    """
    taken: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds + 1):
        for name, measure in contestants.items():
            # PyTorch's threads spin for a while after their work is done, and would take a core from the next in turn.
            time.sleep(pause)
            seconds = measure()
            if number:
                taken[name].append(seconds)
    return {name: Sample(np.array(seconds)) for name, seconds in taken.items()}


def timed(call: Callable[[], Any], repeats: int = 1) -> Callable[[], float]:
    """A contestant that reports the mean seconds of a few calls."""

    def measure() -> float:
        began = time.perf_counter()
        for _ in range(repeats):
            call()
        return (time.perf_counter() - began) / repeats

    return measure
