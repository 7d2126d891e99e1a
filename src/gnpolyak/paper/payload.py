"""The panels as data inside the page, small enough to open at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from gnpolyak.paper import looks
from gnpolyak.paper.curves import drawable
from gnpolyak.paper.pictures import Panel, Picture, Series

# The most points of one curve, and of all curves together: with so many the page stays below a megabyte and a half.
POINTS_OF_A_CURVE = 200
POINTS = 20_000


def embedded(pictures: Sequence[Picture]) -> str:
    """The panels as JSON that no text in them can break out of."""
    count = sum(len(panel.lines) for picture in pictures for panel in picture.panels)
    most = min(POINTS_OF_A_CURVE, POINTS // max(count, 1))
    panels = [_chart(panel, picture, most) for picture in pictures for panel in picture.panels]
    text = json.dumps(panels, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _chart(panel: Panel, picture: Picture, most: int) -> dict[str, Any]:
    strokes = {k: v for k, v in looks.strokes(looks.methods(picture)).items() if k in {x.method for x in panel.lines}}
    shades = looks.shades(looks.values(panel))
    methods, values = list(strokes), list(shades)
    return {
        "title": panel.title,
        "methods": [{"label": name, "width": s.width, "dashes": s.dashes} for name, s in strokes.items()],
        "values": [
            {"label": looks.named(panel.symbol, value), "light": shade.light, "dark": shade.dark}
            for value, shade in shades.items()
        ],
        "lines": [
            {
                "method": methods.index(line.method),
                "value": values.index(line.value),
                "seeds": line.seeds,
                "calls": _series(drawable(line.calls, most), line.seeds),
                "seconds": _series(drawable(line.seconds, most), line.seeds),
            }
            for line in panel.lines
        ],
    }


def _series(series: Series, seeds: int) -> dict[str, list[float]]:
    columns = {"x": _rounded(series.x, 5), "median": _rounded(series.median, 5)}
    if seeds > 1:
        # Drawn, and told to two digits; a third keeps the band around its median.
        columns |= {"low": _rounded(series.low, 3), "high": _rounded(series.high, 3)}
    return columns


def _rounded(numbers: Iterable[float], digits: int) -> list[float]:
    short = (float(f"{number:.{digits}g}") for number in numbers)
    return [int(number) if number.is_integer() else number for number in short]
