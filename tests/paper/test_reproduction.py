"""What must be true of the committed rows at the paper's scale, and that the page is made from them."""

import re
from pathlib import Path

import numpy as np
import pytest

from gnpolyak.paper import claims, docs, publish, specs, work
from gnpolyak.paper.evidence import exponent

DOCS = Path(__file__).parent.parent / "docs"
FIGURES = specs.figures("paper")


@pytest.fixture(scope="module")
def found():
    return publish.evidence(DOCS / "reproduction", FIGURES, "paper", None)


def test_every_curve_of_the_papers_scale_is_there():
    assert [work.missing(DOCS / "reproduction", figure, None) for figure in FIGURES] == [[]] * 5


def test_gnp_does_not_feel_the_conditioning_and_polyak_does(found):
    panel = found.panel("conditioning")
    for relative in (False, True):
        ours = [panel.calls("GNP", kappa, relative=relative) for kappa in panel.values]
        assert max(ours) / min(ours) < 1.15
        theirs = [panel.calls("Polyak", kappa, relative=relative) for kappa in panel.values]
        assert exponent(panel.values, theirs) >= 1.5


def test_gnp_keeps_up_with_scaledsm(found):
    panel = found.panel("scaledsm")
    for kappa in panel.values:
        assert panel.calls("GNP", kappa) <= panel.calls("ScaledSM", kappa)
        assert panel.pace("GNP", kappa) <= 1.3 * panel.pace("ScaledSM", kappa)


@pytest.mark.parametrize(("figure", "panel"), [("order", "top"), ("order", "bottom"), ("rank", "rank")])
def test_gnp_beats_polyak_at_every_order_and_rank(found, figure, panel):
    rows = found.panel(figure, panel)
    for value in rows.values:
        calls, seconds, _ = rows.advantage("GNP", "Polyak", value, relative=True)
        assert calls > 1
        assert seconds > 1


def test_rgnp_reaches_the_error_within_ten_thousand_calls(found):
    panel = found.panel("restarts")
    for value in (0.0, 0.1, 0.2, 0.3):
        assert all(trace.calls_to(1e-8) <= 10_000 for trace in panel.of("RGNP", value))


def test_rows_carry_their_provenance(found):
    traces = [trace for traces in found.traces.values() for trace in traces]
    assert {trace.facts["dtype"] for trace in traces} == {"float64"}
    assert {trace.facts["jobs"] for trace in traces} == {"1"}
    for trace in traces:
        assert re.fullmatch(r"[0-9a-f]{7,}", trace.facts["commit"]), "rows of a commit, not of changes on top of one"
        assert np.all(np.diff(trace.seconds) >= 0)
        assert np.all(np.diff(trace.best) <= 0)


def test_no_claim_was_left_unmeasured(found):
    assert "not measured" not in {claim.verdict for claim in claims.judged(found)}


def test_the_page_is_generated_from_the_rows():
    assert (DOCS / "reproduction.md").read_text(encoding="utf-8") == docs.page(DOCS / "reproduction")


def test_every_picture_of_the_page_is_there():
    text = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", text)
    assert len(pictures) == len(FIGURES)
    assert all((DOCS / picture).is_file() for picture in pictures)
