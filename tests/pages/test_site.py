"""The site in a browser: every page, every link, nothing from elsewhere, on a phone and on a desk."""

from contextlib import suppress
from pathlib import PurePosixPath
from urllib.parse import unquote, urldefrag, urlsplit

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install '.[dev]'")

LINKS = "[...document.querySelectorAll('a[href]')].map(a => a.href)"
IDS = "[...document.querySelectorAll('[id]')].map(e => e.id)"
WIDE = """width => [...document.querySelectorAll('main img, main h1, main h2, main p, main pre, header')]
    .filter(e => e.offsetParent && e.getBoundingClientRect().right > width + 1).map(e => e.outerHTML.slice(0, 80))"""
ACROSS = "document.documentElement.scrollWidth"
PHONE, DESK = {"width": 375, "height": 800}, {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def walk(browser, address, site):
    """Every page by its path: its links, its anchors, what sticks out at each width; and what was heard on the way."""
    heard, pages = [], {}
    context = browser.new_context(viewport=PHONE)
    view = context.new_page()
    view.on("console", lambda message: heard.append(f"{view.url}: {message.text}"))
    view.on("pageerror", lambda error: heard.append(f"{view.url}: {error}"))
    view.on("request", lambda request: request.url.startswith((address, "data:", "blob:")) or heard.append(request.url))
    view.on("response", lambda response: response.ok or response.status == 304 or heard.append(response.url))
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site).as_posix()
        # The page for wrong addresses is written for the root of a domain.
        if name != "404.html":
            view.goto(address + name, wait_until="load")
            pages[name] = seen(view)
    context.close()
    return pages, heard


def seen(view):
    found = {"links": view.evaluate(LINKS), "ids": set(view.evaluate(IDS)), "title": view.title()}
    for size in (PHONE, DESK):
        view.set_viewport_size(size)
        # Drawers slide to their place for a moment.
        with suppress(sync_api.TimeoutError):
            view.wait_for_function(f"{ACROSS} <= {size['width']}", timeout=1500)
        across = view.evaluate(ACROSS)
        found[size["width"]] = across, view.evaluate(WIDE, size["width"])
    view.set_viewport_size(PHONE)
    return found


def test_nothing_is_said_and_nothing_comes_from_elsewhere(walk):
    assert not walk[1]


def test_every_link_leads_somewhere(walk, address, site):
    pages, broken = walk[0], []
    for name, page in pages.items():
        for link in page["links"]:
            target, anchor = urldefrag(link)
            if target.startswith(address):
                path = unquote(urlsplit(target).path).lstrip("/") or "index.html"
                there = path in pages if PurePosixPath(path).suffix == ".html" else (site / path).is_file()
                if not there or (anchor and path in pages and unquote(anchor) not in pages[path]["ids"]):
                    broken.append((name, link))
    assert not broken


def test_every_page_is_reached_from_the_first(walk, address):
    pages = walk[0]
    reached, ahead = set(), ["index.html"]
    while ahead:
        name = ahead.pop()
        reached.add(name)
        to = {urldefrag(link)[0].removeprefix(address) or "index.html" for link in pages[name]["links"]}
        ahead += sorted((to & pages.keys()) - reached - set(ahead))
    assert reached == pages.keys()


@pytest.mark.parametrize("width", [375, 1280])
def test_no_page_is_wider_than_the_screen(walk, width):
    wide = {name: page[width] for name, page in walk[0].items() if page[width][0] > width or page[width][1]}
    assert not wide


def test_search_finds_the_front_door(browser, address):
    view = browser.new_page(viewport=DESK)
    view.goto(address)
    view.keyboard.press("/")
    view.keyboard.type("minimize", delay=20)
    view.wait_for_selector(".md-search-result__item a[href*='reference/solving.html']", timeout=10_000)
    view.close()
