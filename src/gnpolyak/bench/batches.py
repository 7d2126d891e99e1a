"""Many small problems as a batch, against a loop of `minimize` calls as a user writes it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

import gnpolyak as gnp
from gnpolyak.bench.clock import interleaved, timed
from gnpolyak.bench.rows import Row, timing
from gnpolyak.bench.specs import Batch, Batches

MEASURE = "a problem of a batch, after compilation"
MEMORY = "memory after many batches"
TOGETHER, ALONE = "minimize_batch", "a loop of minimize"


def against_a_loop(spec: Batch) -> list[Row]:
    """Milliseconds a problem: all of them as a batch, and some of them one after the other, in turn."""
    problems, x0s = _problems(spec.d, spec.r, spec.count)

    def batch() -> None:
        gnp.minimize_batch(problems, x0s)

    def loop() -> None:
        for problem, x0 in zip(problems[: spec.alone], x0s[: spec.alone], strict=True):
            gnp.minimize(problem, x0)

    found = interleaved({TOGETHER: _each(batch, spec.count), ALONE: _each(loop, spec.alone)}, spec.rounds)
    case = f"{spec.count:,} problems, d={spec.d} r={spec.r} m={problems[0].shape(x0s[0]).size}"
    base = (TOGETHER, found[TOGETHER])
    return [timing(MEASURE, case, name, sample, base, _cores()) for name, sample in found.items()]


def memory(spec: Batches) -> list[Row]:
    """What the process holds after many batches, beyond what it held after a tenth of them."""
    problems, x0s = _problems(spec.d, spec.r, spec.count)
    held = []
    for _ in range(spec.batches):
        gnp.minimize_batch(problems, x0s)
        held.append(_held())
    grown = held[-1] - held[spec.batches // 10]
    return [Row(MEMORY, f"{spec.batches} batches of {spec.count} problems", TOGETHER, "MB", grown)]


def _problems(d: int, r: int, count: int) -> tuple[list[gnp.Composite], np.ndarray]:
    """Problems of one shape with a tenth of their data ruined, and their starts."""
    cases = [gnp.instances.tensor_sensing(d=d, r=r, p_fail=0.1, seed=seed) for seed in range(count)]
    return [each.problem for each in cases], np.stack([each.x0 for each in cases])


def _each(work: Callable[[], None], count: int) -> Callable[[], float]:
    """Seconds a problem."""
    measure = timed(work)
    return lambda: measure() / count


def _cores() -> str:
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else np.nan
    return f"load {busy:.1f} on {os.cpu_count()} cores"


def _held() -> float:
    """Megabytes that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
