"""What the rows say, in the figures that claims are judged by: medians over the seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gnpolyak.paper.findings import At, Finding
from gnpolyak.paper.rows import ERROR, Trace


class MissingError(LookupError):
    """There are no rows for what was asked."""


@dataclass(frozen=True)
class Evidence:
    """The traces of the figures by name, and the findings of the theory's probes."""

    traces: Mapping[str, Sequence[Trace]]
    findings: Sequence[Finding] = ()
    incomplete: Mapping[str, str] = field(default_factory=dict)
    """Figures of which some curves are missing, with how many there are: no claim is judged by a part."""

    def runs(self, figure: str, panel: str | None = None) -> Runs:
        """The runs of one panel of a figure; of its only one by default."""
        wanted = panel or figure
        if figure in self.incomplete:
            raise MissingError(f"{self.incomplete[figure]} of {figure}: run `gnpolyak reproduce {figure}`")
        found = [trace for trace in self.traces.get(figure, ()) if trace.facts["panel"] == wanted]
        if not found:
            raise MissingError(f"no rows of {figure}: run `gnpolyak reproduce {figure}`")
        return Runs(found)

    def finding(self, quantity: str, at: At) -> float:
        """One number of theory."""
        found = self.about(quantity)
        if at not in found:
            raise MissingError(f"no {quantity} at {at}: run `gnpolyak reproduce theory`")
        return found[at]

    def about(self, quantity: str) -> dict[At, float]:
        """One quantity at every setting it was measured at."""
        found = {finding.at: finding.value for finding in self.findings if finding.quantity == quantity}
        if not found:
            raise MissingError(f"no {quantity}: run `gnpolyak reproduce theory`")
        return found

    def beside(self, *quantities: str) -> dict[At, tuple[float, ...]]:
        """Several quantities at every setting that the first was measured at."""
        return {at: tuple(self.finding(each, at) for each in quantities) for at in self.about(quantities[0])}

    def facts(self) -> list[Mapping[str, str]]:
        """What every curve was run with."""
        return [trace.facts for traces in self.traces.values() for trace in traces]


@dataclass(frozen=True)
class Runs:
    """The runs of one panel: a trace for each method, value and seed."""

    traces: Sequence[Trace]

    @property
    def values(self) -> list[float]:
        """The values of what varies, in order."""
        return sorted({trace.value for trace in self.traces})

    def of(self, method: str, value: float) -> list[Trace]:
        """One trace for each seed."""
        found = [trace for trace in self.traces if trace.facts["method"] == method and trace.value == value]
        if not found:
            raise MissingError(f"no rows of {method} at {value:g}: run `gnpolyak reproduce`")
        return found

    def calls(self, method: str, value: float, error: float = ERROR, relative: bool = False) -> float:
        """The median number of calls to an error; infinite when at least half of the seeds did not get there."""
        return _median(trace.calls_to(error, relative) for trace in self.of(method, value))

    def pace(self, method: str, value: float) -> float:
        """The median seconds a call takes."""
        return _median(trace.seconds[-1] / trace.call[-1] for trace in self.of(method, value))

    def spent(self, method: str, value: float) -> tuple[float, float]:
        """The calls and the seconds after which the runs ended, medians."""
        traces = self.of(method, value)
        return _median(float(trace.call[-1]) for trace in traces), _median(trace.seconds[-1] for trace in traces)

    def arrived(self, method: str, value: float, error: float = ERROR) -> tuple[int, int]:
        """How many of the seeds reached an error, and how many there are."""
        traces = self.of(method, value)
        return sum(bool(np.isfinite(trace.calls_to(error))) for trace in traces), len(traces)

    def target(self, value: float) -> float:
        """The median optimal value h* of the instances."""
        return _median(float(trace.facts["target"]) for trace in self.traces if trace.value == value)

    def end(self, method: str, value: float) -> float:
        """The median error at the end; negative where a value below that of the truth was found."""
        return _median(float(trace.best[-1]) for trace in self.of(method, value))

    def loops(self, method: str) -> tuple[int, int]:
        """T and K of a restarted method."""
        facts = next(trace.facts for trace in self.traces if trace.facts["method"] == method)
        return int(facts["inner"]), int(facts["outer"])

    def advantage(self, method: str, other: str, value: float, relative: bool) -> tuple[float, float, bool]:
        """How many times the calls and the seconds of `method` the other needs, and whether that is only a lower bound.

        Ratios are taken seed by seed, and their medians returned. Where the other never reached 1e-8, what it had spent
        when it was stopped stands in for it.
        """
        pairs = list(zip(self.of(method, value), self.of(other, value), strict=True))
        calls = _median(theirs.reaching(relative)[0] / ours.reaching(relative)[0] for ours, theirs in pairs)
        seconds = _median(theirs.reaching(relative)[1] / ours.reaching(relative)[1] for ours, theirs in pairs)
        return calls, seconds, not np.isfinite(self.calls(other, value, relative=relative))


def _median(numbers: Iterable[float]) -> float:
    """The median of numbers of which some may be infinite; of an even count the larger middle one."""
    ordered = sorted(numbers)
    return float(ordered[len(ordered) // 2])


def told(
    found: Mapping[At, float] | Mapping[At, tuple[float, ...]], form: str, name: Callable[[At], str] = str
) -> list[str]:
    """What was found at each setting, in words: a format with a {} for each number, and where it was measured."""
    numbers = {at: value if isinstance(value, tuple) else (value,) for at, value in found.items()}
    return [f"{form.format(*values)} at {name(at)}" for at, values in numbers.items()]


def kappa(at: At) -> str:
    """A name for settings that differ in κ alone."""
    return f"κ={at.kappa:g}"


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """p in y ~ xᵖ by least squares in the logarithms, over the finite y."""
    finite = np.isfinite(y)
    if np.sum(finite) < 2:
        raise MissingError("fewer than two finished runs to fit a power to: run `gnpolyak reproduce`")
    return float(np.polyfit(np.log(np.asarray(x)[finite]), np.log(np.asarray(y)[finite]), 1)[0])
