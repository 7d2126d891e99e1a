"""What the site is made of: every public name is in the reference, and generated pages and pictures are up to date."""

import functools
import importlib.util
import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

import gnpolyak as gnp

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
NUMBER = re.compile(r"-?\d+\.\d+")
# Modules whose own names are public too.
SHELVES = ("diagnostics", "instances", "starts", "testing")


def told():
    """The names in the reference. One that a folder has as well is told by its place: ``fit.named.fit`` is ``fit``."""
    pages = (DOCS / "reference").glob("*.md")
    found = [name for page in pages for name in re.findall(r"^::: gnpolyak\.(\S+)", page.read_text(), flags=re.M)]
    return [re.sub(r"^(\w+)\.\w+\.\1$", r"\1", name) for name in found]


@pytest.mark.parametrize("shelf", SHELVES)
def test_a_function_is_told_and_not_the_file_of_its_name(shelf):
    text = (DOCS / "reference" / f"{shelf if shelf != 'testing' else 'extending'}.md").read_text()
    for name in set(getattr(gnp, shelf).__all__):
        if (ROOT / "src/gnpolyak" / shelf / f"{name}.py").exists() and callable(getattr(getattr(gnp, shelf), name)):
            assert f"::: gnpolyak.{shelf}.{name}\n    options:\n      members: [{name}]\n" in text, name


def test_the_reference_has_every_public_name_once():
    names = set(gnp.__all__) - {"__version__"}
    names |= {f"{shelf}.{name}" for shelf in SHELVES for name in getattr(gnp, shelf).__all__ if not name.isupper()}
    assert names <= set(told())
    assert len(told()) == len(set(told()))


def test_every_name_of_the_reference_is_there():
    # The estimators are there where scikit-learn is.
    absent = () if importlib.util.find_spec("sklearn") else ("estimators.",)
    for dotted in told():
        if not dotted.startswith(absent):
            functools.reduce(getattr, dotted.split("."), gnp)


def test_the_questions_are_those_of_the_statuses(script):
    faq = script("faq")
    assert (DOCS / "faq.md").read_text(encoding="utf-8") == faq.page()
    asked = [name for names in faq.QUESTIONS.values() for name in names]
    assert sorted(asked) == sorted(status.name for status in gnp.Status)
    assert set(faq.QUESTIONS["Is this the answer?"]) == {status.name for status in gnp.Status if status.success}


def test_the_method_has_its_pictures(script):
    pictures = set(script("method").PICTURES)
    assert {path.stem for path in (DOCS / "method").glob("*.svg")} == pictures
    assert set(re.findall(r"\(method/(\w+)\.svg\)", (DOCS / "method.md").read_text())) == pictures


def test_the_shortest_way_is_the_metric_s(script):
    """What the picture of the two paths says."""
    labels = [line.get_label() for line in script("method").path().axes[0].lines]
    polyak, gnps = (float(re.search(r": (\S+) after", label).group(1)) for label in labels[:2])
    assert gnps < 1e-8
    assert polyak > 0.1


@pytest.mark.slow
def test_the_pictures_are_what_the_script_draws(script, tmp_path):
    method = script("method")
    for name in method.PICTURES:
        committed = (DOCS / "method" / f"{name}.svg").read_text()
        if f"Matplotlib v{mpl.__version__}" not in committed:
            pytest.skip(f"drawn by another Matplotlib than {mpl.__version__}")
        method.write(name, tmp_path)
        drawn = (tmp_path / f"{name}.svg").read_text()
        assert NUMBER.sub("", drawn) == NUMBER.sub("", committed)
        # In points: the last digits of a coordinate are the processor's.
        np.testing.assert_allclose(coordinates(drawn), coordinates(committed), atol=0.05)


def coordinates(svg):
    return [float(number) for number in NUMBER.findall(svg)]


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_the_root_s_documents_lead_to_files(document):
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / document).read_text())
    assert not [link for link in links if not (ROOT / link).exists()]
    if document == "README.md":
        assert links


def test_every_link_between_documents_leads_to_a_file_and_a_heading():
    """Also where the documents are read as they are, without the site."""
    dead = []
    for page in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]:
        for file, anchor in re.findall(r"\]\(([^)#\s:]*)(?:#([^)]+))?\)", page.read_text(encoding="utf-8")):
            target = (page.parent / file).resolve() if file else page
            if not target.exists() or (anchor and anchor not in headings(target)):
                dead.append((page.name, file, anchor))
    assert not dead


def headings(page):
    """The anchors that a forge makes of a page's headings."""
    found = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in found}
