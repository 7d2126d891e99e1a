"""Tables in Markdown: what the runs of a panel came to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnpolyak.paper.evidence import Runs
from gnpolyak.paper.rows import Trace


def markdown(header: Sequence[str], lines: Sequence[Sequence[str]], numbers: bool = True) -> str:
    """A table, with numbers in all columns but the first or with text; what stands in a cell may not break it."""
    rows = [header, ["---", *["---:" if numbers else "---"] * (len(header) - 1)], *lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


def summary(runs: Runs, symbol: str, methods: Sequence[str], relative: bool) -> str:
    """Calls to 1e-8, seconds to it in units of the first method's, and errors at the end: median and range."""
    first = methods[0]
    header = [symbol, *(f"{m}, calls" for m in methods), *(f"{m}, time / {first}'s" for m in methods[1:])]
    header += [f"{m}, last error" for m in methods]
    lines = [
        [
            f"{value:g}",
            *(_calls(runs.of(m, value), relative) for m in methods),
            *(_times(runs.of(m, value), runs.of(first, value), relative) for m in methods[1:]),
            *(_error(runs.end(m, value)) for m in methods),
        ]
        for value in runs.values
    ]
    return markdown(header, lines)


def _error(error: float) -> str:
    return f"{error:.0e}" if error >= 0 else "below 0"


def _calls(traces: Sequence[Trace], relative: bool) -> str:
    ordered = sorted(traces, key=lambda trace: (trace.calls_to(relative=relative), trace.call[-1]))
    return _ranged([_count(trace, relative) for trace in ordered])


def _count(trace: Trace, relative: bool) -> str:
    calls = trace.calls_to(relative=relative)
    return f"{calls:,.0f}" if np.isfinite(calls) else f"> {trace.call[-1]:,}"


def _times(theirs: Sequence[Trace], ours: Sequence[Trace], relative: bool) -> str:
    """Seed by seed, so that what an instance costs both cancels."""
    ratios = sorted(
        (one.reaching(relative)[1] / other.reaching(relative)[1], not np.isfinite(one.calls_to(relative=relative)))
        for one, other in zip(theirs, ours, strict=True)
    )
    return _ranged([f"{'> ' * unfinished}{ratio:.3g}" for ratio, unfinished in ratios])


def _ranged(ordered: Sequence[str]) -> str:
    middle, low, high = ordered[len(ordered) // 2], ordered[0], ordered[-1]
    return middle if low == high else f"{middle} ({low} – {high})"
