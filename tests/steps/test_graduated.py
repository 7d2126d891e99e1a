"""Graduated Gauss–Newton: exact where h is not sharp, blind to the size of outliers, honest about its calls."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.oracles import Reductions
from gnpolyak.steps.weights import Width
from zoo import cp_tensor, low_rank

BOTH = pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])


@pytest.mark.parametrize("method", ["auto", pytest.param("graduated", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kappa", [pytest.param(1.0, marks=pytest.mark.slow), 100.0])
def test_robust_pca_is_exact_whatever_the_conditioning(method, kappa):
    problem, start, error = low_rank(kappa=kappa)
    res = gnp.minimize(problem, start, method)
    assert res.status is gnp.Status.CERTIFIED
    assert error(res.x) < 1e-12
    assert res.calls < 300


@pytest.mark.slow
def test_completion_is_exact():
    problem, start, error = low_rank(share=0.1, seen=0.5)
    res = gnp.minimize(problem, start)
    assert res.success
    assert error(res.x) < 1e-12


def test_without_a_closed_form_the_steps_are_the_same_but_dearer():
    problem, start, error = cp_tensor()
    res = gnp.minimize(problem, start)
    assert res.success
    assert error(res.x) < 1e-12


@pytest.mark.parametrize("corruption", [1.0, 1e10, 1e20])
def test_the_size_of_outliers_is_immaterial(corruption):
    case = gnp.instances.tensor_sensing(d=30, r=2, p_fail=0.2, corruption=corruption)
    res = gnp.minimize(case.problem, case.x0)
    assert res.success
    assert case.recovery_error(res.x) < 1e-12


def test_every_call_has_a_row_and_the_limit_is_kept():
    problem, start, _ = low_rank()
    for limit in (3, 10, 17, 30):
        res = gnp.minimize(problem, start, "graduated", max_calls=limit)
        assert res.status is gnp.Status.CALL_LIMIT
        assert limit - 1 <= res.calls == len(res.history) <= limit
        assert np.all(np.diff(res.history.best) <= 0)


def test_a_penalty_without_residuals_is_refused_by_name():
    problem = gnp.composite(lambda x: x, gnp.L2(np.ones(3)))
    with pytest.raises(gnp.InputError, match="residuals"):
        gnp.minimize(problem, np.zeros(3), "graduated")


@BOTH
@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [1, 2, 7, 100, 101])
def test_median_is_the_upper_median(xp, traced, dtype, size):
    if xp is np and traced:
        pytest.skip("NumPy is not traced")
    median = jax.jit(Reductions(xp).median) if traced else Reductions(xp).median
    rng = np.random.default_rng(size)
    a = np.abs(rng.standard_normal(size)).astype(dtype) * 10.0 ** rng.integers(-30, 30, size)
    a = a.astype(dtype)
    with jax.enable_x64(dtype is np.float64):
        assert float(median(xp.asarray(a))) == np.sort(a)[size // 2]
        some = rng.random(size) < 0.6
        kept = np.sort(a[some])
        expected = kept[len(kept) // 2] if len(kept) else 0.0
        assert float(median(xp.asarray(a), xp.asarray(some))) == expected


@BOTH
def test_median_of_what_is_not_a_number_comes_last(xp):
    reduce, a = Reductions(xp), xp.asarray([1.0, np.nan, 2.0, np.inf, 3.0])
    assert float(reduce.median(a)) == 3.0
    if xp is jnp:
        assert float(jax.jit(reduce.median)(a)) == 3.0


@BOTH
def test_typical_size_of_sparse_and_of_zero_data(xp):
    typical = Reductions(xp).typical
    assert float(typical(xp.asarray([0.0, 0.0, 0.0, -5.0]))) == 5.0
    assert float(typical(xp.zeros(4))) == 1.0


@BOTH
@pytest.mark.parametrize("redescending", [False, True])
def test_weights_are_the_slope_of_the_penalty_over_the_residual(xp, redescending):
    with jax.enable_x64(True):
        reduce, width = Reductions(xp), Width(xp.asarray(0.7), xp.asarray(redescending))
        r = xp.linspace(-4.0, 4.0, 41) + 1e-3
        step = 1e-6
        slope = np.array([width.fall(reduce, x[None] + step, x[None] - step)[0] / (2 * step) for x in r])
        assert np.allclose(width.weights(reduce, r) * r, slope, atol=1e-8)
