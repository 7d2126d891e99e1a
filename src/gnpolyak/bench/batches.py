"""Many small problems as a batch, against a loop of `minimize` calls as a user writes it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import gnpolyak as gnp
from gnpolyak.bench.clock import Sample, interleaved, timed
from gnpolyak.bench.rows import Row, timing
from gnpolyak.bench.specs import Batch, Batches

MEASURE = "a problem of a batch, after compilation"
CPU = "processor time of a problem of a batch, on all cores"
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

    contestants = {TOGETHER: _Each(batch, spec.count), ALONE: _Each(loop, spec.alone)}
    found = interleaved(contestants, spec.rounds)
    spent = {name: Sample(np.array(each.spent[1:])) for name, each in contestants.items()}
    case = f"{spec.count:,} problems, d={spec.d} r={spec.r} m={problems[0].shape(x0s[0]).size}"
    return _rows(MEASURE, case, found, _load()) + _rows(CPU, case, spent)


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


class _Each:
    """A contestant that reports its seconds a problem, and keeps what it took of the processor."""

    def __init__(self, work: Callable[[], None], count: int) -> None:
        self.spent: list[float] = []
        self._measure, self._count = timed(work), count

    def __call__(self) -> float:
        began = time.process_time()
        seconds = self._measure()
        self.spent.append((time.process_time() - began) / self._count)
        return seconds / self._count


def _rows(measure: str, case: str, found: dict[str, Sample], note: str = "") -> list[Row]:
    base = (TOGETHER, found[TOGETHER])
    return [timing(measure, case, name, sample, base, note) for name, sample in found.items()]


def _load() -> str:
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else np.nan
    return f"load {busy:.1f} on {os.cpu_count()} cores"


def _held() -> float:
    """Megabytes that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
