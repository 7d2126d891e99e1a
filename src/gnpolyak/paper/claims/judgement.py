"""What a claim is judged by, and how judgements are put into words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gnpolyak.paper.evidence import Evidence, Runs
from gnpolyak.paper.verdicts import VERDICTS

HOLDS, CONDITION, FAILS, UNKNOWN = VERDICTS


@dataclass(frozen=True)
class Judgement:
    """What was measured, what follows, and why."""

    measured: str
    verdict: str
    reason: str


@dataclass(frozen=True)
class Stated:
    """A claim in our words, where the paper makes it, and the function that judges it."""

    statement: str
    place: str
    judge: Callable[[Evidence], Judgement]


def states(statement: str, place: str) -> Callable[[Callable[[Evidence], Judgement]], Stated]:
    """Put what the paper says, and where, above the function that judges it."""
    return lambda judge: Stated(statement, place, judge)


def by_cases(
    measured: str, cases: Mapping[str, bool], *, fails: str = "Not at {}.", holds: str = "", always: str = ""
) -> Judgement:
    """The judgement on a claim about several cases: it holds in all of them, in some, or in none.

    Parameters
    ----------
    measured : str
        What was measured.
    cases : mapping
        Whether the claim holds, by the name of the case.
    fails, holds : str
        The reason where it fails in some cases, whose names replace the {}, and where it fails in none.
    always : str
        What is to be said either way.
    """
    failing = [case for case, good in cases.items() if not good]
    verdict = HOLDS if not failing else FAILS if len(failing) == len(cases) else CONDITION
    reason = fails.format(", ".join(failing)) if failing else holds
    return Judgement(measured, verdict, " ".join(part for part in (reason, always) if part))


def count(calls: float) -> str:
    """A number of calls; "never" for an infinite one."""
    return f"{calls:,.0f}" if np.isfinite(calls) else "never"


def listed(runs: Runs, method: str, relative: bool = False) -> str:
    """A method's calls to 1e-8 at every value of what varies."""
    return ", ".join(count(runs.calls(method, value, relative=relative)) for value in runs.values)


def names(values: Sequence[float]) -> str:
    """The values themselves."""
    return ", ".join(f"{value:g}" for value in values)


def span(numbers: Sequence[float]) -> str:
    """From the smallest to the largest."""
    low, high = (f"{number:,.3g}" if number < 10 else f"{number:,.0f}" for number in (min(numbers), max(numbers)))
    return low if low == high else f"{low} to {high}"
