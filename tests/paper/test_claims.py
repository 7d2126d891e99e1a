"""Claims: what verdict which rows lead to."""

import numpy as np
import pytest

from gnpolyak.paper import claims
from gnpolyak.paper.evidence import Evidence
from gnpolyak.paper.findings import At, Finding
from paper.made import geometric, trace


def judge(statement, traces, findings=()):
    by_figure = {}
    for one in traces:
        by_figure.setdefault(one.facts["figure"], []).append(one)
    found = claims.judged(Evidence(by_figure, findings))
    return next(claim for claim in found if statement in claim.statement)


def test_claims_without_rows_say_what_to_run():
    found = claims.judged(Evidence({}))
    assert {claim.verdict for claim in found} == {"not measured"}
    assert all("gnpolyak reproduce" in claim.reason for claim in found)


@pytest.mark.parametrize(("counts", "verdict"), [((50, 52, 55), "holds"), ((50, 52, 60), "does not hold as printed")])
def test_independence_of_the_conditioning(counts, verdict):
    traces = [geometric(n, value=kappa) for n, kappa in zip(counts, (1, 10, 100), strict=True)]
    assert judge("does not depend on the conditioning", traces).verdict == verdict


@pytest.mark.parametrize(("power", "verdict"), [(1.8, "holds"), (1.2, "does not hold as printed")])
def test_growth_of_polyak(power, verdict):
    traces = [geometric(round(60 * k**power), method="Polyak", value=k) for k in (1, 2, 5, 10)]
    traces.append(trace(method="Polyak", value=100, best=np.ones(5000)))
    claim = judge("Polyak slows down", traces)
    assert claim.verdict == verdict
    assert "never" in claim.measured
    assert f"κ^{power:.1f}" in claim.measured


@pytest.mark.parametrize(("scaled", "verdict"), [(60, "holds"), (40, "holds with a condition")])
def test_comparison_with_scaledsm(scaled, verdict):
    traces = [geometric(50, panel="scaledsm"), geometric(scaled, method="ScaledSM", panel="scaledsm")]
    assert judge("compares with ScaledSM", traces).verdict == verdict


def restarted(rpolyak_end):
    ends = {"RGNP": 1e-9, "RPolyak": rpolyak_end}
    return [
        trace(method=m, value=p, best=(1.0, 1e-9 if p == 0 else end), panel="restarts", inner=inner, outer="10")
        for (m, end), inner in zip(ends.items(), ("200", "1000"), strict=True)
        for p in (0.0, 0.1)
    ]


@pytest.mark.parametrize(("end", "verdict"), [(1e-9, "holds"), (1e-2, "does not hold as printed")])
def test_both_restarted_methods(end, verdict):
    assert judge("both reach", restarted(end)).verdict == verdict


def panels(ours, theirs, panel, figure, values=(2, 3), **options):
    """Traces of GNP and Polyak that take so many calls at each value."""
    return [
        geometric(calls, method=method, value=value, panel=panel, figure=figure, **options)
        for method, counts in (("GNP", ours), ("Polyak", theirs))
        for value, calls in zip(values, counts, strict=True)
    ]


OUTCOMES = {"holds": (60, 60), "holds with a condition": (60, 40), "does not hold as printed": (40, 40)}


@pytest.mark.parametrize(("verdict", "theirs"), OUTCOMES.items())
def test_claims_about_cases_can_hold_hold_in_part_and_fail(verdict, theirs):
    rank = judge("at every rank", panels((50, 50), theirs, "rank", "rank"))
    assert rank.verdict == verdict
    both = panels((50, 50), theirs, "top", "order") + panels((50, 50), theirs, "bottom", "order")
    assert judge("at every order", both).verdict == verdict
    assert judge("in time too", panels((50, 50), theirs, "conditioning", "conditioning")).verdict == verdict
    if verdict == "holds with a condition":
        assert "calls at r = 3" in rank.reason
        assert "r = 2" not in rank.reason.split(". ")[0]


@pytest.mark.parametrize(("verdict", "ill"), [("holds", (900, 900)), ("does not hold as printed", (60, 60))])
def test_the_advantage_grows_with_the_conditioning(verdict, ill):
    traces = panels((50, 50), (100, 100), "top", "order") + panels((50, 50), ill, "bottom", "order")
    assert judge("larger when κ > 1", traces).verdict == verdict


@pytest.mark.parametrize(
    ("calls", "verdict"),
    [(900, "holds"), (1100, "holds with a condition")],
)
def test_inner_loops(calls, verdict):
    counts = {"GNP": 100, "Polyak": calls}
    findings = [Finding("calls to 1e-8 with h* known", At(m, p_fail=p), c) for m, c in counts.items() for p in (0, 0.1)]
    claim = judge("inner loops", restarted(1e-2), findings)
    assert claim.verdict == verdict
    assert "T = 1,000" in claim.measured


@pytest.mark.parametrize(
    ("other", "verdict"), [(23, "holds"), (30, "holds with a condition"), (90, "does not hold as printed")]
)
def test_invariance(other, verdict):
    quantity = "calls to 1e-8 under a rescaling of the variable"
    found = [Finding(quantity, At("GNP", variable="X"), 22), Finding(quantity, At("GNP", variable="U"), other)]
    assert judge("invariant", [], found).verdict == verdict


@pytest.mark.parametrize(("seen", "verdict"), [(0.6, "holds"), (0.99, "does not hold as printed")])
def test_theorem_one(seen, verdict):
    numbers = {
        "observed contraction per call": seen,
        "bound on the contraction per call": 0.97,
        "calls to 1e-8": 50,
        "T of Theorem 1 for 1e-8": 800,
    }
    found = [Finding(quantity, At(kappa=1.0), value) for quantity, value in numbers.items()]
    assert judge("leaves at most", [], found).verdict == verdict


@pytest.mark.parametrize(("rank", "verdict"), [(12.0, "does not hold as printed"), (6.0, "holds")])
def test_the_rank_lemma(rank, verdict):
    finding = Finding("rank of the Jacobian, n = 2", At(d=5, r=3), rank)
    assert judge("rank r(r+1)/2", [], [finding]).verdict == verdict
