"""How lines look, and the figures in files: complete, and the same bytes each time."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from gnpolyak.paper import figures, looks
from gnpolyak.paper.pictures import Panel
from paper.pages import HOSTILE, PICTURES, exact, line, picture


def luminance(colour):
    channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


@pytest.mark.parametrize("count", [1, 2, 6, 10])
def test_colours_are_ordered_and_visible_on_both_pages(count):
    shades = list(looks.shades(range(count)).values())
    light = [luminance(shade.light) for shade in shades]
    dark = [luminance(shade.dark) for shade in shades]
    assert all(np.diff(light) > 0)
    assert all(np.diff(dark) > 0)
    assert 1.05 / (max(light) + 0.05) > 2.2
    assert (min(dark) + 0.05) / (luminance("#14171c") + 0.05) > 3


def test_no_two_methods_share_a_pattern():
    labels = ("GNP", "ScaledSM", "Polyak", "RGNP", "Level (GNP)", "Bundle", "RPolyak")
    strokes = looks.strokes(labels)
    assert len({stroke.dashes for stroke in strokes.values()}) == len(labels)
    assert strokes["GNP"].dashes == ()
    assert strokes["GNP"].width == max(stroke.width for stroke in strokes.values())
    assert strokes["Level (GNP)"] == looks.STROKES["level"]


@pytest.mark.parametrize("shown", PICTURES, ids=lambda shown: shown.name)
def test_a_figure_is_drawn_in_full_and_the_same_each_time(shown, tmp_path):
    first, again = tmp_path / "a.svg", tmp_path / "b.svg"
    for path in (first, again):
        figures.draw(shown, path)
    text = first.read_text(encoding="utf-8")
    assert first.read_bytes() == again.read_bytes()
    assert len(text) < 300_000
    for p, panel in enumerate(shown.panels):
        for k in range(len(panel.lines)):
            for axis in ("calls", "seconds"):
                drawn = rf'<g id="line-{p}-{k}-{axis}">\s*<path d="M [-\d. ]+\n(L [-\d. ]+\n){{9}}'
                assert re.search(drawn, text), (p, k, axis)
    for word in ("oracle calls", "seconds", "10⁻[⁸⁹]", shown.panels[-1].title, shown.panels[0].lines[-1].method):
        assert re.search(rf"<text [^>]*>{word}</text>", text), word


def test_a_figure_is_drawn_as_pixels_too(tmp_path):
    for name in ("a.png", "b.png"):
        figures.draw(PICTURES[0], tmp_path / name)
    image = (tmp_path / "a.png").read_bytes()
    assert image.startswith(b"\x89PNG")
    assert 20_000 < len(image) < 400_000
    assert image == (tmp_path / "b.png").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "b.png"]


def test_a_figure_takes_any_text_and_a_curve_that_is_zero(tmp_path):
    shown = picture("odd", Panel(HOSTILE, HOSTILE, (line(HOSTILE, 1.0, 50), exact(HOSTILE))))
    figures.draw(shown, tmp_path / "odd.svg")
    texts = [node.text for node in ElementTree.parse(tmp_path / "odd.svg").iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count(HOSTILE) == 3
