"""No yardstick comes from outliers, from a far start or from a bound that says nothing."""

import numpy as np
import pytest

import gnpolyak as gnp


@pytest.fixture(scope="module")
def case():
    return gnp.instances.tensor_sensing(d=20, r=2, kappa=3.0, p_fail=0.1)


@pytest.mark.parametrize(
    ("far", "options"),
    [(1.0, {"lower_bound": -1e300}), (1e30, {}), (1e30, {"lower_bound": -1e300})],
    ids=["no bound", "far start", "both"],
)
def test_a_far_start_and_an_empty_bound_change_nothing(case, far, options):
    res = gnp.minimize(case.problem, far * case.x0, **options)
    assert res.status is gnp.Status.CERTIFIED
    assert case.recovery_error(res.x) < 1e-12


def test_one_datum_of_any_size_changes_nothing(case):
    plain = gnp.minimize(case.problem, case.x0)
    b = np.array(case.problem.penalty.b)
    b[np.argmax(np.abs(b))] = 1e20
    res = gnp.minimize(gnp.Composite(case.problem.map, gnp.L1(b), case.problem.sensing), case.x0)
    assert plain.success
    assert res.success
    assert case.recovery_error(res.x) < 1e-12
    assert abs(res.calls - plain.calls) <= 20
