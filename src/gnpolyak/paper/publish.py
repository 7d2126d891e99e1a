"""rows → files: figures as PNG and SVG, and the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gnpolyak.paper import claims, constants, errata, figures, gather, report, rows, work
from gnpolyak.paper.evidence import Evidence
from gnpolyak.paper.pictures import Claim
from gnpolyak.paper.specs import Figure

THEORY = "theory.csv"
REPORT = "report.html"


def evidence(folder: Path, wanted: Sequence[Figure], scale: str, seeds: int | None) -> Evidence:
    """All rows of a folder that belong to these figures."""
    traces = {figure.name: gather.done(figure, rows.load(work.path(folder, figure)), seeds) for figure in wanted}
    counts = {figure.name: (len(traces[figure.name]), len(list(figure.curves(seeds)))) for figure in wanted}
    partly = {name: f"{done} of {of} curves" for name, (done, of) in counts.items() if 0 < done < of}
    return Evidence(traces, constants.findings(folder / THEORY, scale), partly)


def publish(
    folder: Path, wanted: Sequence[Figure], found: Evidence, *, heading: str, command: str, with_errata: bool
) -> list[Claim]:
    """Draw every figure that has rows and write the report; returns the claims as judged."""
    pictures = [
        gather.picture(figure, found.traces[figure.name], found.incomplete.get(figure.name, ""))
        for figure in wanted
        if found.traces[figure.name]
    ]
    for picture in pictures:
        for suffix in (".png", ".svg"):
            figures.draw(picture, folder / f"{picture.name}{suffix}")
    judged = claims.judged(found)
    report.write(
        folder / REPORT,
        pictures,
        judged,
        provenance([trace.facts for traces in found.traces.values() for trace in traces]),
        heading=heading,
        command=command,
        notes=errata.errata(found) if with_errata else (),
    )
    return judged


def provenance(facts: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """What rows were made on and with; several values where they differ."""
    names = ("processor", "cores", "device", "oracle", "dtype", "versions", "commit", "jobs", "date")
    return {name: "; ".join(sorted({one[name] for one in facts if name in one})) for name in names}
