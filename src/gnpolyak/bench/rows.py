"""The rows a measurement returns, and the file they are kept in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import gnpolyak as gnp
from gnpolyak.base.environment import provenance
from gnpolyak.base.files import replacing
from gnpolyak.bench.clock import Sample

OURS = "gnpolyak"
"""What the library is called among contestants."""


@dataclass(frozen=True)
class Row:
    """One figure: a median with its quartiles, and its ratio to a baseline taken round by round."""

    measure: str
    case: str
    contestant: str
    unit: str
    median: float | None = None
    low: float | None = None
    high: float | None = None
    against: str | None = None
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    note: str = ""
    error: float | None = None
    """How far from the truth it came, where there is one."""


def timing(measure: str, case: str, name: str, sample: Sample, base: tuple[str, Sample] | None, note: str = "") -> Row:
    """A row in milliseconds, with the contestant's time in units of the baseline's."""
    scaled = Sample(sample.seconds * 1e3)
    row = Row(measure, case, name, "ms", scaled.median, *scaled.spread, note=note)
    if base is None or base[0] == name:
        return row
    ratio = sample.over(base[1])
    return Row(**(asdict(row) | _ratio(base[0], ratio)))


def _ratio(against: str, ratio: Sample) -> dict[str, Any]:
    low, high = ratio.spread
    return {"against": against, "ratio": ratio.median, "ratio_low": low, "ratio_high": high}


def environment() -> dict[str, Any]:
    """Where and with what the figures were taken."""
    return {**provenance(), "oracle": gnp.native.describe()["oracle"]}


def save(path: Path, command: str, rows: list[Row]) -> None:
    """Write rows and environment as JSON, whole or not at all."""
    content = {"command": command, "environment": environment(), "rows": [asdict(row) for row in rows]}
    with replacing(path) as draft:
        draft.write_text(json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n", encoding="utf-8")


def load(path: Path) -> tuple[Mapping[str, Any], list[Row]]:
    """Read what `save` wrote: command and environment, and the rows."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return content, [Row(**row) for row in content["rows"]]
