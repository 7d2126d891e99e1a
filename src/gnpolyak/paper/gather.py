"""rows → what a figure shows: the median over the seeds, and the band between the smallest and the largest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnpolyak.paper.pictures import Line, Panel, Picture, Series
from gnpolyak.paper.rows import Trace
from gnpolyak.paper.specs import Figure, Sweep

_POINTS = 300


def picture(figure: Figure, traces: Sequence[Trace], so_far: str = "") -> Picture:
    """What the figure shows of the traces there are; `so_far` says how many, if not all."""
    unfinished = f" Only {so_far} are done." if so_far else ""
    shown = [(sweep, [trace for trace in traces if trace.facts["panel"] == sweep.name]) for sweep in figure.sweeps]
    return Picture(
        name=figure.name,
        title=figure.title,
        caption=f"{figure.place} of the paper. {figure.caption}{unfinished}",
        settings=tuple(pair for sweep, own in shown for pair in _settings(sweep, own)),
        panels=tuple(_panel(sweep, own) for sweep, own in shown if own),
    )


def _settings(sweep: Sweep, traces: Sequence[Trace]) -> list[tuple[str, str]]:
    seeds = len({trace.facts["seed"] for trace in traces})
    limit = f"{max((int(trace.facts['max_calls']) for trace in traces), default=sweep.max_calls):,} calls"
    if sweep.max_seconds is not None:
        limit += f" or {sweep.max_seconds:g} s"
    values = ", ".join(f"{value:g}" for value in sweep.values)
    known = "" if sweep.varies == "p_fail" else f", p_fail = {sweep.base.p_fail:g}"
    restarted = [contender for contender in sweep.contenders if contender.strategy == "restart"]
    return [
        (sweep.title, f"{sweep.symbol} in {{{values}}}{known}"),
        ("seeds", str(seeds)),
        ("limit", limit),
        *((c.label, f"K = {c.outer} restarts of T = {c.inner:,} steps") for c in restarted),
    ]


def _panel(sweep: Sweep, traces: Sequence[Trace]) -> Panel:
    lines = [
        _line(contender.label, value, same)
        for contender in sweep.contenders
        for value in sweep.values
        if (same := [t for t in traces if t.facts["method"] == contender.label and t.value == value])
    ]
    return Panel(sweep.title, sweep.symbol, tuple(lines))


def _line(method: str, value: float, traces: Sequence[Trace]) -> Line:
    by_calls = _series([(trace.call.astype(float), trace.best) for trace in traces], whole=True)
    by_seconds = _series([(trace.seconds, trace.best) for trace in traces], whole=False)
    return Line(method, value, len(traces), by_calls, by_seconds)


def _series(curves: Sequence[tuple[np.ndarray, np.ndarray]], whole: bool) -> Series:
    """The curves of all seeds at the same places; a run that has ended keeps its last value."""
    x = curves[0][0] if len(curves) == 1 else _places(curves, whole)
    values = np.array([_at(x, at, best) for at, best in curves])
    return Series(x, np.median(values, axis=0), values.min(axis=0), values.max(axis=0))


def _at(x: np.ndarray, at: np.ndarray, best: np.ndarray) -> np.ndarray:
    """The errors at other places, by straight lines on a logarithmic scale as far as they are positive."""
    positive = best > 0
    if not positive.any():
        return np.full_like(x, best[-1])
    values = 10.0 ** np.interp(x, at[positive], np.log10(best[positive]))
    return values if positive.all() else np.where(x >= at[~positive][0], best[-1], values)


def _places(curves: Sequence[tuple[np.ndarray, np.ndarray]], whole: bool) -> np.ndarray:
    first, last = max(at[0] for at, _ in curves), max(at[-1] for at, _ in curves)
    grid = np.geomspace(max(first, 1e-9), last, _POINTS)
    return np.unique(grid.astype(int)).astype(float) if whole else grid
