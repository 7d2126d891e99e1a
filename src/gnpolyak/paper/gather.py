"""rows → what a figure shows: the median over the seeds, and the band between the smallest and the largest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnpolyak.paper import specs
from gnpolyak.paper.pictures import Line, Panel, Picture, Series
from gnpolyak.paper.rows import Trace, identity

_POINTS = 300


def done(figure: specs.Figure, traces: Sequence[Trace], seeds: int | None) -> list[Trace]:
    """The traces that belong to the figure as specified, in its order; others, of other settings, are left out."""
    found = {trace.identity: trace for trace in traces}
    return [found[key] for curve in figure.curves(seeds) if (key := identity(curve)) in found]


def picture(figure: specs.Figure, traces: Sequence[Trace], so_far: str = "") -> Picture:
    """What the figure shows of the traces there are; `so_far` says how many, if not all."""
    unfinished = f" Only {so_far} are done." if so_far else ""
    return Picture(
        name=figure.name,
        title=figure.title,
        caption=f"{figure.place} of the paper. {figure.caption}{unfinished}",
        settings=tuple(pair for panel in figure.panels for pair in _settings(panel, traces)),
        panels=tuple(drawn for panel in figure.panels if (drawn := _panel(panel, traces)).lines),
    )


def _settings(panel: specs.Panel, traces: Sequence[Trace]) -> list[tuple[str, str]]:
    of_panel = [trace for trace in traces if trace.facts["panel"] == panel.name]
    seeds = len({trace.facts["seed"] for trace in of_panel})
    limit = f"{max((int(t.facts['max_calls']) for t in of_panel), default=panel.max_calls):,} calls"
    if panel.max_seconds is not None:
        limit += f" or {panel.max_seconds:g} s"
    values = ", ".join(f"{value:g}" for value in panel.values)
    known = "" if panel.varies == "p_fail" else f", p_fail = {panel.base.p_fail:g}"
    return [
        (panel.title, f"{panel.symbol} in {{{values}}}{known}"),
        ("seeds", str(seeds)),
        ("limit", limit),
        *((c.label, f"K = {c.outer} restarts of T = {c.inner:,} steps") for c in _restarted(panel)),
    ]


def _restarted(panel: specs.Panel) -> list[specs.Contender]:
    return [contender for contender in panel.contenders if contender.strategy == "restart"]


def _panel(panel: specs.Panel, traces: Sequence[Trace]) -> Panel:
    lines = []
    for contender in panel.contenders:
        for value in panel.values:
            same = [
                trace
                for trace in traces
                if trace.facts["panel"] == panel.name
                and trace.facts["method"] == contender.label
                and trace.value == value
            ]
            if same:
                lines.append(_line(contender.label, value, same))
    return Panel(panel.title, panel.symbol, tuple(lines))


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
