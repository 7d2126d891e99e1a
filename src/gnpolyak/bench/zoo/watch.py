"""The clock of one run, which stands still while what was found is judged."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import gnpolyak as gnp
from gnpolyak.base import arrays
from gnpolyak.base.threads import one_lapack_thread

REACHED = 1e-8
"""The recovery error that a run is timed to."""
# A run has come to rest when it has gained less than a tenth in the later half of its looks, or in this many of them.
_GAIN, _FEWEST, _MOST = 0.9, 100, 400


class EnoughError(Exception):
    """There is no use in going on: the truth is reached, or nothing is gained any more, or the time is up."""


@dataclass
class Watch:
    """Called with every iterate; ends the run that it watches by an exception.

    Parameters
    ----------
    error : callable
        How far from the truth an iterate is.
    most : float
        Seconds after which a run is given up.
    """

    error: Callable[[Any], float]
    most: float = np.inf
    seconds: float = 0.0
    """Spent in the run so far, without the looks at it."""
    errors: list[float] = field(default_factory=list)
    """The least error so far, at each look."""
    began: float = field(default_factory=time.perf_counter)

    def start(self) -> None:
        """Begin to count: the data lie there as the peer takes them."""
        self.seconds, self.began = 0.0, time.perf_counter()

    def __call__(self, x: Any) -> None:
        """Look at an iterate: the variable of the problem, or a function that forms its image."""
        self.seconds += time.perf_counter() - self.began
        error = self.error(x)
        self.errors.append(min([error if np.isfinite(error) else np.inf, *self.errors[-1:]]))
        if self.reached or self.seconds > self.most or self._rests():
            raise EnoughError
        self.began = time.perf_counter()

    @property
    def reached(self) -> bool:
        """Whether the run came to the truth."""
        return bool(self.errors) and self.errors[-1] <= REACHED

    def _rests(self) -> bool:
        back = min(max(len(self.errors) // 2, _FEWEST), _MOST)
        return len(self.errors) > back and self.errors[-1] > _GAIN * self.errors[-1 - back]


def watched(
    peer: Callable[[gnp.instances.Instance, Watch], None],
    case: gnp.instances.Instance,
    most: float,
    *,
    one_thread: bool = True,
) -> Watch:
    """Run a peer on an instance, for at most so many seconds, with BLAS on one thread or on all."""
    watch = Watch(judge(case), most)
    try:
        # A peer may divide by zero where it fails, and is then judged by what it had found.
        with np.errstate(all="ignore"), one_lapack_thread() if one_thread else nullcontext():
            peer(case, watch)
    except EnoughError:
        pass
    except np.linalg.LinAlgError:
        watch.seconds += time.perf_counter() - watch.began
    return watch


def judge(case: gnp.instances.Instance) -> Callable[[Any], float]:
    """The recovery error of a variable, or of an image that a function forms, which costs only NumPy."""
    truth: list[np.ndarray] = []

    def error(x: Any) -> float:
        if not callable(x):
            return case.recovery_error(x)
        if not truth:
            truth.append(image(case).ravel())
        return float(np.linalg.norm(np.ravel(x()) - truth[0]) / np.linalg.norm(truth[0]))

    return error


def image(case: gnp.instances.Instance) -> np.ndarray:
    """c(X⋆) in float64."""
    with arrays.precise(True):
        return np.asarray(case.problem.map(case.truth))
