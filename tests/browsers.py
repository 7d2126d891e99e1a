"""The chromium that is already installed, for the tests that look at pages."""

import shutil

import pytest

CHROMIUM = shutil.which("chromium")

SWITCHES = "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync"


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install '.[dev]'")
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=SWITCHES.split())
        yield opened
        opened.close()
