"""The page as text: it holds all it needs, says what was measured, and no text can break out of it."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from gnpolyak.paper import looks, payload, report
from gnpolyak.paper.pictures import Line, Panel, Series
from gnpolyak.paper.verdicts import VERDICTS, Claim
from paper.pages import CLAIMS, HOSTILE, PANELS, PICTURES, hostile_page, made, picture


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


def test_a_page_without_anything_is_still_a_page():
    assert "No claim was measured" in report.page((), (), {}, heading="Empty", command="true")
