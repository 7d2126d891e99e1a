"""A claim as it was judged, and the four words a judgement may end with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

WORDS = {
    "holds": ("holds", "hold"),
    "holds with a condition": ("holds with a condition", "hold with a condition"),
    "does not hold as printed": ("does not hold as printed", "do not hold as printed"),
    "not measured": ("was not measured", "were not measured"),
}
"""The verdicts, with the words for one claim and for more."""

VERDICTS = tuple(WORDS)


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper that can be measured, and what the measurement says."""

    statement: str
    place: str
    """Where the paper says it."""
    measured: str
    verdict: str
    """One of `VERDICTS`."""
    reason: str


def counted(claims: Sequence[Claim]) -> list[tuple[str, int, str]]:
    """Each verdict that was given, how often, and the words that go with that number."""
    counts = Counter(claim.verdict for claim in claims)
    return [(verdict, n, WORDS[verdict][n > 1]) for verdict in VERDICTS if (n := counts[verdict])]


def tally(claims: Sequence[Claim]) -> str:
    """How many claims got each verdict, in words."""
    return ", ".join(f"{n} {words}" for _, n, words in counted(claims))
