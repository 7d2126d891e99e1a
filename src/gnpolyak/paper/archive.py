"""The rows of one folder: read once, kept curve by curve and probe by probe, and handed on as evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from gnpolyak.paper import constants, findings, rows
from gnpolyak.paper.evidence import Evidence
from gnpolyak.paper.provenance import machine
from gnpolyak.paper.specs import Curve, Figure

_FINDINGS = "theory.csv"


class Archive:
    """What a folder holds of some figures at one scale.

    All files are read here, so that one that cannot be read is named before any work is done. Whatever is kept later is
    written at once, and its file replaced as a whole.

    Parameters
    ----------
    folder : Path
    figures : sequence of Figure
        The figures as specified; rows of other settings are left where they are, and count for nothing.
    scale : str
        Which findings count.
    seeds : int, optional
        Instances of each setting; as many as the figures say by default.
    """

    def __init__(self, folder: Path, figures: Sequence[Figure], scale: str, seeds: int | None = None) -> None:
        self.folder, self.figures, self.scale, self.seeds = folder, figures, scale, seeds
        self._traces = {figure.name: rows.load(self._path(figure.name)) for figure in figures}
        self.records = findings.load(folder / _FINDINGS)

    def missing(self, figure: Figure) -> list[Curve]:
        """The curves of a figure that have no rows yet."""
        known = {trace.identity for trace in self._traces[figure.name]}
        return [curve for curve in figure.curves(self.seeds) if rows.identity(curve) not in known]

    def keep(self, trace: rows.Trace) -> None:
        """Put a trace among those of its figure, in the order of the spec and in place of an older one."""
        name = trace.facts["figure"]
        figure = next(figure for figure in self.figures if figure.name == name)
        order = {rows.identity(curve): place for place, curve in enumerate(figure.curves(self.seeds))}
        others = [old for old in self._traces[name] if old.identity != trace.identity]
        together = [*others, rows.as_written(trace)]
        self._traces[name] = sorted(together, key=lambda one: order.get(one.identity, len(order)))
        rows.save(self._path(name), self._traces[name])

    def missing_probes(self) -> list[constants.Probe]:
        """The probes of theory that have no findings at this scale."""
        known = {record.probe for record in self.records if record.scale == self.scale}
        return [probe for probe in constants.probes(self.scale) if probe.name not in known]

    def keep_findings(self, probe: constants.Probe, found: Iterable[findings.Finding]) -> None:
        """Add all that a probe found."""
        where = machine()
        self.records += [findings.recorded(self.scale, probe.name, finding, where) for finding in found]
        findings.save(self.folder / _FINDINGS, self.records)

    def evidence(self) -> Evidence:
        """What claims may be judged by; figures that are there in part are marked as such."""
        traces = {figure.name: self._done(figure) for figure in self.figures}
        counts = {figure.name: (len(traces[figure.name]), self._count(figure)) for figure in self.figures}
        partly = {name: f"{done} of {of} curves" for name, (done, of) in counts.items() if 0 < done < of}
        return Evidence(traces, self._findings(), partly)

    def _path(self, figure: str) -> Path:
        return self.folder / f"{figure}.csv.gz"

    def _done(self, figure: Figure) -> list[rows.Trace]:
        found = {trace.identity: trace for trace in self._traces[figure.name]}
        return [found[key] for curve in figure.curves(self.seeds) if (key := rows.identity(curve)) in found]

    def _count(self, figure: Figure) -> int:
        return len(list(figure.curves(self.seeds)))

    def _findings(self) -> list[findings.Finding]:
        """Those of this scale, in the order of the probes."""
        order = [probe.name for probe in constants.probes(self.scale)]
        own = [record for record in self.records if record.scale == self.scale and record.probe in order]
        return [record.finding for record in sorted(own, key=lambda record: order.index(record.probe))]
