"""What is specified is what the paper, or its authors' code, says."""

import itertools

import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.paper import catalogue, rows
from paper.made import curves


def test_the_specs_are_the_papers():
    """Typed from the paper's Section 5, not from the specs."""
    kappas = [1, 2, 5, 10, 50, 100]
    expected = {
        "conditioning": ({"GNP", "Polyak"}, kappas, {"d": 1000, "r": 5, "n": 2, "m": 40_000}),
        "scaledsm": ({"GNP", "ScaledSM"}, kappas, {"d": 1000, "r": 5, "n": 2, "m": 40_000}),
        "restarts": ({"RGNP", "RPolyak", "Level (ours)"}, [0, 0.1, 0.2, 0.3, 0.4], {"d": 100, "kappa": 5, "m": 4_000}),
        "rank": ({"GNP", "Polyak"}, [2, 5, 10, 20], {"d": 100, "n": 3, "kappa": 3, "p_fail": 0}),
    }
    for name, (methods, values, setting) in expected.items():
        found = curves(name)
        assert {curve.contender.label for curve in found} == methods
        assert sorted({curve.value for curve in found}) == values
        assert found == curves(name, **setting)
    assert [curve.setting.m for curve in curves("rank")[::2]] == [8 * 3 * 100 * r for r in (2, 5, 10, 20)]


def test_the_two_rows_of_the_figure_on_order():
    top, bottom = curves("order", d=1000, kappa=1), curves("order", d=100, kappa=3)
    assert len(top) + len(bottom) == len(curves("order"))
    assert [curve.setting.m for curve in top[::2]] == [8 * n * 1000 * 5 for n in (2, 3, 4, 5, 6)]
    assert {curve.max_seconds for curve in top} == {100.0}
    assert {(curve.max_seconds, curve.max_calls) for curve in bottom} == {(None, 10_000)}


def test_restarts_have_the_papers_loops():
    loops = {curve.contender.label: (curve.contender.inner, curve.contender.outer) for curve in curves("restarts")}
    assert (loops["RGNP"], loops["RPolyak"]) == ((200, 50), (1000, 10))


def test_the_authors_variant():
    ours, theirs = curves("restarts")[0], curves("restarts", variant="authors")[0]
    assert theirs.setting.m == ours.setting.m // 2
    assert (ours.setting.corruption, theirs.setting.corruption) == (1.0, 0.001)
    case = gnp.instances.tensor_sensing(**vars(theirs.setting), seed=0)
    assert np.linalg.norm(case.x0 - case.truth) == pytest.approx(0.1, rel=1e-9)
    low = gnp.instances.tensor_sensing(**vars(curves("order", "quick", "authors")[0].setting), seed=0)
    assert np.linalg.norm(low.x0 - low.truth) == pytest.approx(0.01, rel=1e-9)
    loops = {c.contender.label: c.contender for c in curves("restarts", variant="authors")}
    assert (loops["RPolyak"].inner, loops["RPolyak"].outer, loops["RPolyak"].fraction) == (1200, 13, 1.0)
    assert loops["RGNP"].fraction == 1.0
    assert {curve.max_calls for curve in curves("conditioning", variant="authors")} == {1000}


def test_no_two_curves_have_the_same_identity():
    for scale, variant in itertools.product(catalogue.SCALES, catalogue.VARIANTS):
        keys = [rows.identity(curve) for figure in catalogue.figures(scale, variant) for curve in figure.curves()]
        assert len(set(keys)) == len(keys)
