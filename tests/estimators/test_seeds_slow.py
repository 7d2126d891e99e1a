"""What the page about scikit-learn says of the estimators, over many seeds."""

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.linear_model import HuberRegressor, LinearRegression

from gnpolyak.estimators import RobustCompletion, RobustPCA, RobustRegressor

pytestmark = pytest.mark.slow


def make(seed, kind, noise=0.0):
    rng = np.random.default_rng(seed)
    clean = 5 + rng.standard_normal(40) + rng.standard_normal((60, 2)) * [3, 1] @ rng.standard_normal((2, 40))
    mask = rng.random(clean.shape) < 0.1
    garbage = {
        "constant": 50.0,
        "added": clean + rng.uniform(-30, 30, clean.shape),
        "small": clean + rng.choice([-1, 1], clean.shape),
        "huge": 1e6,
    }
    return clean, np.where(mask, garbage[kind], clean) + noise * rng.standard_normal(clean.shape), mask


@pytest.mark.parametrize("kind", ["constant", "added", "small", "huge"])
def test_the_components_are_found_whatever_the_garbage(kind):
    for seed in range(10):
        clean, table, mask = make(seed, kind)
        pca = RobustPCA().fit(table)
        assert pca.success_
        assert pca.n_components_ == 2
        assert np.array_equal(pca.outliers_, mask)
        assert np.allclose(pca.low_rank_, clean, atol=1e-10)


@pytest.mark.parametrize("kind", ["constant", "added", "small", "huge"])
def test_in_noise_there_are_as_many_components(kind):
    for seed in range(10):
        clean, table, mask = make(seed, kind, noise=0.05)
        pca = RobustPCA().fit(table)
        assert (pca.status_, pca.n_components_) == ("NOISE", 2)
        # (n + p) r of np unknowns to one: the share of the noise that a fit of rank three cannot tell.
        assert np.sqrt(np.mean((pca.low_rank_ - clean) ** 2)) < 0.05 * np.sqrt(3 * 100 / 2400) * 1.1
        assert np.mean(pca.outliers_ != mask) < 0.002


def test_holes_are_filled_exactly():
    for seed in range(10):
        clean, table, _ = make(seed, "constant")
        holes = np.random.default_rng(seed + 99).random(clean.shape) < 0.3
        completion = RobustCompletion(keep_observed=False)
        assert np.allclose(completion.fit_transform(np.where(holes, np.nan, table)), clean, atol=1e-10)
        assert completion.success_


def test_efficient_is_as_good_as_least_squares_that_know_the_good_data():
    truth, errors = np.array([1, -2, 0.5, 4]), []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        x, wrong = rng.standard_normal((120, 3)), rng.random(120) < 0.2
        y = x @ truth[:3] + 4 + 0.3 * rng.standard_normal(120) + np.where(wrong, rng.uniform(5, 30, 120), 0)
        ours, huber = RobustRegressor().fit(x, y), HuberRegressor().fit(x, y)
        knowing = LinearRegression().fit(x[~wrong], y[~wrong])
        found = [np.append(model.coef_, model.intercept_) - truth for model in (ours, knowing, huber)]
        errors.append([*found, found[0] / ours.stderr_])
    ours, knowing, huber, scores = np.sqrt(np.mean(np.square(errors), axis=(0, 2)))
    assert ours < 1.1 * knowing
    assert ours < 0.6 * huber
    assert 0.85 < scores < 1.2  # in units of the standard errors that were stated
