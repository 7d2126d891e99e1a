import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.solve.outliers import corrupted


def test_which_measurements_are_corrupted_is_found_exactly():
    case = gnp.instances.tensor_sensing(d=30, r=2, kappa=5.0, p_fail=0.2, seed=3)
    p, q, b = (np.asarray(a) for a in (case.problem.sensing.p, case.problem.sensing.q, case.problem.penalty.b))
    clean = ((p @ case.truth) ** 2).sum(1) - ((q @ case.truth) ** 2).sum(1)
    res = gnp.minimize(case.problem, case.x0)
    assert np.array_equal(res.outliers, np.flatnonzero(np.abs(b - clean) > 1e-9))
    assert f"{len(res.outliers)} of 480 measurements" in str(res)


def test_no_outliers_is_an_empty_answer_in_clean_data_and_in_noise():
    case = gnp.instances.tensor_sensing(d=30, r=2, kappa=5.0)
    assert gnp.minimize(case.problem, case.x0).outliers.size == 0
    noisy = np.asarray(case.problem.penalty.b) + 0.1 * np.random.default_rng(0).standard_normal(480)
    problem = gnp.Composite(case.problem.map, gnp.L1(noisy), case.problem.sensing)
    res = gnp.minimize(problem, case.x0, max_calls=300)
    assert res.status is gnp.Status.NOISE
    assert res.outliers.size == 0
    assert res.noise == pytest.approx(0.1, rel=0.15)
    assert "σ = 0.09" in str(res)


def test_outliers_are_told_from_noise():
    case = gnp.instances.tensor_sensing(d=30, r=2, kappa=5.0)
    rng = np.random.default_rng(1)
    bad = np.sort(rng.choice(480, 48, replace=False))
    b = np.asarray(case.problem.penalty.b) + 0.01 * rng.standard_normal(480)
    b[bad] += 5.0
    res = gnp.minimize(gnp.Composite(case.problem.map, gnp.L1(b), case.problem.sensing), case.x0)
    assert res.status is gnp.Status.NOISE
    assert np.array_equal(res.outliers, bad)
    assert res.noise == pytest.approx(0.01, rel=0.15)


def test_outliers_are_not_told_before_the_end():
    case = gnp.instances.tensor_sensing(d=20, r=2, p_fail=0.2)
    res = gnp.minimize(case.problem, case.x0, max_calls=5)
    assert res.outliers is None
    assert "not to be told" in str(res)


@pytest.mark.parametrize(
    ("residuals", "expected"),
    [
        ([1e-12, -1e-12, 2e-12, 5.0, 1e-12], [3]),
        ([1e-12, 1e-12, 1e-12, 1e-4, -7.0], [3, 4]),
        ([0.0, 0.0, 0.0, 1.0], [3]),
        ([0.1, 0.2, 0.3, 0.4], None),
        ([1e-12, 5.0, 5.0, 5.0], None),
        ([1e-9, 1e-9, 1e-10], []),
        ([], []),
    ],
)
def test_separation(residuals, expected):
    found = corrupted(np.array(residuals), np.ones(len(residuals)))
    assert found is None if expected is None else found.tolist() == expected


@pytest.mark.parametrize("p_fail", [0.0, 0.2])
def test_polish_reaches_machine_precision(p_fail):
    case = gnp.instances.tensor_sensing(d=30, r=2, kappa=10.0, p_fail=p_fail)
    rough = gnp.minimize(case.problem, case.x0, "gnp", target=case.target, tol=1e-8)
    fine = gnp.minimize(case.problem, case.x0, "gnp", target=case.target, tol=1e-8, polish=True)
    assert case.recovery_error(rough.x) > 1e-12
    assert case.recovery_error(fine.x) < 1e-14
    assert fine.value < rough.value
    assert fine.calls == rough.calls + fine.polish_calls > rough.calls
    assert len(fine.history) == fine.calls
    assert np.array_equal(fine.history.value[: rough.calls], rough.history.value)


def test_the_default_method_needs_no_polish():
    case = gnp.instances.tensor_sensing(d=30, r=2, kappa=10.0, p_fail=0.2)
    res = gnp.minimize(case.problem, case.x0, tol=1e-8, polish=True)
    assert res.polish_calls == 0
    assert case.recovery_error(res.x) < 1e-14


def test_polish_makes_no_calls_where_none_are_left():
    case = gnp.instances.tensor_sensing(d=20, r=2, p_fail=0.2)
    early = gnp.minimize(case.problem, case.x0, max_calls=5, polish=True)
    assert early.outliers is None
    assert early.polish_calls == 0
    assert early.value == early.history.best[-1]


def test_polish_is_kept_only_if_the_objective_falls():
    """At the truth the steps move by rounding, and most values are above the first."""
    case = gnp.instances.tensor_sensing(d=30, r=2, kappa=5.0)
    res = gnp.minimize(case.problem, case.truth, "gnp", target=0.0, polish=True)
    assert res.polish_calls > 0
    assert res.history.value.max() > res.history.value[0]
    assert res.value == res.history.value.min() == res.history.best[-1]
    assert np.allclose(res.x, case.truth, rtol=1e-13, atol=1e-13)


def test_polish_in_noise_is_the_efficient_estimate():
    """Away from outliers that is least squares: nearer to the truth than the minimiser of the absolute deviations."""
    case = gnp.instances.tensor_sensing(d=30, r=2, kappa=5.0)
    b = np.asarray(case.problem.penalty.b) + 0.1 * np.random.default_rng(0).standard_normal(480)
    problem = gnp.Composite(case.problem.map, gnp.L1(b), case.problem.sensing)
    plain, fine = (gnp.minimize(problem, case.x0, polish=choice) for choice in (False, True))
    assert fine.status is plain.status is gnp.Status.NOISE
    assert (plain.efficient, fine.efficient) == (False, True)
    assert fine.value >= plain.value
    assert case.recovery_error(fine.x) < case.recovery_error(plain.x)
