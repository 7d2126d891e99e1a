"""A real browser, which may load nothing but the page."""

import pytest

from browsers import browser  # noqa: F401
from paper.pages import usual


@pytest.fixture
def visit(browser, tmp_path):  # noqa: F811
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
