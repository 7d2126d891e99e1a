"""The page in a browser: told values, keys and taps, sizes, themes, and what is there without scripts."""

import numpy as np
import pytest

from gnpolyak.paper import looks
from gnpolyak.paper.pictures import Panel
from paper.charts import along, number, numbered, points
from paper.pages import CLAIMS, HOSTILE, PANELS, PICTURES, hostile_page, lines, made, picture


@pytest.mark.parametrize("quantity", ["calls", "seconds"])
def test_hovering_tells_the_measured_values(visit, quantity):
    view = visit()
    view.click(f"[data-axis={quantity}]")
    view.locator("#chart-0").scroll_into_view_if_needed()
    chart, box = numbered(view, 0), view.locator("#chart-0 svg").bounding_box()
    for k, place in ((11, 20), (0, 15), (7, -8)):
        x, y = points(chart["curves"][str(k)])[place]
        view.mouse.move(box["x"] + x + 1, box["y"] + y)
        heading, where, error, seeds = view.locator("#chart-0 .tip > *").all_inner_texts()
        source = PANELS[0].lines[k]
        series = getattr(source, quantity)
        assert heading == f"{source.method}, κ = {source.value:g}"
        at = number(where.split(" ", 1)[0])
        i = np.abs(series.x - at).argmin()
        assert at == pytest.approx(series.x[i], rel=1e-3)
        assert number(error.removeprefix("error ")) == pytest.approx(series.median[i], rel=1e-3)
        low, high = seeds.removeprefix("3 seeds: ").split(" to ")
        assert number(low) == pytest.approx(series.low[i], rel=0.06)
        assert number(high) == pytest.approx(series.high[i], rel=0.06)
        assert np.log10(at) == pytest.approx(along(chart["across"], x), abs=0.02)
        assert view.locator("#chart-0 .curve.nearest").get_attribute("data-line") == str(k)
    view.mouse.move(1, 1)
    assert view.locator("#chart-0 .tip").is_hidden()
    assert view.locator("#chart-0 .nearest").count() == 0


def test_a_tap_tells_a_value_that_stays(visit):
    view = visit(has_touch=True, viewport={"width": 390, "height": 800})
    view.locator("#chart-0").scroll_into_view_if_needed()
    box = view.locator("#chart-0 svg").bounding_box()
    x, y = points(numbered(view, 0)["curves"]["11"])[20]
    view.touchscreen.tap(box["x"] + x, box["y"] + y)
    assert view.locator("#chart-0 .tip").inner_text().startswith("Polyak, κ = 10\n")
    view.touchscreen.tap(box["x"] + 100, box["y"] + box["height"] - 60)
    assert view.locator("#chart-0 .tip").is_hidden()


def test_arrow_keys_walk_along_a_curve_and_to_the_next(visit):
    view = visit()
    view.focus("#chart-0 svg")
    view.keyboard.press("ArrowRight")
    tip = view.locator("#chart-0 .tip")
    assert tip.inner_text().startswith("GNP, κ = 1\n1 oracle calls")
    view.keyboard.press("ArrowRight")
    assert "2 oracle calls" in tip.inner_text()
    view.keyboard.press("ArrowDown")
    assert tip.inner_text().startswith("ScaledSM, κ = 1\n2 oracle calls")
    view.keyboard.press("Escape")
    assert tip.is_hidden()


@pytest.mark.parametrize("width", [360, 768, 1600])
def test_the_page_fits_the_screen(visit, width):
    crowd = picture("crowd", Panel("many", "κ", lines([f"Method {k}" for k in range(6)], (1.0, 1.1))))
    view = visit(made((*PICTURES, crowd), notes=(("Long", "word" * 60),)), viewport={"width": width, "height": 800})
    assert view.evaluate("document.documentElement.scrollWidth") <= width
    for box in (each.bounding_box() for each in view.locator(".chart svg, .keys, .claims, .switches").all()):
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["width"] > 150
    view.set_viewport_size({"width": 500, "height": 800})
    view.wait_for_function("document.querySelector('.chart svg').getBoundingClientRect().width < 500")
    assert numbered(view, 0)["frame"][2] < 500


def test_the_page_follows_the_dark_theme(visit):
    view = visit(color_scheme="dark")
    colour = "getComputedStyle(document.querySelector(\"#chart-0 .curve[data-line='0']\")).stroke"
    expected = looks.shades(looks.values(PANELS[0]))[1.0]
    assert view.evaluate(colour) == rgb(expected.dark)
    view.emulate_media(color_scheme="light")
    view.wait_for_function(f"{colour} === '{rgb(expected.light)}'")


def rgb(colour):
    return "rgb({}, {}, {})".format(*(int(colour[k : k + 2], 16) for k in (1, 3, 5)))


def test_the_tables_are_there_without_scripts(visit):
    view = visit(java_script_enabled=False)
    assert view.locator("noscript .notice").is_visible()
    assert view.locator(".claims .badge").count() == len(CLAIMS)
    assert view.locator(".switches").is_hidden()
    view.locator("summary").first.click()
    assert view.locator("#figure-1 .numbers tbody tr").count() == len(PANELS[0].lines)


def test_hostile_text_is_shown_and_not_run(visit):
    view = visit(hostile_page())
    assert view.evaluate("window.hacked") is None
    assert view.locator("h1").inner_text() == HOSTILE
    assert HOSTILE in view.locator(".legend").inner_text()
    assert len(numbered(view, 0)["curves"]) == 1


def test_a_link_to_a_figure_arrives_at_it(visit):
    view = visit(place="#figure-4")
    view.wait_for_timeout(300)
    top = view.evaluate("document.getElementById('figure-4').getBoundingClientRect().top")
    assert 0 <= top < 120
