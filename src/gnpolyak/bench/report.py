"""Rows as a text table and as a picture."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from gnpolyak.base.files import replacing
from gnpolyak.bench.rows import Row

HEADINGS = ("measure", "case", "contestant", "median", "quartiles", "ratio", "note")


def cells(row: Row) -> tuple[str, ...]:
    """A row as the texts under `HEADINGS`."""
    quartiles = "" if row.low is None or row.high is None else f"{row.low:.4g} – {row.high:.4g}"
    median = "–" if row.median is None else f"{row.median:.4g} {row.unit}".strip()
    return row.measure, row.case, row.contestant, median, quartiles, ratio(row), row.note


def ratio(row: Row) -> str:
    """The row's time in units of its baseline's, with the quartiles."""
    if row.ratio is None:
        return ""
    return f"{row.ratio:.3g}× {row.against} ({row.ratio_low:.3g} – {row.ratio_high:.3g})"


def table(rows: Sequence[Row], width: int | None = None) -> str:
    """A table in plain text, which needs nothing installed and survives a log file; a list where it is too wide."""
    lines = [HEADINGS, *(cells(row) for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(HEADINGS))]
    if width is not None and sum(widths) + 2 * len(widths) - 2 > width:
        return _listed(rows, width)

    def padded(line: Sequence[str]) -> str:
        return "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()

    return "\n".join(padded(line) for line in lines)


def _listed(rows: Sequence[Row], width: int) -> str:
    """What was measured as a heading, and an item for each contestant."""
    lines: list[str] = []
    for heading, group in groupby(rows, key=lambda row: f"{row.measure}, {row.case}"):
        lines += textwrap.wrap(heading, width)
        for row in group:
            _, _, name, median, _, compared, note = cells(row)
            words = "; ".join(text for text in (median, compared, note) if text)
            lines += textwrap.wrap(f"{name}: {words}", width, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(lines)


def plot(rows: Sequence[Row], path: Path) -> None:
    """Draw the time of an iteration for every contestant, one panel a size, into a file."""
    from matplotlib.figure import Figure

    timed = [row for row in rows if row.measure == "iteration" and row.median is not None]
    labels = sorted({row.case for row in timed})
    if not labels:
        return
    figure = Figure(figsize=(5.2 * len(labels), 3.2), layout="constrained")
    axes = figure.subplots(1, len(labels), squeeze=False)[0]
    for ax, label in zip(axes, labels, strict=True):
        shown = [row for row in timed if row.case == label][::-1]
        medians = np.array([row.median for row in shown])
        errors = np.abs(np.array([[row.low, row.high] for row in shown]).T - medians)
        ax.barh([row.contestant for row in shown], medians, xerr=errors, color="#0072B2")
        ax.set(title=label, xlabel="milliseconds per iteration", xscale="log")
        ax.grid(axis="x", alpha=0.3)
    with replacing(path) as draft:
        figure.savefig(draft, dpi=150)
