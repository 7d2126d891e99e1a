"""Tidy rows: one for each recorded oracle call, with all that is needed to know where it came from."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import numpy as np

from gnpolyak.base.errors import InputError
from gnpolyak.base.files import replacing, require_plain
from gnpolyak.paper.provenance import HARDWARE, SOFTWARE
from gnpolyak.paper.specs import Curve

ERROR = 1e-8
"""The objective error that the paper's figures and claims are about."""

IDENTITY = (
    *("figure", "panel", "method", "parameter", "value", "seed"),
    *("d", "r", "n", "kappa", "p_fail", "m", "radius", "corruption"),
    *("algorithm", "strategy", "inner", "outer", "fraction", "tol", "max_calls", "max_seconds"),
)
"""The columns that say what was run: a curve with the same ones need not be run again."""

PROVENANCE = ("target", "status", "dtype", *HARDWARE, "jobs", *SOFTWARE)
"""The columns that say what came of it, where and with what."""

MEASURED = ("call", "seconds", "gap", "best")
"""The columns that change from row to row: f − h* at the call, and the smallest so far."""

COLUMNS = (*IDENTITY, *PROVENANCE, *MEASURED)


@dataclass(frozen=True)
class Trace:
    """The rows of one solve."""

    facts: Mapping[str, str]
    """The columns of `IDENTITY` and `PROVENANCE`, as written."""
    call: np.ndarray
    seconds: np.ndarray
    gap: np.ndarray
    best: np.ndarray

    @property
    def identity(self) -> tuple[str, ...]:
        """What was run."""
        return tuple(self.facts[name] for name in IDENTITY)

    @property
    def value(self) -> float:
        """The parameter that the figure varies."""
        return float(self.facts["value"])

    def calls_to(self, error: float = ERROR, relative: bool = False) -> float:
        """The first call with an error of at most this, or of this share of the first; infinite if there is none."""
        place = self._first(error, relative)
        return float("inf") if place is None else float(self.call[place])

    def reaching(self, relative: bool) -> tuple[float, float]:
        """Calls and seconds to an error of 1e-8, or all that were spent where it was not reached."""
        place = self._first(ERROR, relative)
        end = -1 if place is None else place
        return float(self.call[end]), float(self.seconds[end])

    def _first(self, error: float, relative: bool) -> int | None:
        reached = np.flatnonzero(self.best <= (error * self.best[0] if relative else error))
        return int(reached[0]) if reached.size else None


def identity(curve: Curve) -> tuple[str, ...]:
    """The columns of `IDENTITY` for a solve that may not have been run yet."""
    s, c = curve.setting, curve.contender
    entries = (
        *(curve.figure, curve.panel, c.label, curve.symbol, curve.value, curve.seed),
        *(s.d, s.r, s.n, s.kappa, s.p_fail, s.m, s.radius, s.corruption),
        *(c.method, c.strategy or "known"),
        *((c.inner, c.outer) if c.strategy == "restart" else ("", "")),
        *(c.fraction, c.tol, curve.max_calls, curve.max_seconds),
    )
    return tuple(_text(entry) for entry in entries)


def _text(entry: object) -> str:
    return "" if entry is None else f"{entry:.12g}" if isinstance(entry, float) else str(entry)


def recorded(gap: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Which calls are kept: the first 200, ever fewer after that, the last, and those first below a power of ten.

    So the files are small, and how many calls an error of 10⁻ᵏ took, itself or as a share of the first, stays exact.
    """
    count = len(gap)
    grid = np.unique(np.geomspace(200, max(count, 200), 1 + int(50 * np.log2(max(count, 200) / 200))).astype(int))
    firsts = [
        int(reached[0]) + 1
        for share in (1.0, best[0])
        for power in range(-4, 16)
        if (reached := np.flatnonzero(best <= share * 10.0**-power)).size
    ]
    kept = np.unique([*range(1, min(count, 200) + 1), *grid, *firsts, count])
    return kept[kept <= count] - 1


def save(path: Path, traces: Iterable[Trace]) -> None:
    """Write rows as gzipped CSV, whole or not at all; the same rows give the same bytes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for trace in traces:
        constant = [trace.facts[name] for name in (*IDENTITY, *PROVENANCE)]
        for call, *measured in zip(trace.call, trace.seconds, trace.gap, trace.best, strict=True):
            writer.writerow([*constant, int(call), *(_short(number) for number in measured)])
    with replacing(path) as draft:
        draft.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


def as_written(trace: Trace) -> Trace:
    """The trace with the digits that `save` keeps: what is told must not depend on when the file was read."""
    seconds, gap, best = (
        np.array([float(_short(number)) for number in numbers]) for numbers in (trace.seconds, trace.gap, trace.best)
    )
    return replace(trace, seconds=seconds, gap=gap, best=best)


def _short(number: float) -> str:
    return f"{number:.6g}"


def load(path: Path) -> list[Trace]:
    """Read what `save` wrote; no rows if there is no such file."""
    if not path.exists():
        return []
    try:
        require_plain(path)
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            lines = csv.reader(file)
            header = tuple(next(lines, ()))
            rows = list(lines) if header == COLUMNS else None
        if rows is None or any(len(row) != len(COLUMNS) for row in rows):
            raise ValueError("other columns than this version writes")
        split = len(IDENTITY) + len(PROVENANCE)
        return [_trace(constant, list(group)) for constant, group in groupby(rows, key=lambda row: tuple(row[:split]))]
    except (OSError, EOFError, ValueError, csv.Error, zlib.error) as error:
        raise unreadable(path, "gzipped CSV as this version of `gnpolyak reproduce` writes it", error) from error


def unreadable(path: Path, needed: str, error: Exception) -> InputError:
    """What to say of a file whose rows cannot be read."""
    return InputError(
        given=f"the file {path}",
        needed=needed,
        missing=f"readable rows ({error})",
        advice="move the file away and start again, or choose another --out",
    )


def _trace(constant: Sequence[str], rows: list[list[str]]) -> Trace:
    measured = np.array([row[-len(MEASURED) :] for row in rows], dtype=float)
    facts = dict(zip((*IDENTITY, *PROVENANCE), constant, strict=True))
    calls, seconds, gap, best = measured.T
    ordered = np.all(np.diff(calls) > 0) and np.all(np.diff(seconds) >= 0) and np.all(np.diff(best) <= 0)
    ordered = ordered and calls[0] == 1 and seconds[0] > 0
    if not (ordered and np.isfinite([*best, float(facts["target"]), float(facts["value"])]).all()):
        raise ValueError("calls that do not count up from 1, times that fall, or best errors that rise or are infinite")
    return Trace(facts, calls.astype(int), seconds, gap, best)
