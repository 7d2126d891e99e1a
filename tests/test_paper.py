"""What the paper promises, at the sizes at which this library promises it too."""

import numpy as np
import pytest

import gnpolyak as gnp


def calls(method, *, seed, **settings):
    case = gnp.instances.tensor_sensing(seed=seed, **settings)
    res = gnp.minimize(case.problem, case.x0, method, target=case.target, tol=1e-10, max_calls=6000)
    assert res.success
    return res.calls


def test_gnp_does_not_feel_the_conditioning():
    counts = {kappa: [calls("gnp", kappa=kappa, seed=seed) for seed in range(5)] for kappa in (1.0, 10.0, 100.0)}
    assert max(max(row) for row in counts.values()) <= 60
    assert abs(np.mean(counts[100.0]) / np.mean(counts[1.0]) - 1) <= 0.15


def test_scaledsm_does_not_either():
    assert max(calls("scaledsm", kappa=kappa, seed=seed) for kappa in (1.0, 100.0) for seed in range(5)) <= 75


def test_polyak_does():
    assert calls("polyak", kappa=10.0, seed=0) >= 20 * calls("gnp", kappa=10.0, seed=0)


@pytest.mark.parametrize("n", [3, 4, pytest.param(5, marks=pytest.mark.slow), pytest.param(6, marks=pytest.mark.slow)])
def test_tensors_of_every_order(n):
    assert max(calls("gnp", n=n, kappa=3.0, seed=seed) for seed in range(4)) <= 130


def test_restarts_find_the_unknown_optimum():
    case = gnp.instances.tensor_sensing(kappa=5.0, p_fail=0.1)
    res = gnp.minimize(case.problem, case.x0, lower_bound=0.0, strategy="restart", inner=200, outer=50)
    assert res.success
    assert abs(res.value - case.target) < 1e-8


def test_gnp_with_the_papers_own_inner_solver():
    case = gnp.instances.tensor_sensing(d=40, r=3, n=3, kappa=3.0)
    closed = gnp.minimize(case.problem, case.x0, gnp.GNP(solver="closed"), target=0.0)
    cg = gnp.minimize(case.problem, case.x0, gnp.GNP(solver="cg"), target=0.0)
    assert closed.success
    assert abs(closed.calls - cg.calls) <= 1
    assert np.allclose(closed.history.value[:20], cg.history.value[:20], rtol=1e-6)
