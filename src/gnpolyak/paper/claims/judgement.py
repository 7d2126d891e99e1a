"""What a claim is judged by, and how judgements are put into words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gnpolyak.paper.evidence import Panel
from gnpolyak.paper.pictures import VERDICTS

HOLDS, CONDITION, FAILS, UNKNOWN = VERDICTS


@dataclass(frozen=True)
class Judgement:
    """What was measured, what follows, and why."""

    measured: str
    verdict: str
    reason: str


def by_cases(cases: Mapping[str, bool]) -> tuple[str, str]:
    """The verdict on a claim about several cases, and in words the cases in which it fails."""
    failing = [case for case, good in cases.items() if not good]
    verdict = HOLDS if not failing else FAILS if len(failing) == len(cases) else CONDITION
    return verdict, ", ".join(failing)


def count(calls: float) -> str:
    """A number of calls; "never" for an infinite one."""
    return f"{calls:,.0f}" if np.isfinite(calls) else "never"


def listed(panel: Panel, method: str, relative: bool = False) -> str:
    """A method's calls to 1e-8 at every value of what the panel varies."""
    return ", ".join(count(panel.calls(method, value, relative=relative)) for value in panel.values)


def names(values: Sequence[float]) -> str:
    """The values themselves."""
    return ", ".join(f"{value:g}" for value in values)


def span(numbers: Sequence[float]) -> str:
    """From the smallest to the largest."""
    low, high = (f"{number:,.3g}" if number < 10 else f"{number:,.0f}" for number in (min(numbers), max(numbers)))
    return low if low == high else f"{low} to {high}"
