"""A success is certified: exact points pass, points nearby do not, and no rule's word is taken for it."""

import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from zoo import curve, low_rank


@pytest.mark.parametrize("off", [0.0, 1e-6, 3e-3])
def test_only_the_exact_point_is_certified(off):
    case = gnp.instances.tensor_sensing(d=20, r=2, p_fail=0.2)
    rng = np.random.default_rng(0)
    found = gnp.diagnostics.certify(case.problem, case.truth + off * rng.standard_normal(case.truth.shape))
    assert found.holds is (off == 0.0)
    assert ("nothing can be gained" in str(found)) is found.holds
    assert found.measurements == case.problem.penalty.b.size


@pytest.mark.slow
def test_a_certificate_counts_its_products():
    problem, start, _ = low_rank()
    res = gnp.minimize(problem, start)
    assert res.certificate.holds
    assert 0 < res.certificate.margin < 1
    assert res.calls == len(res.history)
    assert res.certificate.products > 0
    assert np.all(res.history.value[-res.certificate.products :] == res.history.value[-1])


def test_no_success_without_its_certificate():
    """With 60% of the data random the end may be anywhere; a success is claimed just where the certificate holds."""
    rng = np.random.default_rng(1)
    case = gnp.instances.tensor_sensing(d=12, r=2)
    b = np.array(case.problem.penalty.b)
    bad = rng.random(b.size) < 0.6
    b[bad] = 5 * rng.standard_normal(bad.sum())
    problem = gnp.Composite(case.problem.map, gnp.L1(b), case.problem.sensing)
    res = gnp.minimize(problem, case.x0)
    assert res.success is gnp.diagnostics.certify(problem, res.x).holds
    assert not res.success


@pytest.mark.parametrize("sign", [-1.0, pytest.param(0.3, marks=pytest.mark.slow)])
def test_wrong_subgradients_of_a_custom_penalty_end_without_a_success(sign):
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((30, 3))
    b = matrix @ [1.0, 2.0, 3.0] + rng.standard_normal(30)
    wrong = gnp.CustomPenalty(
        lambda z, b: jnp.sum(jnp.abs(z - b)), lambda z, b: sign * jnp.sign(z - b), (b,), infimum=0.0
    )
    res = gnp.minimize(gnp.composite(lambda x, m: m @ x, wrong, args=(matrix,)), np.zeros(3), max_calls=3000)
    assert not res.success


def test_one_datum_of_1e14_is_not_a_yardstick():
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((40, 3))
    b = matrix @ [1.0, 2.0, 3.0]
    b[0] = 1e14
    res = gnp.minimize(gnp.composite(lambda x, m: m @ x, gnp.L1(b), args=(matrix,)), np.zeros(3))
    assert res.success
    assert np.allclose(res.x, [1.0, 2.0, 3.0], atol=1e-9)


@pytest.mark.parametrize("bound", [0.0, -1e300])
def test_a_lower_bound_far_below_changes_nothing(bound):
    problem, _ = curve()
    res = gnp.minimize(problem, [1.5, 0.3, 2.5, 2.0], lower_bound=bound)
    assert res.status is gnp.Status.CERTIFIED


def test_linear_regression_ends_at_the_value_of_a_linear_programme():
    from scipy.optimize import linprog

    rng = np.random.default_rng(3)
    m, n = 200, 6
    matrix = rng.standard_normal((m, n)) * np.geomspace(1, 1e-4, n)
    b = matrix @ rng.standard_normal(n) + 0.1 * rng.standard_t(2, m)
    res = gnp.minimize(gnp.composite(lambda x, a: a @ x, gnp.L1(b), args=(matrix,)), np.zeros(n))
    rows = np.hstack([matrix, np.eye(m), -np.eye(m)])
    free = [(None, None)] * n + [(0, None)] * (2 * m)
    best = linprog(np.r_[np.zeros(n), np.ones(2 * m)], A_eq=rows, b_eq=b, bounds=free, method="highs").fun
    assert res.status is gnp.Status.CERTIFIED
    assert res.value == pytest.approx(best, rel=1e-9)


def regression(unit=1.0):
    rng = np.random.default_rng(0)
    matrix, truth = rng.standard_normal((80, 4)), np.array([1.0, -2.0, 3.0, 0.5])
    b = matrix @ truth
    b[::5] += 5
    return gnp.composite(lambda x, matrix: matrix @ x, gnp.L1(unit * b), args=(unit * matrix,)), truth


@pytest.mark.parametrize("unit", [pytest.param(1e-200, marks=pytest.mark.slow), 1e200])
def test_zero_is_not_certified_for_being_zero(unit):
    problem, truth = regression(unit)
    assert not gnp.diagnostics.certify(problem, np.zeros(4)).holds
    res = gnp.minimize(problem, np.zeros(4))
    assert res.success
    assert np.allclose(res.x, truth, rtol=1e-9)


def test_dependent_columns_do_not_hide_the_least_value():
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((80, 4))
    b = matrix @ np.ones(4) + rng.standard_t(2, 80)
    doubled = np.column_stack([matrix, matrix[:, 0] + matrix[:, 1], np.zeros(80)])
    linear = lambda x, matrix: matrix @ x  # noqa: E731
    best = gnp.minimize(gnp.composite(linear, gnp.L1(b), args=(matrix,)), np.zeros(4))
    found = gnp.minimize(gnp.composite(linear, gnp.L1(b), args=(doubled,)), np.zeros(6))
    assert best.success
    assert found.success
    assert found.value == pytest.approx(best.value, rel=1e-9)


def test_single_precision_has_certificates_of_its_own():
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((80, 4)).astype(np.float32)
    b = (matrix @ np.ones(4) + 0.1 * rng.standard_t(2, 80)).astype(np.float32)
    res = gnp.minimize(gnp.composite(lambda x, m: m @ x, gnp.L1(b), args=(matrix,)), np.zeros(4, np.float32))
    assert res.status is gnp.Status.CERTIFIED
    assert res.certificate.allowed > 1e-7


@pytest.mark.parametrize("kind", ["L2", "custom"])
def test_a_lower_bound_that_is_reached_is_its_own_certificate(kind):
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((60, 4))
    b = matrix @ np.arange(4.0)
    absolute = gnp.CustomPenalty(
        lambda z, b: jnp.sum(jnp.abs(z - b)), lambda z, b: jnp.sign(z - b), args=(b,), infimum=0.0
    )
    penalty = gnp.L2(b) if kind == "L2" else absolute
    res = gnp.minimize(gnp.composite(lambda x, matrix: matrix @ x, penalty, args=(matrix,)), np.zeros(4))
    assert res.status is gnp.Status.TARGET_REACHED
    assert np.allclose(res.x, np.arange(4.0), atol=1e-8)


def test_a_certificate_keeps_to_the_calls_that_are_left():
    case = gnp.instances.tensor_sensing(d=20, r=2, kappa=3.0, p_fail=0.1)
    free = gnp.minimize(case.problem, case.x0)
    without = free.calls - free.certificate.products
    for most in (without, without + 5, without + 10):
        res = gnp.minimize(case.problem, case.x0, max_calls=most)
        assert res.calls <= most
        assert not res.success
    assert gnp.minimize(case.problem, case.x0, max_calls=free.calls).success
