"""The charts in a browser: curves lie where their values are, and answer to the legend and the axes."""

import numpy as np

from gnpolyak.paper.pictures import Panel
from paper.charts import READ, along, number, numbered, points, shown
from paper.pages import PANELS, exact, line, made, picture


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


def test_a_curve_without_positive_errors_has_a_button_that_says_so(visit):
    panels = Panel("odd", "κ", (line("GNP", 1.0, 50), exact("Polyak"))), Panel("empty", "κ", ())
    view = visit(made((picture("odd", *panels),)))
    assert shown(view) == {0}
    assert view.locator("[data-curve='1']").is_disabled()
