"""The figures and the page: what they show is what was measured, seen by a real browser that may load nothing else."""

import json
import re
import shutil
from functools import cache
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from gnpolyak.paper import curves, figures, looks, payload, report
from gnpolyak.paper.pictures import VERDICTS, Claim, Line, Panel, Picture, Series

HOSTILE = "</script><img src=x onerror=window.hacked=1><!-- κ ≤ 3 & \"'$x$"
CHROMIUM = shutil.which("chromium")
SWITCHES = "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync"


def line(method, value, calls, seeds=3, points=60):
    """Linear convergence that ends at 1e-12 after about so many calls, with seeds that differ."""
    x = np.unique(np.round(np.geomspace(1, calls, points)))
    runs = [20 * np.exp(-x / calls * (28 + k)) for k in range(seeds)]
    y = [np.median(runs, axis=0), np.min(runs, axis=0), np.max(runs, axis=0)]
    return Line(method, value, seeds, Series(x, *y), Series(0.004 + 0.0013 * x, *y))


def lines(methods, values=(1.0, 2.0, 5.0, 10.0), seeds=3):
    return tuple(
        line(m, v, calls=int((50 if k == 0 else 70) * (1 + v) ** k), seeds=seeds)
        for v in values
        for k, m in enumerate(methods)
    )


def picture(name, *panels):
    return Picture(name, f"The {name}", f"What {name} do.", (("d", "100"), ("m", "8dr")), panels)


PICTURES = (
    picture("conditioning", Panel("n = 2", "κ", lines(("GNP", "ScaledSM", "Polyak")))),
    picture("orders", Panel("κ = 1", "n", lines(("GNP", "Polyak"))), Panel("κ = 3", "n", lines(("GNP", "Polyak")))),
    picture("failures", Panel("κ = 5", "p_fail", lines(("RGNP", "RPolyak", "Level"), (0.0, 0.1, 0.2)))),
    picture("ranks", Panel("n = 3", "r", lines(("GNP", "Polyak"), (2.0, 5.0)))),
    picture("alone", Panel("one seed", "κ", lines(("GNP", "Bundle"), seeds=1))),
)
PANELS = [panel for each in PICTURES for panel in each.panels]
CLAIMS = tuple(
    Claim(f"κ < {k} & faster", "Section 5", f"{k} calls", verdict, "because ≤")
    for k, verdict in enumerate(("holds", "holds", *VERDICTS[1:3], "does not hold as printed"))
)
MACHINE = {"processor": "a fast one", "jax": "0.8"}


def made(pictures=PICTURES, claims=CLAIMS, machine=MACHINE, heading="Measured", command="make report", notes=()):
    return report.page(pictures, claims, machine, heading=heading, command=command, notes=notes)


usual = cache(made)


class Tags(HTMLParser):
    """Every tag of a page with its attributes, and the text inside each kind of tag."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text, self.open = [], {}, ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open = tag

    def handle_data(self, data):
        self.text[self.open] = self.text.get(self.open, "") + data


def data_of(html):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)[1])


def hostile_page():
    panel = Panel(HOSTILE, HOSTILE, (line(HOSTILE, 1.0, 50),))
    claim = Claim(HOSTILE, HOSTILE, HOSTILE, "holds", HOSTILE)
    shown = Picture(HOSTILE, HOSTILE, HOSTILE, ((HOSTILE, HOSTILE),), (panel,))
    return made((shown,), (claim,), {HOSTILE: HOSTILE}, HOSTILE, HOSTILE, ((HOSTILE, HOSTILE),))


# What can be seen of a series


def test_a_thinned_curve_is_the_same_curve_on_both_axes():
    x = np.arange(1.0, 4001.0)
    y = np.exp(-x / 150) * (1 + 0.5 * np.sin(x / 90)) + np.where(x < 1500, 1e-3, 1e-6)
    low, high = y / (2 + np.cos(x / 70)), y * (3 + np.sin(x / 60))
    seen = curves.drawable(Series(x, y, low, high), most=200)
    assert len(seen.x) <= 200
    for scale in (np.asarray, np.log10):
        for full, thin in ((y, seen.median), (low, seen.low), (high, seen.high)):
            drawn = np.interp(scale(x), scale(seen.x), np.log10(thin))
            np.testing.assert_allclose(drawn, np.log10(full), atol=curves.TOLERANCE)


def test_a_straight_curve_keeps_enough_points_to_hover_over():
    x = np.arange(1.0, 1001.0)
    seen = curves.drawable(Series(x, np.ones(1000), np.ones(1000), np.ones(1000)), most=200)
    assert np.diff(np.log10(seen.x)).max() < 3 / 8
    assert np.diff(seen.x).max() < 1000 / 8


def test_errors_without_a_logarithm_end_the_curve_and_cut_the_band():
    x = np.arange(1.0, 6.0)
    median, low = np.array([1.0, 0.1, 0.01, 0.0, -1e-17]), np.array([0.5, 0.05, 0.0, -1e-17, -1e-17])
    seen = curves.drawable(Series(x, median, low, np.array([2.0, np.inf, 0.02, 0.02, 0.02])), most=100)
    assert seen.x.tolist() == [1, 2, 3]
    assert seen.low.tolist() == [0.5, 0.05, 0.01]
    assert seen.high.tolist() == [2.0, 0.1, 0.02]
    assert len(curves.drawable(Series(x, 0 * x, 0 * x, 0 * x), most=100).x) == 0


# How lines look


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


# Figures in files


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
    x = np.arange(1.0, 4.0)
    exact = Line(HOSTILE, 2.0, 1, *[Series(x, 0 * x, 0 * x, 0 * x)] * 2)
    shown = picture("odd", Panel(HOSTILE, HOSTILE, (line(HOSTILE, 1.0, 50), exact)))
    figures.draw(shown, tmp_path / "odd.svg")
    texts = [node.text for node in ElementTree.parse(tmp_path / "odd.svg").iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count(HOSTILE) == 3


# The page as text


def test_no_text_can_break_out_of_the_page():
    html = hostile_page()
    tags = Tags(html)
    assert [tag for tag, _ in tags.tags].count("script") == 2
    assert not [tag for tag, attrs in tags.tags if tag == "img" or any(name.startswith("on") for name in attrs)]
    (panel,) = data_of(html)
    assert panel["title"] == panel["methods"][0]["label"] == HOSTILE
    for tag in ("title", "h1", "h3", "h4", "td", "dt", "dd", "code"):
        assert HOSTILE in tags.text[tag], tag


def test_the_page_holds_everything_it_needs():
    html = made(notes=(("A slip", "in print"),))
    tags = Tags(html).tags
    assert not [attrs for _, attrs in tags if {"src", "srcset", "action", "style"} & set(attrs)]
    links = {attrs["href"] for _, attrs in tags if "href" in attrs}
    assert {link for link in links if not link.startswith("data:")} == {f"#{place}" for place in anchors(links)}
    assert anchors(links) <= {attrs["id"] for _, attrs in tags if "id" in attrs}
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|import\(", html)
    (policy,) = [attrs["content"] for _, attrs in tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


def anchors(links):
    return {link[1:] for link in links if link.startswith("#")}


def test_the_summary_counts_the_verdicts():
    text = re.sub(r"<[^>]+>", "", made())
    assert "Of 5 claims, 2 hold, 1 holds with a condition, 2 do not hold as printed." in text
    assert set(report.BADGES) == set(VERDICTS)
    for claim in CLAIMS:
        assert claim.verdict in text
    with pytest.raises(ValueError, match=r"verdict 'maybe'.*one of holds, holds with"):
        made(claims=(Claim("a", "b", "c", "maybe", "d"),))


def test_the_page_stays_small_with_many_noisy_lines():
    rng = np.random.default_rng(0)
    x = np.arange(1.0, 401.0)

    def noisy(value):
        y = np.exp(-x / 15) * np.exp(rng.normal(size=400))
        series = [
            Series(scale * x, y, y / rng.uniform(1, 9, 400), y * rng.uniform(1, 9, 400)) for scale in (1, 0.00137)
        ]
        return Line("GNP", value, 3, *series)

    many = picture("many", Panel("many", "κ", tuple(noisy(float(k)) for k in range(250))))
    html = made((many,))
    assert len(html.encode()) < 1_500_000
    assert min(len(each["calls"]["x"]) for each in data_of(html)[0]["lines"]) >= 50


def test_the_data_on_the_page_are_the_data():
    for panel, embedded in zip(PANELS, json.loads(payload.embedded(PICTURES)), strict=True):
        for source, shown in zip(panel.lines, embedded["lines"], strict=True):
            assert embedded["methods"][shown["method"]]["label"] == source.method
            assert embedded["values"][shown["value"]]["label"] == looks.named(panel.symbol, source.value)
            for series, seen in ((source.calls, shown["calls"]), (source.seconds, shown["seconds"])):
                place = np.abs(series.x[:, None] - np.array(seen["x"])).argmin(axis=0)
                np.testing.assert_allclose(seen["x"], series.x[place], rtol=1e-4)
                np.testing.assert_allclose(seen["median"], series.median[place], rtol=1e-4)
                np.testing.assert_allclose(seen.get("high", seen["median"]), series.high[place], rtol=1e-2)


def test_a_page_without_anything_is_still_a_page(tmp_path):
    report.write(tmp_path / "empty.html", (), (), {}, heading="Empty", command="true")
    assert "No claim was measured" in (tmp_path / "empty.html").read_text(encoding="utf-8")


# The page in a browser


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install '.[dev]'")
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=SWITCHES.split())
        yield opened
        opened.close()


@pytest.fixture
def visit(browser, tmp_path):
    """Open a page; at the end, see that it said nothing to the console and asked nothing of the network."""
    heard, contexts = [], []
    path = tmp_path / "report.html"

    def opened(html=None, place="", **options):
        path.write_text(html or usual(), encoding="utf-8")
        contexts.append(browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options}))
        view = contexts[-1].new_page()
        view.set_default_timeout(5000)
        view.on("console", lambda message: heard.append(message.text))
        view.on("pageerror", lambda error: heard.append(str(error)))
        view.on("request", lambda request: heard.append(request.url))
        view.goto(path.as_uri() + place)
        return view

    yield opened
    for context in contexts:
        context.close()
    # The icon is data inside the page; whether the browser mentions it is its own affair.
    assert [said for said in heard if not said.startswith("data:")] == [path.as_uri()] * len(contexts)


# Each chart as numbers: its frame, its paths, its marks on both axes.
READ = """() => [...document.querySelectorAll(".chart")].map((chart) => {
  const all = (selector) => [...chart.querySelectorAll(selector)];
  const frame = chart.querySelector(".frame").getBBox();
  return {
    frame: [frame.x, frame.y, frame.x + frame.width, frame.y + frame.height],
    curves: Object.fromEntries(all(".curve").map((path) => [path.dataset.line, path.getAttribute("d")])),
    bands: Object.fromEntries(all(".band").map((path) => [path.dataset.line, path.getAttribute("d")])),
    label: chart.querySelector(".name-x").textContent,
    across: all(".tick-x").map((tick) => [Number(tick.getAttribute("x")), tick.textContent]),
    up: all(".tick-y").map((tick) => [Number(tick.getAttribute("y")) - 4, tick.textContent]),
  };
})"""


def points(path):
    return np.array([[float(x) for x in pair.split(" ")] for pair in path.strip("MZ").split("L")])


def number(text):
    """A number as the page writes it: 1,234 or 1.234 × 10⁻⁵ or 10⁻⁵."""
    mantissa, power = re.fullmatch(r"(?:([-\d.,]+))?(?: × )?(10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?", text).groups()
    exponent = (power or "10⁰")[2:].translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    return float((mantissa or "1").replace(",", "")) * 10.0 ** int(exponent)


def along(marks, place, warp=np.log10):
    """The value at a place of an axis, read off its marks as a person would."""
    places, values = zip(*[(at, warp(number(name))) for at, name in marks], strict=True)
    return np.polyval(np.polyfit(places, values, 1), place)


def numbered(view, k):
    return view.evaluate(READ)[k]


def shown(view, k=0):
    return {int(line) for line in numbered(view, k)["curves"]}


def of_method(k, method):
    return {i for i, each in enumerate(PANELS[k].lines) if each.method == method}


def test_every_curve_is_drawn_inside_its_axes(visit):
    view = visit()
    for quantity in ("calls", "seconds"):
        for scale in ("log", "linear"):
            view.click(f"[data-axis={quantity}]")
            view.click(f"[data-scale={scale}]")
            charts = view.evaluate(READ)
            assert len(charts) == len(PANELS)
            for panel, chart in zip(PANELS, charts, strict=True):
                left, top, right, bottom = chart["frame"]
                assert right - left > 400
                assert len(chart["curves"]) == len(panel.lines)
                assert len(chart["bands"]) == sum(each.seeds > 1 for each in panel.lines)
                assert len(chart["across"]) >= 2
                for path in (*chart["curves"].values(), *chart["bands"].values()):
                    x, y = points(path).T
                    assert len(x) >= 20
                    assert np.isfinite([x, y]).all()
                    assert x.min() >= left - 0.1
                    assert x.max() <= right + 0.1
                    assert y.min() >= top - 0.1
                    assert y.max() <= bottom + 0.1


def test_a_curve_lies_where_its_values_are(visit):
    view = visit()
    for quantity, scale, warp in (("calls", "log", np.log10), ("seconds", "linear", np.asarray)):
        view.click(f"[data-axis={quantity}]")
        view.click(f"[data-scale={scale}]")
        for panel, chart in zip(PANELS, view.evaluate(READ), strict=True):
            for k, source in enumerate(panel.lines):
                x, y = points(chart["curves"][str(k)]).T
                series = getattr(source, quantity)
                at = along(chart["across"], x, warp)
                expected = np.interp(at, warp(series.x), np.log10(series.median))
                # A tenth of a pixel across is a good part of a decade where a linear axis squeezes the start.
                slack = 0.05 if scale == "log" else 1.5
                assert along(chart["up"], 0) > along(chart["up"], 1), "larger errors are higher up"
                np.testing.assert_allclose(along(chart["up"], y), expected, atol=slack)


def test_one_curve_is_switched_off_and_on(visit):
    view = visit()
    every = shown(view)
    button = view.locator("#figure-1 [data-curve='3']")
    button.click()
    assert shown(view) == every - {3}
    assert button.get_attribute("aria-pressed") == "false"
    assert view.locator("#figure-1 [data-method=GNP]").get_attribute("aria-pressed") == "mixed"
    assert shown(view, 1) == set(range(len(PANELS[1].lines)))
    button.focus()
    view.keyboard.press("Enter")
    assert shown(view) == every
    assert button.get_attribute("aria-pressed") == "true"


def test_a_method_a_value_and_everything_are_switched(visit):
    view = visit()
    every = shown(view)
    view.click("#figure-1 [data-method=Polyak]")
    assert shown(view) == every - of_method(0, "Polyak")
    view.click("#figure-1 [data-value='κ = 2']")
    hidden = {i for i, each in enumerate(PANELS[0].lines) if each.method == "Polyak" or each.value == 2.0}
    # One curve of this value was hidden already, so the first press shows them all and the second hides them.
    view.click("#figure-1 [data-value='κ = 2']")
    assert shown(view) == every - hidden
    view.click("#figure-1 [aria-label='all curves']")
    assert shown(view) == every
    view.click("#figure-1 [aria-label='all curves']")
    assert shown(view) == set()


def test_axes_follow_the_curves_that_are_shown(visit):
    view = visit()
    view.click("[data-scale=linear]")
    before = number(numbered(view, 0)["across"][-1][1])
    view.click("#figure-1 [data-method=Polyak]")
    view.click("#figure-1 [data-method=ScaledSM]")
    assert number(numbered(view, 0)["across"][-1][1]) <= 60 < before


def test_calls_become_seconds(visit):
    view = visit()
    before = view.evaluate(READ)
    view.click("[data-axis=seconds]")
    for old, new in zip(before, view.evaluate(READ), strict=True):
        assert (old["label"], new["label"]) == ("oracle calls", "seconds")
        assert old["across"] != new["across"]
        assert all(path != new["curves"][k] for k, path in old["curves"].items())
    assert view.locator("[data-axis=seconds]").get_attribute("aria-pressed") == "true"
    assert view.locator("[data-axis=calls]").get_attribute("aria-pressed") == "false"


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


def test_a_curve_without_positive_errors_has_a_button_that_says_so(visit):
    x = np.arange(1.0, 4.0)
    exact = Line("Polyak", 2.0, 1, *[Series(x, 0 * x, 0 * x, 0 * x)] * 2)
    view = visit(made((picture("odd", Panel("odd", "κ", (line("GNP", 1.0, 50), exact)), Panel("empty", "κ", ())),)))
    assert shown(view) == {0}
    assert view.locator("[data-curve='1']").is_disabled()


def test_a_link_to_a_figure_arrives_at_it(visit):
    view = visit(place="#figure-4")
    view.wait_for_timeout(300)
    top = view.evaluate("document.getElementById('figure-4').getBoundingClientRect().top")
    assert 0 <= top < 120
