"""What must be true of the committed rows at the paper's scale, and that the page is made from them."""

import re
from pathlib import Path

import pytest

from gnpolyak.paper import catalogue, claims, docs
from gnpolyak.paper.archive import Archive
from gnpolyak.paper.evidence import exponent

DOCS = Path(__file__).parents[2] / "docs"
FIGURES = catalogue.figures("paper")


@pytest.fixture(scope="module")
def archive():
    return Archive(DOCS / "reproduction", FIGURES, "paper")


@pytest.fixture(scope="module")
def found(archive):
    return archive.evidence()


def test_every_curve_and_every_probe_of_the_papers_scale_is_there(archive):
    assert [archive.missing(figure) for figure in FIGURES] == [[]] * 5
    assert not archive.missing_probes()


def test_gnp_does_not_feel_the_conditioning_and_polyak_does(found):
    runs = found.runs("conditioning")
    for relative in (False, True):
        ours = [runs.calls("GNP", kappa, relative=relative) for kappa in runs.values]
        assert max(ours) / min(ours) < 1.15
        theirs = [runs.calls("Polyak", kappa, relative=relative) for kappa in runs.values]
        assert exponent(runs.values, theirs) >= 1.5


def test_gnp_keeps_up_with_scaledsm(found):
    runs = found.runs("scaledsm")
    for kappa in runs.values:
        assert runs.calls("GNP", kappa) <= runs.calls("ScaledSM", kappa)
        assert runs.pace("GNP", kappa) <= 1.3 * runs.pace("ScaledSM", kappa)


@pytest.mark.parametrize(("figure", "panel"), [("order", "top"), ("order", "bottom"), ("rank", "rank")])
def test_gnp_beats_polyak_at_every_order_and_rank(found, figure, panel):
    runs = found.runs(figure, panel)
    for value in runs.values:
        calls, seconds, _ = runs.advantage("GNP", "Polyak", value, relative=True)
        assert calls > 1
        assert seconds > 1


def test_rgnp_reaches_the_error_within_ten_thousand_calls(found):
    runs = found.runs("restarts")
    for value in (0.0, 0.1, 0.2, 0.3):
        assert all(trace.calls_to(1e-8) <= 10_000 for trace in runs.of("RGNP", value))


def test_rows_carry_their_provenance(found):
    for facts in found.facts():
        assert (facts["dtype"], facts["jobs"]) == ("float64", "1")
        assert re.fullmatch(r"[0-9a-f]{7,}", facts["commit"]), "rows of a commit, not of changes on top of one"


def test_no_claim_was_left_unmeasured(found):
    assert "not measured" not in {claim.verdict for claim in claims.judged(found)}


def test_the_page_is_generated_from_the_rows():
    assert (DOCS / "reproduction.md").read_text(encoding="utf-8") == docs.page(DOCS / "reproduction")


def test_every_picture_of_the_page_is_there():
    text = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", text)
    assert len(pictures) == len(FIGURES)
    assert all((DOCS / picture).is_file() for picture in pictures)
