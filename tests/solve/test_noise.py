"""Noise and outliers together: an end of its own, an efficient estimate, and standard errors that cover."""

import numpy as np
import pytest

import gnpolyak as gnp
from zoo import TRUTH, curve


@pytest.mark.parametrize("noise", [1e-3, 1e-2])
def test_the_efficient_estimate_is_nearly_that_of_who_knows_the_good_data(noise):
    case = gnp.instances.tensor_sensing(d=50, r=3, kappa=10.0, p_fail=0.1)
    p, q, b = (np.asarray(a) for a in (case.problem.sensing.p, case.problem.sensing.q, case.problem.penalty.b))
    good = np.abs(((p @ case.truth) ** 2).sum(1) - ((q @ case.truth) ** 2).sum(1) - b) < 1e-9
    sigma = noise * np.median(np.abs(b))
    noisy = b + sigma * np.random.default_rng(5).standard_normal(b.size)
    problem = gnp.Composite(case.problem.map, gnp.L1(noisy), case.problem.sensing)
    res = gnp.minimize(problem, case.x0, polish=True)
    assert res.status is gnp.Status.NOISE
    assert not res.success
    assert res.efficient
    assert res.calls < 200
    assert res.noise == pytest.approx(sigma, rel=0.15)
    assert case.recovery_error(res.x) < 1.1 * case.recovery_error(_least_squares(p, q, noisy, good, case.truth))
    assert np.isin(res.outliers, np.flatnonzero(~good)).all()


def _least_squares(p, q, b, good, start):
    x = start
    for _ in range(10):
        px, qx = p @ x, q @ x
        jacobian = 2 * (p[:, :, None] * px[:, None] - q[:, :, None] * qx[:, None]).reshape(len(b), -1)
        r = b - (px**2).sum(1) + (qx**2).sum(1)
        x = x + np.linalg.lstsq(jacobian[good], r[good], rcond=1e-10)[0].reshape(x.shape)
    return x


def test_standard_errors_cover():
    inside = []
    for seed in range(40):
        problem, _ = curve(share=0.15, noise=0.05, seed=seed)
        res = gnp.minimize(problem, 1.1 * TRUTH, polish=True)
        inside.append(np.abs(res.x - TRUTH) <= 1.96 * res.standard_errors())
    assert 0.88 <= np.mean(inside) <= 0.99


def test_covariance_along_directions_is_that_of_the_whole():
    problem, _ = curve(share=0.15, noise=0.05)
    res = gnp.minimize(problem, 1.1 * TRUTH, polish=True)
    whole = res.covariance()
    directions = np.eye(4)[:2]
    assert np.allclose(res.covariance(along=directions), whole[:2, :2], rtol=1e-4)
    assert np.allclose(res.standard_errors() ** 2, np.diag(whole))


def test_exact_data_have_no_standard_errors():
    problem, bad = curve()
    res = gnp.minimize(problem, 1.1 * TRUTH)
    assert res.success
    assert np.array_equal(res.outliers, np.flatnonzero(bad))
    with pytest.raises(gnp.InputError, match="standard errors"):
        res.standard_errors()


def test_without_polish_the_value_itself_is_minimised_and_certified():
    problem, _ = curve(share=0.15, noise=0.05)
    plain = gnp.minimize(problem, 1.1 * TRUTH)
    polished = gnp.minimize(problem, 1.1 * TRUTH, polish=True)
    assert plain.status is gnp.Status.CERTIFIED
    assert plain.value < polished.value
    assert plain.noise == pytest.approx(0.05, rel=0.2)
