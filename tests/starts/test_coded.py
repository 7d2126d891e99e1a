"""Starts for coded patterns, and a solve from one."""

import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base import arrays


def instance(transform, size=10.0, is_complex=False, **settings):
    """A small image whose ruined fifth is that many medians too bright."""
    case = gnp.instances.phase_retrieval(
        transform=transform, shape=(16, 16), complex=is_complex, p_fail=0.0, **settings
    )
    b, rng = np.array(case.problem.penalty.b), np.random.default_rng(1)
    b += np.where(rng.random(b.shape) < 0.2, size * np.median(b) * np.abs(rng.standard_normal(b.shape)), 0.0)
    return case, gnp.composite(case.problem.map, gnp.L1(b), sensing=case.problem.sensing)


@pytest.mark.parametrize("size", [10.0, 1e9])
@pytest.mark.parametrize(("transform", "is_complex"), [("fourier", False), ("fourier", True), ("hadamard", False)])
def test_the_start_is_near_the_truth_whatever_the_outliers(transform, is_complex, size):
    case, problem = instance(transform, size, is_complex, patterns=20 if is_complex else 12)
    start = gnp.starts.coded(problem)
    assert start.shape == (256, 1)
    assert np.iscomplexobj(start) == is_complex
    assert case.recovery_error(start) < 0.25
    scaled = gnp.composite(problem.map, gnp.L1(1e6 * np.asarray(problem.penalty.b)), sensing=problem.sensing)
    assert np.allclose(gnp.starts.coded(scaled), 1e3 * start, rtol=1e-6)


def test_two_factors_and_single_precision():
    case, _ = instance("fourier")
    c, sensing, rng = case.problem.map, case.problem.sensing, np.random.default_rng(2)
    truth = rng.standard_normal((256, 2)) * [1.0, 0.5]
    with arrays.precise(True):
        b = np.array(sensing.measure(c, jnp.asarray(truth))[0], np.float32)
    b[rng.random(b.shape) < 0.1] *= -30
    start = gnp.starts.coded(gnp.composite(c, gnp.L1(b), sensing=sensing), 2)
    assert start.dtype == np.float32
    image = truth @ truth.T
    assert np.linalg.norm(start @ start.T - image) < 0.4 * np.linalg.norm(image)


def test_the_default_ends_at_the_truth():
    case, problem = instance("hadamard", 1e6)
    res = gnp.minimize(problem)
    assert res.success
    assert case.recovery_error(res.x) < 1e-12
    assert np.array_equal(res.outliers, np.flatnonzero(problem.penalty.b != case.problem.penalty.b))


def test_what_has_no_start_is_named():
    case, problem = instance("fourier")
    zero = gnp.composite(problem.map, gnp.L1(np.zeros(problem.penalty.b.shape)), sensing=problem.sensing)
    for wrong, said in (
        ((zero,), "100% are exactly zero"),
        ((problem, 0), "rank=0"),
        ((problem, 257), "rank=257"),
        ((problem, "two"), "rank='two'"),
        ((gnp.composite(gnp.Linear(np.eye(2)), gnp.L1(np.ones(2))),), "L1 of Identity of Linear"),
        ((None,), "NoneType"),
    ):
        with pytest.raises(gnp.InputError, match=said):
            gnp.starts.coded(*wrong)
    with pytest.raises(gnp.InputError, match="seed"):
        gnp.starts.coded(problem, seed=-1)
    assert case.settings["shape"] == (16, 16)


def test_codes_that_light_some_entries_more_than_others():
    rng = np.random.default_rng(3)
    case = gnp.instances.phase_retrieval(transform="fourier", d=256, p_fail=0.0)
    lit = np.asarray(case.problem.sensing.codes[0], float) + 1j * np.asarray(case.problem.sensing.codes[1], float)
    sensing = gnp.FourierSensing(lit * np.where(np.arange(256) < 16, 8.0, 1.0))
    truth = rng.standard_normal((256, 1)) * np.where(np.arange(256) < 16, 0.1, 1.0)[:, None]
    with arrays.precise(True):
        b = np.array(sensing.measure(gnp.SymmetricCP(2), jnp.asarray(truth))[0])
    b[rng.random(b.shape) < 0.1] *= 100
    start = gnp.starts.coded(gnp.composite(gnp.SymmetricCP(2), gnp.L1(b), sensing=sensing))
    assert abs(np.vdot(start, truth)) > 0.9 * np.linalg.norm(start) * np.linalg.norm(truth)
