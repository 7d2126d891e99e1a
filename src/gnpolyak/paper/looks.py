"""How a line looks, in the printed figures and on the page alike: colour is the value, stroke is the method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

from gnpolyak.paper.pictures import Panel, Picture


@dataclass(frozen=True)
class Stroke:
    """The pattern and the width of a line."""

    dashes: tuple[float, ...]
    """Ink and gap in turn, in units of the width; empty for a solid line."""
    width: float


@dataclass(frozen=True)
class Shade:
    """One colour on white paper and its counterpart on a dark screen."""

    light: str
    dark: str


STROKES = {
    "gnp": Stroke((), 2.6),
    "rgnp": Stroke((), 2.4),
    "scaledsm": Stroke((3.2, 1.5), 1.9),
    "polyak": Stroke((5.5, 1.8, 1.2, 1.8), 1.4),
    "rpolyak": Stroke((5.5, 1.8, 1.2, 1.8), 1.5),
    "level": Stroke((1.1, 1.2), 2.1),
}
SPARE = (
    Stroke((8.0, 2.0), 1.8),
    Stroke((4.0, 1.4, 1.2, 1.4, 1.2, 1.4), 1.7),
    Stroke((1.2, 2.6), 2.3),
    Stroke((6.0, 4.0), 1.6),
)

# Ten steps of "plasma", whose lightness rises evenly, so that the order is seen with any colour vision and in grey.
PLASMA = (
    *("#0d0887", "#41049d", "#6a00a8", "#8f0da4", "#b12a90"),
    *("#cc4778", "#e16462", "#f2844b", "#fca636", "#fcce25", "#f0f921"),
)
# The parts of it with a contrast of at least 2.2 against white and 3 against the dark page.
ON_LIGHT = (0.0, 0.74)
ON_DARK = (0.4, 1.0)


def methods(picture: Picture) -> tuple[str, ...]:
    """The methods of a picture, in order of appearance."""
    return tuple(dict.fromkeys(line.method for panel in picture.panels for line in panel.lines))


def values(panel: Panel) -> tuple[float, ...]:
    """The values that a panel varies, in increasing order."""
    return tuple(sorted({line.value for line in panel.lines}))


def strokes(labels: Sequence[str]) -> dict[str, Stroke]:
    """A stroke for every method; two methods of a picture never share a pattern while there are spare ones.

    >>> strokes(["GNP", "RGNP", "Bundle"])["Bundle"].dashes
    (4.0, 1.4, 1.2, 1.4, 1.2, 1.4)
    """
    spare = cycle(SPARE)
    chosen: dict[str, Stroke] = {}
    for label in labels:
        wanted = STROKES.get(label.lower().split(" ")[0])
        taken = {stroke.dashes for stroke in chosen.values()}
        chosen[label] = next(spare) if wanted is None or wanted.dashes in taken else wanted
    return chosen


def shades(ordered: Sequence[float]) -> dict[float, Shade]:
    """A colour for every value, in order from dark to light."""
    last = max(len(ordered) - 1, 1)
    return {value: Shade(_plasma(ON_LIGHT, k / last), _plasma(ON_DARK, k / last)) for k, value in enumerate(ordered)}


def named(symbol: str, value: float) -> str:
    """The parameter's value in words.

    >>> named("κ", 10.0)
    'κ = 10'
    """
    return f"{symbol} = {value:.6g}"


def _plasma(part: tuple[float, float], place: float) -> str:
    position = (part[0] + place * (part[1] - part[0])) * (len(PLASMA) - 1)
    below = min(int(position), len(PLASMA) - 2)
    pairs = zip(_channels(PLASMA[below]), _channels(PLASMA[below + 1]), strict=True)
    return "#" + "".join(f"{round(a + (position - below) * (b - a)):02x}" for a, b in pairs)


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
