"""Bilinear sensing and blind deconvolution: recovered near the truth and from the data alone, over seeds."""

import numpy as np
import pytest

import gnpolyak as gnp

SEEDS = range(5)


def recovered(case, **how):
    res = gnp.minimize(case.problem, **how)
    error = case.recovery_error(res.x)
    # A success that is none must not occur, whatever else does.
    assert error <= 1e-6 or not res.success
    return res.success and error <= 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("p_fail", [0.1, 0.2])
@pytest.mark.parametrize("kappa", [1.0, 10.0, 100.0])
def test_bilinear_sensing(kappa, p_fail):
    cases = [gnp.instances.bilinear_sensing(kappa=kappa, p_fail=p_fail, seed=seed) for seed in SEEDS]
    assert all(recovered(case, x0=case.x0) for case in cases)
    assert all(recovered(case, rank=5) for case in cases)


@pytest.mark.slow
@pytest.mark.parametrize("p_fail", [0.1, 0.2])
def test_blind_deconvolution(p_fail):
    cases = [gnp.instances.blind_deconvolution(p_fail=p_fail, seed=seed) for seed in SEEDS]
    assert all(recovered(case, x0=case.x0) for case in cases)
    assert all(recovered(case, rank=1) for case in cases)


@pytest.mark.slow
def test_the_rank_is_found():
    for seed in SEEDS:
        case = gnp.instances.bilinear_sensing(kappa=100.0, p_fail=0.2, seed=seed)
        res = gnp.minimize(case.problem, rank="auto")
        assert res.success
        assert res.x[0].shape == (60, 5)
        assert case.recovery_error(res.x) <= 1e-10


def test_a_small_one_from_the_data_alone():
    case = gnp.instances.bilinear_sensing(d1=12, d2=9, r=2, kappa=10.0)
    res = gnp.minimize(case.problem, rank=2)
    assert res.success
    assert case.recovery_error(res.x) <= 1e-10
    assert np.array_equal(res.outliers, np.flatnonzero(_residuals(case) > 1e-9))


def _residuals(case):
    p, q, b = (np.asarray(each) for each in (case.problem.sensing.p, case.problem.sensing.q, case.problem.penalty.b))
    return np.abs(np.sum((p @ case.truth[0]) * (q @ case.truth[1]), axis=1) - b)
