"""The rank that grows by itself."""

import numpy as np
import pytest

import gnpolyak as gnp


def test_factors_too_small_to_be_seen_at_first_are_found():
    case = gnp.instances.tensor_sensing(d=40, r=3, kappa=100.0, p_fail=0.2)
    assert gnp.starts.estimate_rank(case.problem) < 3
    res = gnp.minimize(case.problem)
    assert res.success
    assert res.x.shape == (40, 3)
    assert case.recovery_error(res.x) < 1e-11
    assert res.calls == len(res.history.value)


@pytest.mark.slow
def test_noise_is_not_taken_for_a_factor():
    case = gnp.instances.tensor_sensing(d=40, r=2, kappa=3.0, p_fail=0.1)
    b = np.asarray(case.problem.penalty.b)
    noisy = b + 0.01 * np.median(np.abs(b)) * np.random.default_rng(0).standard_normal(b.size)
    res = gnp.minimize(gnp.Composite(case.problem.map, gnp.L1(noisy), case.problem.sensing))
    assert res.status is gnp.Status.NOISE
    assert res.x.shape == (40, 2)


def test_a_rank_that_is_given_is_kept():
    case = gnp.instances.tensor_sensing(d=40, r=3, kappa=10.0)
    res = gnp.minimize(case.problem, rank=2)
    assert res.x.shape == (40, 2)
    assert not res.success


def test_a_factor_more_is_made_of_what_is_left():
    case = gnp.instances.tensor_sensing(d=30, r=3, kappa=5.0, p_fail=0.2)
    truth = np.asarray(case.truth)
    u, s, _ = np.linalg.svd(truth)
    largest = u[:, :2] * s[:2]
    found = gnp.starts.larger(case.problem, largest)
    assert found.shape == (30, 3)
    assert np.array_equal(found[:, :2], largest)
    alignment = abs(found[:, 2] @ u[:, 2]) / np.linalg.norm(found[:, 2])
    assert alignment > 0.9
    assert np.linalg.norm(found[:, 2]) == pytest.approx(s[2], rel=0.3)
