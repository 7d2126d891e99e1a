"""rows → files: figures as PNG and SVG, and the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gnpolyak.experiments import claims, errata, figures, gather, report, rows, theory, work
from gnpolyak.experiments.evidence import Evidence
from gnpolyak.experiments.pictures import Claim
from gnpolyak.experiments.rows import Trace
from gnpolyak.experiments.specs import Figure

THEORY = "theory.csv"
REPORT = "report.html"


def evidence(folder: Path, wanted: Sequence[Figure], seeds: int | None) -> Evidence:
    """All rows of a folder that belong to these figures."""
    traces = {figure.name: gather.done(figure, rows.load(work.path(folder, figure)), seeds) for figure in wanted}
    return Evidence(traces, [theory.finding(row) for row in theory.load(folder / THEORY)])


def publish(folder: Path, wanted: Sequence[Figure], found: Evidence, heading: str, command: str) -> list[Claim]:
    """Draw every figure that has rows and write the report; returns the claims as judged."""
    pictures = [gather.picture(figure, found.traces[figure.name]) for figure in wanted if found.traces[figure.name]]
    for picture in pictures:
        for suffix in (".png", ".svg"):
            figures.draw(picture, folder / f"{picture.name}{suffix}")
    judged = claims.judged(found)
    report.write(
        folder / REPORT,
        pictures,
        judged,
        provenance([trace for traces in found.traces.values() for trace in traces]),
        heading=heading,
        command=command,
        notes=errata.errata(found),
    )
    return judged


def provenance(traces: Sequence[Trace]) -> dict[str, str]:
    """What the rows were made on and with; several values where they differ."""
    names = ("processor", "cores", "device", "oracle", "dtype", "versions", "commit", "jobs", "date")
    return {name: "; ".join(sorted({trace.facts[name] for trace in traces})) for name in names}
