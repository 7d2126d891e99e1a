import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.solve.finish import corrupted


def test_which_measurements_are_corrupted_is_found_exactly():
    case = gnp.instances.tensor_sensing(d=30, r=2, kappa=5.0, p_fail=0.2, seed=3)
    p, q, b = (np.asarray(a) for a in (case.problem.sensing.p, case.problem.sensing.q, case.problem.penalty.b))
    clean = ((p @ case.truth) ** 2).sum(1) - ((q @ case.truth) ** 2).sum(1)
    res = gnp.minimize(case.problem, case.x0)
    assert np.array_equal(res.outliers, np.flatnonzero(np.abs(b - clean) > 1e-9))
    assert f"{len(res.outliers)} of 480 measurements" in str(res)


def test_no_outliers_is_an_empty_answer_and_noise_is_none():
    case = gnp.instances.tensor_sensing(d=30, r=2, kappa=5.0)
    assert gnp.minimize(case.problem, case.x0).outliers.size == 0
    noisy = np.asarray(case.problem.penalty.b) + 0.1 * np.random.default_rng(0).standard_normal(480)
    problem = gnp.Composite(case.problem.map, gnp.L1(noisy), case.problem.sensing)
    res = gnp.minimize(problem, case.x0, max_calls=300)
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
    rough = gnp.minimize(case.problem, case.x0, tol=1e-8)
    fine = gnp.minimize(case.problem, case.x0, tol=1e-8, polish=True)
    assert case.recovery_error(rough.x) > 1e-12
    assert case.recovery_error(fine.x) < 1e-14
    assert fine.value < rough.value
    assert fine.calls == rough.calls + fine.polish_calls > rough.calls
    assert len(fine.history) == rough.calls


def test_polish_is_refused_where_nothing_separates():
    case = gnp.instances.tensor_sensing(d=20, r=2, p_fail=0.2)
    early = gnp.minimize(case.problem, case.x0, max_calls=5, polish=True)
    assert early.outliers is None
    assert early.polish_calls == 0
    assert early.value == early.history.best[-1]


def test_polish_is_kept_only_if_the_objective_falls(monkeypatch):
    """Called corrupted by mistake, good measurements are left out of the fit; the objective notices."""
    case = gnp.instances.tensor_sensing(d=20, r=2, p_fail=0.2)
    monkeypatch.setattr("gnpolyak.solve.finish.corrupted", lambda residuals, b: np.arange(300))
    res = gnp.minimize(case.problem, case.x0, tol=1e-6, polish=True)
    assert res.polish_calls > 0
    assert res.value == res.history.best[-1]
    assert case.recovery_error(res.x) < 1e-5
