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


@pytest.mark.parametrize("times", [1.0, 1e8])
def test_a_small_one_from_the_data_alone(times):
    """Outliers of any size: those that are far away are apart from the others before anything is explained."""
    case = gnp.instances.bilinear_sensing(d1=12, d2=9, r=2, kappa=10.0)
    sensing, b = case.problem.sensing, np.asarray(case.problem.penalty.b)
    p, q = np.asarray(sensing.p), np.asarray(sensing.q)
    clean = np.sum((p @ case.truth[0]) * (q @ case.truth[1]), axis=1)
    problem = gnp.composite(gnp.LowRank(), gnp.L1(clean + times * (b - clean)), sensing=sensing)
    res = gnp.minimize(problem, rank=2)
    assert res.success
    assert case.recovery_error(res.x) <= 1e-10
    assert np.array_equal(res.outliers, np.flatnonzero(np.abs(b - clean) > 1e-9))
