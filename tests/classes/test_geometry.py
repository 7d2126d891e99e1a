"""Synchronisation, bundle adjustment and regression over five seeds: what the library promises of every class."""

import pytest

import gnpolyak as gnp

pytestmark = pytest.mark.slow


def solved(case, x0, name):
    res = gnp.minimize(case.problem, x0)
    error = case.recovery_error(res.x)
    print(f"{name} {case.settings}: {res.status.name}, {res.calls} calls, {res.seconds:.2f} s, error {error:.0e}")
    return res.success and error < 1e-10


@pytest.mark.parametrize("p_fail", [0.1, 0.2, 0.3])
def test_rotations(p_fail):
    cases = [gnp.instances.synchronisation(p_fail=p_fail, seed=seed) for seed in range(5)]
    assert all(solved(case, case.x0, "near") for case in cases)
    assert sum(solved(case, None, "data") for case in cases) >= 4


@pytest.mark.parametrize("p_fail", [0.1, 0.2])
def test_cameras_and_points(p_fail):
    cases = [gnp.instances.bundle_adjustment(p_fail=p_fail, seed=seed) for seed in range(5)]
    assert all(solved(case, case.x0, "near") for case in cases)


@pytest.mark.parametrize("kappa", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("p_fail", [0.1, 0.2])
def test_linear_models(kappa, p_fail):
    cases = [gnp.instances.regression(p_fail=p_fail, kappa=kappa, seed=seed) for seed in range(5)]
    assert all(solved(case, case.x0, "near") for case in cases)
    assert all(solved(case, None, "data") for case in cases)
