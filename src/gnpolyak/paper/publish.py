"""An archive's rows → files beside them: figures as PNG and SVG, and the report."""

from __future__ import annotations

from gnpolyak.base.files import replacing
from gnpolyak.paper import claims, errata, figures, gather, provenance, report
from gnpolyak.paper.archive import Archive
from gnpolyak.paper.verdicts import Claim

REPORT = "report.html"


def publish(archive: Archive, *, heading: str, command: str, with_errata: bool) -> list[Claim]:
    """Draw every figure that has rows and write the report; returns the claims as judged."""
    found = archive.evidence()
    pictures = [
        gather.picture(figure, found.traces[figure.name], found.incomplete.get(figure.name, ""))
        for figure in archive.figures
        if found.traces[figure.name]
    ]
    for picture in pictures:
        for suffix in (".png", ".svg"):
            figures.draw(picture, archive.folder / f"{picture.name}{suffix}")
    judged = claims.judged(found)
    machine, notes = provenance.told(found.facts()), errata.errata(found) if with_errata else ()
    page = report.page(pictures, judged, machine, heading=heading, command=command, notes=notes)
    with replacing(archive.folder / REPORT) as draft:
        draft.write_text(page, encoding="utf-8", newline="\n")
    return judged
