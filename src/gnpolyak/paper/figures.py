"""The pictures as files: PNG to look at, SVG to print, the same bytes every time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gnpolyak.base.files import replacing
from gnpolyak.paper import looks
from gnpolyak.paper.curves import drawable
from gnpolyak.paper.pictures import Line, Panel, Picture

AXES = {"calls": "oracle calls", "seconds": "seconds"}
POINTS = 120
# Text stays text in SVG, identifiers do not depend on chance, and a $ in a title is a $.
SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "gnpolyak",
    "text.parse_math": False,
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
}
# Neither a date nor a version: drawing a committed figure again makes no difference.
METADATA: dict[str, dict[str, None]] = {".svg": {"Date": None, "Creator": None}, ".png": {"Software": None}}
GREY = "#444444"


def draw(picture: Picture, path: Path) -> None:
    """Draw the objective error against oracle calls and against seconds, a row of axes for each panel.

    Parameters
    ----------
    picture : Picture
        What to draw. Colour stands for the value of the varied parameter, stroke for the method, and the band, where
        there are several seeds, for the smallest to the largest error.
    path : Path
        The file to write; its suffix chooses the format.
    """
    from matplotlib import style
    from matplotlib.figure import Figure

    with style.context(["default", SETTINGS]), replacing(path) as draft:
        figure = Figure(figsize=(9.6, 3.4 * max(len(picture.panels), 1)), layout="constrained")
        strokes = looks.strokes(looks.methods(picture))
        rows = figure.subfigures(max(len(picture.panels), 1), 1, squeeze=False)[:, 0]
        for place, (row, panel) in enumerate(zip(rows, picture.panels, strict=False)):
            _panel(row, panel, strokes, f"line-{place}")
        figure.savefig(draft, dpi=150, metadata=METADATA.get(path.suffix, {}))


def _panel(figure: Any, panel: Panel, strokes: dict[str, looks.Stroke], identifier: str) -> None:
    shades = looks.shades(looks.values(panel))
    figure.suptitle(panel.title, fontweight="bold", fontsize=10.5)
    for ax, name in zip(figure.subplots(1, 2, sharey=True), AXES, strict=True):
        # The thick lines first, so that the thin ones cross over them.
        for place, line in sorted(enumerate(panel.lines), key=lambda item: -strokes[item[1].method].width):
            _line(ax, line, name, strokes[line.method], shades[line.value].light, f"{identifier}-{place}-{name}")
        _dress(ax, name)
    figure.axes[0].set_ylabel("objective error  f − h*")
    _legend(figure, panel, strokes, shades)


def _line(ax: Any, line: Line, name: str, stroke: looks.Stroke, colour: str, identifier: str) -> None:
    series = drawable(line.calls if name == "calls" else line.seconds, POINTS)
    look = {"color": colour, "linewidth": stroke.width, "linestyle": _pattern(stroke)}
    ax.plot(series.x, series.median, gid=identifier, **look)
    if line.seeds > 1:
        ax.fill_between(series.x, series.low, series.high, color=colour, alpha=0.13, linewidth=0)


def _dress(ax: Any, name: str) -> None:
    ax.set(xlabel=AXES[name], xscale="log", yscale="log")
    ax.xaxis.set_major_formatter(_power)
    ax.yaxis.set_major_formatter(_power)
    ax.tick_params(which="minor", length=2, labelbottom=False, labelleft=False)
    ax.grid(alpha=0.25)


def _power(value: float, position: int | None = None) -> str:
    """A power of ten in plain text, which SVG keeps as one word."""
    exponent = f"{value:.0e}".split("e")[1]
    return "10" + str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _legend(figure: Any, panel: Panel, strokes: dict[str, looks.Stroke], shades: dict[float, looks.Shade]) -> None:
    """One column beside the axes: the methods by their stroke, then the values by their colour."""
    from matplotlib.lines import Line2D

    present = {line.method for line in panel.lines}
    entries = [("method", Line2D([], [], alpha=0))]
    entries += [
        (method, Line2D([], [], color=GREY, linewidth=stroke.width, linestyle=_pattern(stroke)))
        for method, stroke in strokes.items()
        if method in present
    ]
    entries += [("", Line2D([], [], alpha=0)), (panel.symbol, Line2D([], [], alpha=0))]
    entries += [(f"{value:.6g}", Line2D([], [], color=shade.light, linewidth=4)) for value, shade in shades.items()]
    labels, handles = zip(*entries, strict=True)
    texts = figure.legend(handles, labels, loc="outside right upper", handlelength=3.6).get_texts()
    for place in (0, len(present) + 2):
        texts[place].set_weight("bold")


def _pattern(stroke: looks.Stroke) -> Any:
    return (0, stroke.dashes) if stroke.dashes else "-"
