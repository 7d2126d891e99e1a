"""The numbers that theory speaks of: each with where it was measured, and the file they are kept in."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnpolyak.base.files import replacing, require_plain
from gnpolyak.paper.provenance import HARDWARE, SOFTWARE
from gnpolyak.paper.rows import unreadable
from gnpolyak.paper.specs import SYMBOLS

COLUMNS = ("scale", "probe", "quantity", "setting", "value", "seed", "dtype", *HARDWARE, *SOFTWARE)

_NUMBERS: dict[str, Callable[[str], float]] = {"d": int, "r": int, "n": int, "p_fail": float, "kappa": float}


@dataclass(frozen=True)
class At:
    """Where a number was measured. What is left out plays no part in it, or is the same for all of its kind.

    Examples
    --------
    >>> str(At(d=100, r=5, n=2, kappa=10.0))
    'd=100 r=5 n=2 κ=10'
    >>> At.read("GNP p_fail=0.1") == At(method="GNP", p_fail=0.1)
    True
    """

    method: str = ""
    d: int | None = None
    r: int | None = None
    n: int | None = None
    p_fail: float | None = None
    kappa: float | None = None
    variable: str = ""
    """What the problem is written in, such as "X in other units"."""

    def __str__(self) -> str:
        given = {name: getattr(self, name) for name in _NUMBERS if getattr(self, name) is not None}
        numbers = (f"{SYMBOLS[name]}={value:.12g}" for name, value in given.items())
        words = (self.method, *numbers, f"in {self.variable}" if self.variable else "")
        return " ".join(word for word in words if word)

    @classmethod
    def read(cls, text: str) -> At:
        """The setting that `str` wrote."""
        words, _, variable = text.partition(" in ")
        pairs = [word.partition("=") for word in words.split()]
        names = {symbol: name for name, symbol in SYMBOLS.items()}
        given = {names[symbol]: number for symbol, equals, number in pairs if equals}
        numbers: dict[str, Any] = {name: _NUMBERS[name](number) for name, number in given.items()}
        method = " ".join(word for word, equals, _ in pairs if not equals)
        return cls(method, variable=variable, **numbers)


@dataclass(frozen=True)
class Finding:
    """One number that theory speaks of, measured at one setting."""

    quantity: str
    at: At
    value: float


@dataclass(frozen=True)
class Record:
    """A finding with the scale and the probe it belongs to, as a row of the file."""

    scale: str
    probe: str
    finding: Finding
    facts: Mapping[str, str]
    """The other columns: seed, dtype, and what it was measured with."""


def recorded(scale: str, probe: str, finding: Finding, machine: Mapping[str, str]) -> Record:
    """A new finding, with the digits that the file keeps: what is told must not depend on when the file was read."""
    short = Finding(finding.quantity, finding.at, float(f"{finding.value:.6g}"))
    return Record(scale, probe, short, {"seed": "0", "dtype": "float64", **machine})


def save(path: Path, records: Iterable[Record]) -> None:
    """Write the file, whole or not at all."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_row(record) for record in records)
    with replacing(path) as draft:
        draft.write_text(text.getvalue(), encoding="utf-8")


def load(path: Path) -> list[Record]:
    """Read what `save` wrote; nothing if there is no such file."""
    if not path.exists():
        return []
    try:
        require_plain(path)
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            kept = list(reader)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise ValueError("other columns than this version writes")
        return [_record(row) for row in kept]
    except (OSError, KeyError, AttributeError, TypeError, ValueError, csv.Error) as error:
        raise unreadable(path, "CSV as this version of `gnpolyak reproduce theory` writes it", error) from error


def _row(record: Record) -> dict[str, str]:
    found = record.finding
    own = {"quantity": found.quantity, "setting": str(found.at), "value": f"{found.value:.6g}"}
    return {"scale": record.scale, "probe": record.probe, **own, **record.facts}


def _record(row: Mapping[str, str]) -> Record:
    finding = Finding(row["quantity"], At.read(row["setting"]), float(row["value"]))
    return Record(row["scale"], row["probe"], finding, {name: row[name] for name in COLUMNS[5:]})
