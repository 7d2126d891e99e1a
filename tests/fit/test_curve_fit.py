"""`curve_fit` against SciPy's on the good points, and against itself in another language."""

import inspect
import warnings

import numpy as np
import pytest
from scipy import optimize

import gnpolyak as gnp
from fit.cases import TRUTH, X, data, in_jax, in_numpy, in_python


def knowing(y, good, **options):
    p, covariance = optimize.curve_fit(in_numpy, X[good], y[good], TRUTH, **options)
    return p, np.sqrt(np.diag(covariance))


@pytest.mark.parametrize("seed", range(3))
def test_it_is_as_good_as_least_squares_on_the_good_points(seed):
    y, good = data(seed)
    known, errors = knowing(y, good)
    popt, pcov = gnp.curve_fit(in_numpy, X, y)
    assert popt.dtype == pcov.dtype == np.float64
    assert np.max(np.abs(popt - known) / errors) < 1.1
    # Errors by medians and Tukey's weights: those of the good points, but for what Tukey’s weights cost.
    assert np.all(np.abs(np.log(np.sqrt(np.diag(pcov)) / errors)) < np.log(1.35))


def test_a_model_in_jax_in_numpy_and_point_by_point_in_python_is_fitted_alike():
    y, _ = data()
    fits = [gnp.curve_fit(f, X, y, np.ones(3), full_output=True) for f in (in_jax, in_numpy, in_python)]
    for fit in fits:
        assert fit.success
        np.testing.assert_allclose(fit.popt, fits[0].popt, rtol=1e-8)
        np.testing.assert_allclose(fit.pcov, fits[0].pcov, rtol=1e-5)
    assert [fit.differences for fit in fits] == [False, True, True]
    assert "differences" in fits[1].message
    assert "differences" not in fits[0].message


def test_exact_data_are_fitted_exactly_and_the_outliers_named():
    y, good = data(noise=0.0)
    fit = gnp.curve_fit(in_numpy, X, y, full_output=True)
    assert fit.success
    np.testing.assert_allclose(fit.popt, TRUTH, rtol=1e-12)
    assert np.all(np.abs(fit.pcov) < 1e-20)
    assert np.setdiff1d(np.arange(60), good).tolist() == fit.outliers.tolist()


def test_lists_integers_and_single_precision_are_data_too():
    y, _ = data()
    popt, _ = gnp.curve_fit(in_numpy, X, y)
    for x, values in ((X.tolist(), y.tolist()), (X.astype(np.float32), y.astype(np.float32))):
        np.testing.assert_allclose(gnp.curve_fit(in_numpy, x, values)[0], popt, rtol=1e-4)
    whole = np.arange(60)
    line = gnp.curve_fit(lambda x, a, b, c: a * x + b + c * x**2, whole, 3 * whole + 7)[0]
    np.testing.assert_allclose(line, [3.0, 7.0, 0.0], atol=1e-9)


def test_sigma_weighs_and_absolute_sigma_is_believed():
    rng = np.random.default_rng(1)
    sigma = np.where(np.arange(60) % 2, 0.01, 0.1)
    y = in_numpy(X, *TRUTH) + sigma * rng.standard_normal(60)
    y[::7] += 3.0
    good = np.setdiff1d(np.arange(60), np.arange(0, 60, 7))
    for absolute in (False, True):
        known, errors = knowing(y, good, sigma=sigma[good], absolute_sigma=absolute)
        popt, pcov = gnp.curve_fit(in_numpy, X, y, sigma=sigma, absolute_sigma=absolute)
        assert np.max(np.abs(popt - known) / errors) < 1.1
        # Told the noise, nothing but the weights is left to estimate.
        assert np.allclose(np.sqrt(np.diag(pcov)), errors, rtol=0.03 if absolute else 0.5)
    diagonal = gnp.curve_fit(in_numpy, X, y, sigma=np.diag(sigma**2))[0]
    np.testing.assert_allclose(diagonal, gnp.curve_fit(in_numpy, X, y, sigma=sigma)[0], rtol=1e-9)
    halved = gnp.curve_fit(in_numpy, X, y, sigma=0.5 * sigma)
    np.testing.assert_allclose(halved[0], popt, rtol=1e-6)
    np.testing.assert_allclose(halved[1], gnp.curve_fit(in_numpy, X, y, sigma=sigma)[1], rtol=1e-4)


def test_nan_is_refused_or_left_out():
    y, _ = data()
    holes = y.copy()
    holes[[3, 30]] = np.nan
    with pytest.raises(gnp.InputError, match="2 of 60"):
        gnp.curve_fit(in_numpy, X, holes)
    fit = gnp.curve_fit(in_numpy, X, holes, np.ones(3), nan_policy="omit", full_output=True)
    kept = np.delete(np.arange(60), [3, 30])
    plain = gnp.curve_fit(in_numpy, X[kept], y[kept], np.ones(3), full_output=True)
    np.testing.assert_array_equal(fit.popt, plain.popt)
    assert fit.outliers.tolist() == kept[plain.outliers].tolist()


def test_a_jacobian_that_is_given_is_used():
    called = []

    def jac(x, a, b, c):
        called.append(1)
        return np.stack([np.exp(-b * x), -a * x * np.exp(-b * x), np.ones_like(x)], axis=1)

    y, _ = data()
    fit = gnp.curve_fit(in_numpy, X, y, np.ones(3), jac=jac, full_output=True)
    assert called
    assert not fit.differences
    np.testing.assert_allclose(fit.popt, gnp.curve_fit(in_numpy, X, y, np.ones(3))[0], rtol=1e-8)


@pytest.mark.parametrize("p0", [None, [1.0, 9.0, 1.0]])
def test_where_a_start_leads_nowhere_others_are_tried(p0):
    """A frequency can be found only from nearby: from the start as it is, least squares on good data fails too."""
    rng = np.random.default_rng(4)
    x = np.linspace(0.0, 10.0, 60)

    def wave(x, a, w, c):
        return a * np.sin(w * x) + c

    truth = np.array([2.0, 3.3, 1.0])
    y = wave(x, *truth) + 0.02 * rng.standard_normal(60)
    y[::5] += 4.0
    start = np.ones(3) if p0 is None else np.array(p0)
    alone = gnp.minimize(gnp.composite(gnp.NumpyMap(lambda p: wave(x, *p)), gnp.L1(y)), start, polish=True)
    assert abs(abs(alone.x[1]) - 3.3) > 0.1
    fit = gnp.curve_fit(wave, x, y, p0, full_output=True)
    assert fit.starts > 1
    found = fit.popt * np.sign(fit.popt[1]) * np.array([1, 1, np.sign(fit.popt[1])])
    np.testing.assert_allclose(found, truth, atol=0.02)
    again = gnp.curve_fit(wave, x, y, p0)[0]
    np.testing.assert_array_equal(again, fit.popt)


def test_bounds_hold_and_the_model_is_never_called_outside():
    y, _ = data()
    lower, upper = np.array([0.0, 0.0, 0.6]), np.array([10.0, 2.0, 5.0])

    def watched(x, *p):
        assert np.all((np.array(p) >= lower) & (np.array(p) <= upper))
        return in_numpy(x, *p)

    watched.__signature__ = inspect.signature(in_numpy)
    popt, _ = gnp.curve_fit(watched, X, y, bounds=(lower, upper))
    assert popt[2] == pytest.approx(0.6, abs=1e-6)
    inside = gnp.curve_fit(in_numpy, X, y, bounds=([0.0, 0.0, 0.0], [10.0, 2.0, 5.0]))[0]
    np.testing.assert_allclose(inside, gnp.curve_fit(in_numpy, X, y)[0], rtol=1e-3)


def test_what_the_data_do_not_tell_is_infinite_and_said():
    y, _ = data()
    with pytest.warns(gnp.FitWarning, match="covariance"):
        _, pcov = gnp.curve_fit(lambda x, a, b, c: (a + b) * np.exp(-c * x), X, y - 0.5)
    assert np.all(np.isinf(pcov))
    with pytest.warns(gnp.FitWarning, match="covariance"):
        popt, pcov = gnp.curve_fit(in_numpy, X[:3], in_numpy(X[:3], *TRUTH), [2.0, 1.0, 0.7])
    np.testing.assert_allclose(popt, TRUTH, rtol=1e-6)
    assert np.all(np.isinf(pcov))


def test_noise_alone_is_no_success_to_be_proud_of_but_constant_data_are():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gnp.FitWarning)
        fit = gnp.curve_fit(lambda x, a, b, c: a * x**2 + b * x + c, X, np.full(60, 3.0), full_output=True)
    assert fit.success
    np.testing.assert_allclose(fit.popt, [0.0, 0.0, 3.0], atol=1e-9)


def test_several_predictors():
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, (2, 60))
    y = 3 * x[0] - 2 * x[1] + 0.5
    y[::6] += 10
    popt, _ = gnp.curve_fit(lambda x, a, b, c: a * x[0] + b * x[1] + c, x, y)
    np.testing.assert_allclose(popt, [3.0, -2.0, 0.5], rtol=1e-9)
