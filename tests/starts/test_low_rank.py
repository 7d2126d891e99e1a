"""Low-rank matrices from the data alone, factor by factor."""

import numpy as np
import pytest

import gnpolyak as gnp


def small(make=gnp.instances.robust_pca, **settings):
    return make(**{"d1": 40, "d2": 30, "r": 3, "kappa": 100.0, "p_fail": 0.2} | settings)


@pytest.mark.parametrize("rank", [3, "auto"])
def test_small_singular_values_surface(rank):
    case = small()
    res = gnp.minimize(case.problem, rank=rank)
    assert res.success
    assert res.x[0].shape == (40, 3)
    assert case.recovery_error(res.x) < 1e-12


def test_completion_from_entries_in_any_order():
    case = small(gnp.instances.matrix_completion, d1=60, d2=50, observed=0.6, p_fail=0.1)
    mixed = np.random.default_rng(0).permutation(case.problem.penalty.b.size)
    rows, columns = (np.asarray(axis)[mixed] for axis in case.problem.sensing.indices)
    b = np.asarray(case.problem.penalty.b)[mixed]
    res = gnp.minimize(gnp.composite(gnp.LowRank(), gnp.L1(b), sensing=gnp.Entries(rows, columns)), rank=3)
    assert res.success
    assert case.recovery_error(res.x) < 1e-12


def test_outliers_of_any_size_and_data_of_any_scale():
    case = small()
    b = np.array(case.problem.penalty.b)
    bad = np.abs(b - case.truth[0] @ case.truth[1].T) > 0
    b[bad] *= 1e6
    res = gnp.minimize(gnp.composite(gnp.LowRank(), gnp.L1(1e8 * b)), rank=3)
    assert case.recovery_error((res.x[0] / 1e8, res.x[1])) < 1e-12
    np.testing.assert_array_equal(res.outliers, np.flatnonzero(bad))


def test_the_rank_in_noise_is_that_of_the_signal():
    case = small(kappa=3.0, p_fail=0.1)
    noisy = np.asarray(case.problem.penalty.b) + 1e-3 * np.random.default_rng(0).standard_normal((40, 30))
    res = gnp.minimize(gnp.composite(gnp.LowRank(), gnp.L1(noisy)))
    assert res.status is gnp.Status.NOISE
    assert res.x[0].shape[1] == 3


def test_a_method_of_the_literature_goes_on_from_there():
    case = small(kappa=1.0, p_fail=0.0)
    res = gnp.minimize(case.problem, method="gnp", rank=3, target=0.0)
    assert res.success
    assert case.recovery_error(res.x) < 1e-8


@pytest.mark.parametrize("rank", [0, 31, 2.5, "many"])
def test_ranks_that_cannot_be(rank):
    with pytest.raises(gnp.InputError, match="rank="):
        gnp.minimize(small().problem, rank=rank)


def test_data_without_a_signal():
    with pytest.raises(gnp.InputError, match="exactly zero"):
        gnp.minimize(gnp.composite(gnp.LowRank(), gnp.L1(np.zeros((4, 3)))), rank=1)
    with pytest.raises(gnp.InputError, match="rows and columns"):
        gnp.minimize(gnp.composite(gnp.LowRank(), gnp.L1(np.ones(4))), rank=1)
