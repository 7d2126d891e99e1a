"""The table of fits: who comes near to the one that knows the good points."""

import numpy as np
import pytest

from gnpolyak.bench import curves, measure
from gnpolyak.bench.specs import SUITES, Fits

OURS = ("gnpolyak", "gnpolyak, plain NumPy", "gnpolyak, no p0")


def test_a_row_for_every_contestant():
    rows = {row.contestant: row for row in measure.run(Fits("Michaelis–Menten", seeds=3))}
    assert set(rows) == set(curves.contestants(curves.CURVES["Michaelis–Menten"]))
    assert all(rows[name].median < 1.1 for name in OURS)
    assert rows["SciPy curve_fit"].median > 10
    assert rows["SciPy curve_fit"].note == "3 of 3 beyond 10"
    assert {spec.curve for spec in SUITES["fit"]} == set(curves.CURVES)


@pytest.mark.parametrize("name", curves.CURVES)
def test_curves_are_compared_with_those_of_equal_values(name):
    curve = curves.CURVES[name]
    x, y, good = curve.made(0)
    np.testing.assert_allclose(curve.standard(*curve.truth), curve.truth)
    other = np.array(curve.truth) * np.where(np.arange(len(curve.truth)) % 2, 1.0, -1.0)
    standard = curve.standard(*other)
    np.testing.assert_allclose(curve.f(np)(x, *standard), curve.f(np)(x, *other), rtol=1e-12)
    known, errors = curves.knowing(curve, x[good], y[good])
    assert len(good) == 70
    assert np.max(np.abs(known - curve.truth) / errors) < 4


@pytest.mark.slow
@pytest.mark.parametrize("name", curves.CURVES)
def test_a_hundred_seeds(name):
    rows = {row.contestant: row for row in measure.run(Fits(name, seeds=100))}
    assert all(rows[each].median <= 1.1 for each in OURS)
    assert not any("beyond" in rows[each].note for each in OURS[:2])
    others = [row for each, row in rows.items() if each not in OURS]
    assert all(rows["gnpolyak"].median < row.median for row in others)
