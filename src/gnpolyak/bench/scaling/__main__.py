"""The suite at other sizes: ``python -m gnpolyak.bench.scaling --size 500 5 60000 --size 1000 5 120000``."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

from gnpolyak.bench import report
from gnpolyak.bench.rows import Row, save
from gnpolyak.bench.scaling.measure import alone, together
from gnpolyak.bench.specs import Alone, Size, Together


def main(words: list[str]) -> None:
    """Parse the arguments, measure, and write."""
    parser = argparse.ArgumentParser(prog="python -m gnpolyak.bench.scaling", description="Measure weak scaling.")
    shape: dict[str, Any] = {"type": int, "nargs": 3, "action": "append", "metavar": ("d", "r", "m")}
    parser.add_argument("--size", required=True, help="rows of each process; again for another size", **shape)
    parser.add_argument("--gpu-size", default=[], help="the same for a GPU, where JAX sees one", **shape)
    parser.add_argument("--processes", type=int, nargs="*", default=[1, 2, 4, 8])
    parser.add_argument("--calls", type=int, default=5, help="calls in one timing")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=100.0, help="after which the processes of a case are ended")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    chosen = parser.parse_args(words)
    sizes, for_gpu = _sizes(chosen.size), _sizes(chosen.gpu_size)
    often = {"calls": chosen.calls, "rounds": chosen.rounds, "seconds": chosen.seconds}
    rows = alone(Alone(sizes, for_gpu, **often)) + together(Together(sizes, tuple(chosen.processes), **often))
    _tell(rows, chosen.json, shlex.join(["python", "-m", "gnpolyak.bench.scaling", *words]))


def _sizes(given: list[list[int]]) -> tuple[Size, ...]:
    return tuple(Size(d=d, r=r, m=m) for d, r, m in given)


def _tell(rows: list[Row], file: Path | None, command: str) -> None:
    sys.stdout.write(report.table(rows) + "\n")
    if file is not None:
        save(file, command, rows)


if __name__ == "__main__":
    main(sys.argv[1:])
