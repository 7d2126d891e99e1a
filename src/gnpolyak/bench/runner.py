"""A suite from start to files; what both command lines call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gnpolyak.bench import report
from gnpolyak.bench.measure import run
from gnpolyak.bench.rows import Row, save
from gnpolyak.bench.specs import SUITES


def run_suite(
    name: str, json: Path | None, figure: Path | None, say: Callable[[str], None], width: int | None = None
) -> list[Row]:
    """Measure a suite, say the table piece by piece, no wider than that, and write the files asked for."""
    rows: list[Row] = []
    for spec in SUITES[name]:
        measured = run(spec)
        rows += measured
        if json is not None:
            # After every piece: a suite that is cut short keeps what it has.
            save(json, f"gnpolyak bench --suite {name}", rows)
        say(report.table(measured, width) + "\n")
    if figure is not None:
        report.plot(rows, figure)
    return rows
