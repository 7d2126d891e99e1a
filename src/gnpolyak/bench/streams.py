"""More rows than memory, in a process of its own: ``python -m gnpolyak.bench.streams SPEC`` takes and prints JSON.

The yardstick is the same reader on the same blocks with no arithmetic, in turn with the passes that are measured.
Before every pass over a file its pages are dropped from the system's cache: each comes from the disk, as it would if
there were more of them than memory.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import gnpolyak as gnp
from gnpolyak.base.streams import reading
from gnpolyak.bench.clock import Sample
from gnpolyak.bench.memory import peak
from gnpolyak.bench.rows import OURS, Row
from gnpolyak.bench.specs import Streams

MEASURE = "speed of streamed rows"
BARE = "reader alone"
# Passes of a solve after which the reader alone has its turn.
_TURN = 12
# The share of the rows that a solve is begun from.
_PART = 16


def streamed(spec: Streams) -> list[Row]:
    """The speed of passes beside that of the reader, and what a solve takes."""
    command = [sys.executable, "-m", "gnpolyak.bench.streams", json.dumps(asdict(spec))]
    told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    speeds = {name: Sample(np.array(found)) for name, found in told["speeds"].items()}
    bare = speeds[BARE]
    rows = [_speed(spec, name, sample, bare) for name, sample in speeds.items()]
    if told["solve"]:
        rows.append(
            Row("peak memory of a streamed solve", spec.label, OURS, "GB", told["peak"] / 1e9, note=told["solve"])
        )
    return rows


def _speed(spec: Streams, name: str, sample: Sample, bare: Sample) -> Row:
    low, high = sample.spread
    if name == BARE:
        return Row(MEASURE, spec.label, name, "GB/s", sample.median, low, high)
    # Of a solve there are more passes than turns of the reader: each beside the last one.
    turns = bare.seconds if len(sample.seconds) == len(bare.seconds) else np.repeat(bare.seconds, _TURN)
    ratio = sample.over(Sample(turns[: len(sample.seconds)]))
    return Row(MEASURE, spec.label, name, "GB/s", sample.median, low, high, BARE, ratio.median, *ratio.spread)


@dataclass
class _Passes:
    """Passes over rows, each timed from its first block to its last."""

    files: Sequence[Path]
    size: int
    read: Callable[..., Iterator[Any]] = reading.blocks
    speeds: list[float] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)
    turn: int = 0
    """Passes after which the reader alone has its turn; 0 for never."""

    def __call__(self, sources: Sequence[Any]) -> Iterator[Any]:
        if self.turn and len(self.speeds) % self.turn == 0:
            self.bare(sources)
        _drop(self.files)
        began = time.perf_counter()
        yield from self.read(sources)
        self.speeds.append(self.size / (time.perf_counter() - began) / 1e9)

    def bare(self, sources: Sequence[Any]) -> None:
        """One pass with no arithmetic."""
        _drop(self.files)
        began = time.perf_counter()
        for _ in self.read(sources):
            pass
        self.alone.append(self.size / (time.perf_counter() - began) / 1e9)


def _drop(files: Sequence[Path]) -> None:
    for path in files:
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _data(spec: Streams, folder: Path) -> tuple[list[Any], np.ndarray, np.ndarray, list[Path]]:
    """The rows, in files or by their seeds, a truth, and data of which a tenth is ruined."""
    rng, m, d = np.random.default_rng(0), spec.rows, spec.d
    x = rng.standard_normal((d, spec.r))
    sources = [gnp.GeneratedRows.gaussian(seed, (m, d)) for seed in (1, 2)]
    paths = [folder / f"{name}.npy" for name in "pq"] if spec.kind == "file" else []
    b = np.zeros(m)
    for place, (source, sign) in enumerate(zip(sources, (1.0, -1.0), strict=True)):
        with paths[place].open("wb") if paths else open(os.devnull, "wb") as file:
            header = {"descr": "<f8", "fortran_order": False, "shape": (m, d)}
            np.lib.format.write_array_header_1_0(file, header)
            for start, stop, (rows,) in reading.blocks([source]):
                b[start:stop] += sign * np.sum((rows @ x) ** 2, axis=1)
                file.write(rows.data)
            file.flush()
            os.fsync(file.fileno()) if paths else None
    bad = rng.choice(m, m // 10, replace=False)
    b[bad] += np.std(b) * rng.standard_normal(len(bad))
    given: list[Any] = [np.load(path, mmap_mode="r") for path in paths] if paths else list(sources)
    return given, b, x, paths


@contextmanager
def _watched(passes: _Passes) -> Iterator[None]:
    reading.blocks, before = passes, reading.blocks
    try:
        yield
    finally:
        reading.blocks = before


def _rounds(spec: Streams, problem: gnp.Composite, passes: _Passes) -> dict[str, list[float]]:
    """The reader, an oracle call and a product in turn; the first round, which begins threads, does not count."""
    found: dict[str, list[float]] = {BARE: [], "oracle call": [], "product": []}
    x: Any = np.ones((spec.d, spec.r))
    w: Any = np.ones(spec.rows)
    oracle = gnp.oracles.host_oracle(problem, x)
    with reading.many_passes():
        products = oracle.actions(x, oracle.measure(x)[1])
        sensing: Any = problem.sensing
        for number in range(spec.rounds + 1):
            passes.bare([sensing.p.source, sensing.q.source])
            oracle.evaluate(x)
            products.product(x, w)
            if number:
                for name, speed in zip(found, (passes.alone[-1], *passes.speeds[-2:]), strict=True):
                    found[name].append(speed)
    return found


def _stated(rows: Sequence[Any], b: np.ndarray) -> gnp.Composite:
    return gnp.composite(gnp.SymmetricCP(2), gnp.L1(b), sensing=gnp.PowerSensing(*rows))


def _solved(problem: gnp.Composite, part: gnp.Composite, truth: np.ndarray, passes: _Passes) -> str:
    """A solve, begun from what a part of the rows shows; its passes alone are counted."""
    began = time.perf_counter()
    x0 = gnp.starts.spectral(part, rank=truth.shape[1])
    passes.speeds, passes.alone, passes.turn = [], [], _TURN
    res = gnp.minimize(problem, x0)
    elapsed = time.perf_counter() - began
    error = np.linalg.norm(res.x @ res.x.T - truth @ truth.T) / np.linalg.norm(truth @ truth.T)
    return (
        f"{passes.size / 1e9:.3g} GB of rows, {res.status.name.lower()} after {len(passes.speeds)} passes and "
        f"{elapsed / 60:.0f} minutes, error {error:.1e}; each pass from the disk, begun from 1/{_PART} of the rows"
    )


def main() -> None:
    """Measure in this process, and print JSON."""
    spec = Streams(**json.loads(sys.argv[1]))
    with tempfile.TemporaryDirectory(dir=spec.folder) as folder:
        rows, b, truth, files = _data(spec, Path(folder))
        problem, some = _stated(rows, b), spec.rows // _PART
        passes, solve = _Passes(files, 2 * spec.rows * spec.d * 8), ""
        with _watched(passes):
            speeds = _rounds(spec, problem, passes)
            if spec.solved:
                solve = _solved(problem, _stated([each[:some] for each in rows], b[:some]), truth, passes)
                speeds = {BARE: passes.alone, "passes of a solve": passes.speeds}
    sys.stdout.write(json.dumps({"speeds": speeds, "solve": solve, "peak": peak()}))


if __name__ == "__main__":
    main()
