"""Parameters by name, and what a fit says and shows of itself."""

import pickle
import sys

import numpy as np
import pytest

import gnpolyak as gnp
from fit.cases import TRUTH, X, data, in_numpy


def named(x, height, rate, level):
    return in_numpy(x, height, rate, level)


def test_names_and_fixed_parameters():
    y, _ = data()
    start = {"height": 1.0, "rate": gnp.Parameter(0.5), "level": gnp.Parameter(0.5, fixed=True)}
    res = gnp.fit(named, start, X, y)
    assert res.success
    assert res.params["level"] == 0.5
    assert res.errors["level"] == 0.0
    assert res.names == ("height", "rate")
    assert res.covariance().shape == (2, 2)
    held = gnp.curve_fit(lambda x, a, b: in_numpy(x, a, b, 0.5), X, y, [1.0, 0.5], full_output=True)
    np.testing.assert_allclose([res.params["height"], res.params["rate"]], held.popt, rtol=1e-3)
    np.testing.assert_allclose(list(res.errors.values())[:2], held.standard_errors(), rtol=1e-2)


def test_a_parameter_ends_at_its_bound():
    y, _ = data()
    res = gnp.fit(named, {"height": 1.0, "rate": gnp.Parameter(0.5, min=0.0, max=1.0), "level": 0.0}, X, y)
    assert res.success
    assert res.params["rate"] == 1.0
    held = gnp.curve_fit(lambda x, a, c: in_numpy(x, a, 1.0, c), X, y, [1.0, 0.0], full_output=True)
    # The model does not fit well there, and the noise is judged for one parameter less.
    assert np.all(np.abs(res.popt[[0, 2]] - held.popt) < 0.3 * held.standard_errors())
    np.testing.assert_allclose(list(res.errors.values()), [held.errors["a"], 0.0, held.errors["c"]], rtol=0.05)


def test_an_array_is_one_parameter():
    y, _ = data()
    res = gnp.fit(lambda x, rate, both: both[0] * np.exp(-rate * x) + both[1], {"rate": 1.0, "both": [1.0, 1.0]}, X, y)
    plain = gnp.curve_fit(in_numpy, X, y, np.ones(3))[0]
    assert isinstance(res.params["rate"], float)
    np.testing.assert_allclose(res.params["both"], plain[[0, 2]], rtol=1e-6)
    assert res.names == ("rate", "both[0]", "both[1]")
    assert res.errors["both"].shape == (2,)
    np.testing.assert_allclose(
        res.covariance([[0.0, 1.0, 1.0]]), [[res.pcov[1:, 1:].sum()]], err_msg="of the value at x = 0"
    )


def test_the_table_has_each_parameter_with_its_error():
    y, _ = data()
    res = gnp.fit(named, {"height": 1.0, "rate": 1.0, "level": gnp.Parameter(0.5, fixed=True)}, X, y)
    rows = str(res).splitlines()
    assert rows[0].startswith("height")
    assert "±" in rows[0]
    assert rows[2].split() == ["level", "0.5", "(fixed)"]
    assert "18 outliers" in str(res)
    assert "differences" in repr(res)


def test_the_picture_shows_data_fit_outliers_and_residuals():
    matplotlib = pytest.importorskip("matplotlib", reason="pictures are an extra")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    y, good = data()
    res = gnp.curve_fit(in_numpy, X, y, np.ones(3), full_output=True)
    above, below = res.plot()
    points, outliers, curve = above.lines
    assert points.get_xdata().tolist() == X[good].tolist()
    assert sorted(outliers.get_ydata()) == sorted(np.delete(y, good))
    np.testing.assert_allclose(curve.get_ydata(), in_numpy(curve.get_xdata(), *res.popt))
    assert below.get_ylim()[1] < 0.2, "at the scale of the good ones"
    plane = gnp.curve_fit(
        lambda x, a, b, c: a * x[0] + b * x[1] + c, np.stack([X, X**2]), y, np.ones(3), full_output=True
    )
    assert plane.plot()[1].get_xlabel() == "fitted value"
    pyplot.close("all")


def test_a_fit_can_be_sent_elsewhere():
    y, _ = data()
    res = gnp.curve_fit(lambda x, a, b, c: in_numpy(x, a, b, c) + 0.0, X, y, np.ones(3), full_output=True)
    there = pickle.loads(pickle.dumps(res))
    assert str(there) == str(res)
    np.testing.assert_array_equal(there.residuals, res.residuals)


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    y, _ = data()
    res = gnp.curve_fit(in_numpy, X, y, np.ones(3), full_output=True)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(gnp.InputError, match="pip install matplotlib"):
        res.plot()


def test_the_truth_is_within_the_errors_as_often_as_they_say():
    """Twenty fits of three parameters: two errors hold 95% of the time, and one 68%."""
    off = []
    for seed in range(20):
        y, _ = data(seed)
        popt, pcov = gnp.curve_fit(in_numpy, X, y, np.ones(3))
        off.append(np.abs(popt - TRUTH) / np.sqrt(np.diag(pcov)))
    assert 0.45 < np.mean(np.array(off) < 1) < 0.85
    assert np.mean(np.array(off) < 2) > 0.85
