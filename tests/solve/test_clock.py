"""The seconds of a solve are those of its loop and its certificates: nothing is compiled while the clock runs."""

from time import perf_counter
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.solve import chunks, dual, hosted


class Clock:
    """A clock that is read in pairs, and notes what is compiled between the first and the second of each."""

    def __init__(self):
        self.running, self.inside, self.outside = False, [], []

    def perf_counter(self):
        self.running = not self.running
        return perf_counter()

    def compiled(self, event, duration, **_):
        if "backend_compile" in event:
            (self.inside if self.running else self.outside).append(duration)


def linear(m, penalty):
    rng = np.random.default_rng(0)
    a = rng.standard_normal((m, 3))
    return gnp.composite(gnp.Linear(a), penalty(a @ np.ones(3) + 0.1 * rng.standard_normal(m)))


@pytest.mark.parametrize("penalty", [gnp.L1, lambda b: gnp.Pinball(b, 0.3)], ids=["L1", "Pinball"])
def test_nothing_is_compiled_while_the_clock_runs(penalty, monkeypatch):
    """In noise: graduated steps, then the l1 problem and its certificate, or for quantiles the dual of that problem."""
    clock = Clock()
    jax.monitoring.register_event_duration_secs_listener(clock.compiled)
    for module in (chunks, dual, hosted):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=clock.perf_counter))
    # A number of data that no other test has.
    problem = linear(83, penalty)
    first, second = gnp.minimize(problem), gnp.minimize(problem)
    assert first.certificate is not None
    assert clock.outside
    assert not clock.inside
    # Compilation takes seconds, these solves some hundredths of one.
    assert first.seconds < 20 * second.seconds + 0.2
