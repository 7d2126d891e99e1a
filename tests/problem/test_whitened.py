"""Rows that are not isotropic, and the variable in which they are."""

import jax
import numpy as np

import gnpolyak as gnp
from gnpolyak.problem.sensing import Whitened, isotropy


def rows(condition, seed=0, m=1440, d=60):
    """Two matrices of Gaussian rows whose covariance has the square of this condition number."""
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(2))
    return rng.standard_normal((2, m, d)) @ (left * np.geomspace(1, 1 / condition, d) @ right)


def sensed(condition, seed=0, centred=True):
    rng = np.random.default_rng(100 + seed)
    p, q = rows(condition, seed)
    truth = rng.standard_normal((60, 3))
    b = np.sum((p @ truth) ** 2, axis=1) - (np.sum((q @ truth) ** 2, axis=1) if centred else 0.0)
    bad = rng.random(b.size) < 0.1
    b[bad] = 5 * np.abs(b).max() * rng.standard_normal(bad.sum())
    sensing = gnp.PowerSensing(p, q if centred else None)
    return gnp.composite(gnp.SymmetricCP(2), gnp.L1(b), sensing=sensing), truth


def error(x, truth):
    return np.linalg.norm(x @ x.T - truth @ truth.T) / np.linalg.norm(truth @ truth.T)


def test_the_condition_of_the_rows_does_not_matter():
    problem, truth = sensed(100.0)
    rng = np.random.default_rng(1)
    near = truth + 0.1 * np.linalg.norm(truth) * (noise := rng.standard_normal(truth.shape)) / np.linalg.norm(noise)
    for res in (gnp.minimize(problem, near), gnp.minimize(problem, rank=3)):
        assert res.status is gnp.Status.CERTIFIED
        assert error(res.x, truth) < 1e-11
        assert res.calls < 160


def test_isotropic_rows_stay_as_they_are():
    p, q = rows(1.0)
    for sensing in (gnp.PowerSensing(p, q), gnp.PowerSensing(p), gnp.PowerSensing(p[:100], q[:100])):
        assert sensing.whitened() is sensing


def test_one_row_of_another_size_changes_nothing():
    p, q = rows(1.0)
    p[7] *= 1e8
    sensing = gnp.PowerSensing(p, q)
    assert sensing.whitened() is sensing


def test_whitened_rows_are_isotropic_and_measure_the_same():
    p, q = rows(30.0)
    x = np.random.default_rng(0).standard_normal((60, 3))
    with jax.enable_x64(True):
        sensing = gnp.PowerSensing(p, q)
        whitened = sensing.whitened()
        same = sensing.measure(gnp.SymmetricCP(2), x)[0]
        assert np.allclose(whitened.measure(gnp.SymmetricCP(2), whitened.into(x))[0], same, rtol=1e-10, atol=1e-10)
    assert isinstance(whitened, Whitened)
    assert np.linalg.cond(p @ np.asarray(whitened.inverse)) < 2


def test_what_a_user_sees_is_in_the_users_variable():
    problem, truth = sensed(10.0)
    seen = []
    res = gnp.minimize(problem, truth * 1.01, callback=lambda so_far: seen.append(so_far.x))
    assert error(seen[0], truth) < 0.05
    assert error(res.x, truth) < 1e-11
    noisy = gnp.Composite(problem.map, gnp.L1(np.asarray(problem.penalty.b) + 1e-3), problem.sensing)
    told = gnp.minimize(noisy, truth * 1.01, polish=True)
    assert error(told.x, truth) < 1e-2


def test_methods_of_the_literature_are_run_as_they_are():
    problem, truth = sensed(10.0)
    plain, helped = (gnp.minimize(problem, truth * 1.05, method, max_calls=30) for method in ("gnp", "auto"))
    assert np.array_equal(plain.state.best.x, plain.x)
    assert not np.allclose(helped.state.best.x, helped.x)


def test_isotropy_is_told_of_many_as_of_each():
    rng = np.random.default_rng(0)
    scales = [np.ones(8), np.logspace(0, 2, 8), np.ones(8), np.r_[1.0, np.zeros(7)], np.logspace(0, 3, 8)]
    stored = [[rng.standard_normal((80, 8)) * scale for _ in range(2)] for scale in scales]
    told = isotropy.alike(stored)
    assert list(told) == [isotropy.roots(each) is None for each in stored]
    assert list(told) == [True, False, True, False, False]
    assert list(isotropy.alike([each[:1] for each in stored[:1]])) == [True]
