"""The gallery's scripts show what its page says, and the page is what they make."""

import ast
import importlib.util
import json
import sys
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).parent.parent
GALLERY = ROOT / "docs" / "gallery"


def builder():
    # As for a script that is run: its own folder comes first.
    sys.path.insert(0, str(ROOT / "examples" / "gallery"))
    spec = importlib.util.spec_from_file_location("gallery_build", ROOT / "examples" / "gallery" / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUILD = builder()
FIGURES = json.loads((GALLERY / "figures.json").read_text())
OURS = "gnpolyak"


# Half of them with each run of the suite; the others take a minute.
_LONG = {"cameras", "photograph", "video"}
_SCRIPTS = [pytest.param(name, marks=pytest.mark.slow) if name in _LONG else name for name in BUILD.NAMES]


@pytest.mark.parametrize("name", _SCRIPTS)
def test_a_script_is_exact_where_its_peers_are_as_the_page_says(name, tmp_path):
    with threadpool_limits(1):
        errors = BUILD.run(name, tmp_path / "picture.png")
    assert list(errors) == list(FIGURES[name])
    assert errors[OURS] < 1e-12
    for peer in errors.keys() - {OURS}:
        # Below this a peer has converged as well, to what rounding and its number of turns leave.
        small = FIGURES[name][peer] < 1e-6
        assert errors[peer] < 1e-6 if small else errors[peer] == pytest.approx(FIGURES[name][peer], rel=0.2)
    assert (tmp_path / "picture.png").stat().st_size > 5_000


@pytest.mark.parametrize("name", BUILD.NAMES)
def test_the_committed_figures_and_picture_are_there(name):
    errors = FIGURES[name]
    assert errors[OURS] < 1e-12
    assert max(errors.values()) > 1e-3
    assert (GALLERY / f"{name}.png").stat().st_size < 150_000


def test_the_page_is_what_the_scripts_and_figures_make():
    assert (ROOT / "docs" / "gallery.md").read_text() == BUILD.page(FIGURES)
    assert sorted(FIGURES) == sorted(BUILD.NAMES)


def test_every_script_is_on_the_page():
    scripts = {path.stem for path in (ROOT / "examples" / "gallery").glob("*.py")} - {"build", "showing", "inexact_alm"}
    assert scripts == set(BUILD.NAMES)


@pytest.mark.parametrize("name", BUILD.NAMES)
def test_a_script_has_at_most_forty_lines_of_code(name):
    source = (ROOT / "examples" / "gallery" / f"{name}.py").read_text()
    code = source.splitlines()[ast.parse(source).body[0].end_lineno :]
    assert sum(bool(line.split("#")[0].strip()) for line in code) <= 40
