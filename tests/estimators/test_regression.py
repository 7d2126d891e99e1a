"""RobustRegressor against a linear program, and against least squares that know the good data."""

import numpy as np
import pytest
from scipy.optimize import linprog

pytest.importorskip("sklearn")

import gnpolyak as gnp
from gnpolyak.estimators import RobustRegressor

TRUTH = np.array([1.0, -2.0, 0.5])


def make(noise=0.0, n=120, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 3))
    y = x @ TRUTH + 4 + noise * rng.standard_normal(n)
    wrong = rng.random(n) < 0.2
    return x, y + np.where(wrong, rng.uniform(5, 30, n), 0.0), wrong


@pytest.mark.parametrize("loss", ["l1", "efficient"])
def test_exact_data_are_fitted_exactly(loss):
    x, y, wrong = make()
    model = RobustRegressor(loss).fit(x, y)
    assert model.success_
    assert np.allclose(model.coef_, TRUTH)
    assert model.intercept_ == pytest.approx(4)
    assert np.array_equal(model.outliers_, wrong)
    assert model.covariance_ is None
    assert np.allclose(model.predict(x)[~wrong], y[~wrong])


def test_l1_is_the_linear_program():
    x, y, _ = make(noise=0.3)
    model = RobustRegressor("l1").fit(x, y)
    a = np.column_stack([x, np.ones(len(x))])
    best = -linprog(-y, A_eq=a.T, b_eq=np.zeros(4), bounds=(-1, 1)).fun
    assert model.success_
    assert np.sum(np.abs(y - model.predict(x))) == pytest.approx(best, rel=1e-8)
    assert model.stderr_ is None


def test_efficient_is_near_least_squares_on_the_good_data():
    x, y, wrong = make(noise=0.3)
    model = RobustRegressor().fit(x, y)
    a = np.column_stack([x, np.ones(len(x))])[~wrong]
    known = np.linalg.lstsq(a, y[~wrong])[0]
    errors = 0.3 * np.sqrt(np.diag(np.linalg.inv(a.T @ a)))
    assert model.status_ == "NOISE"
    assert model.scale_ == pytest.approx(0.3, rel=0.2)
    assert np.allclose([*model.coef_, model.intercept_], known, atol=errors.max())
    assert model.stderr_ == pytest.approx(errors, rel=0.25)
    assert np.allclose(model.stderr_**2, np.diag(model.covariance_))
    assert np.all(model.outliers_[wrong])


def test_without_an_intercept_there_is_none():
    x, y, _ = make()
    model = RobustRegressor(fit_intercept=False).fit(x, y - 4)
    assert np.allclose(model.coef_, TRUTH)
    assert model.intercept_ == 0


def test_data_of_unequal_noise():
    x, y, _ = make()
    sigma = np.where(np.arange(120) < 60, 0.01, 1.0)
    y = x @ TRUTH + sigma * np.random.default_rng(3).standard_normal(120)
    model = RobustRegressor().fit(x, y, sigma=sigma)
    rows = np.column_stack([x, np.ones(120)]) / sigma[:, None]
    assert model.scale_ == pytest.approx(1.0, rel=0.2)
    assert model.stderr_ == pytest.approx(np.sqrt(np.diag(np.linalg.inv(rows.T @ rows))), rel=0.25)
    assert np.allclose(model.coef_, TRUTH, atol=4 * model.stderr_.max())
    with pytest.raises(gnp.InputError, match="sigma"):
        RobustRegressor().fit(x, y, sigma=-sigma)


@pytest.mark.parametrize("settings", [{"loss": "l2"}, {"loss": None}, {"fit_intercept": "yes"}])
def test_settings_that_are_none(settings):
    x, y, _ = make()
    with pytest.raises(gnp.InputError, match=next(iter(settings))):
        RobustRegressor(**settings).fit(x, y)


def test_labels_and_tensors():
    pd = pytest.importorskip("pandas")
    x, y, _ = make()
    model = RobustRegressor().fit(pd.DataFrame(x, columns=list("abc")), pd.Series(y))
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert isinstance(model.predict(pd.DataFrame(x, columns=list("abc"))), np.ndarray)
    torch = pytest.importorskip("torch", reason="tensors are torch's")
    model = RobustRegressor().fit(torch.tensor(x), torch.tensor(y))
    assert torch.is_tensor(model.predict(torch.tensor(x)))
