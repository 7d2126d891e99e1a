"""The scripts of `pages`, the built site, and a browser."""

import functools
import importlib.util
import os
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from browsers import browser  # noqa: F401

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="session")
def script():
    def load(name):
        spec = importlib.util.spec_from_file_location(f"pages_{name}", ROOT / "pages" / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the site, built as `make docs` builds it."""
    pytest.importorskip("material", reason="the site's tools are not installed: make docs, or pip install '.[docs]'")
    folder = tmp_path_factory.mktemp("built") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    silent = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=silent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


class Quiet(SimpleHTTPRequestHandler):
    """Says nothing of what it serves."""

    def log_message(self, *args):
        pass


@pytest.fixture(scope="session")
def address(site):
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
