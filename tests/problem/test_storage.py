"""Rows that are kept in fewer bytes than the arithmetic is done in."""

import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base import arrays


@pytest.mark.parametrize(("storage", "unit"), [(np.float32, 64), (None, 64), (jnp.bfloat16, 8)])
def test_rows_keep_their_storage_through_a_solve(storage, unit):
    case = gnp.instances.tensor_sensing(d=12, r=2, kappa=2.0)
    # Rows that the storage holds exactly: then it changes the memory and nothing else.
    rows = [np.round(np.asarray(m) * unit) / unit for m in (case.problem.sensing.p, case.problem.sensing.q)]
    b = np.sum((rows[0] @ case.truth) ** 2 - (rows[1] @ case.truth) ** 2, axis=1)
    sensing = gnp.PowerSensing(*rows, storage=storage)
    problem = gnp.Composite(gnp.SymmetricCP(2), gnp.L1(b), sensing)
    assert problem.cast(np.dtype(np.float64)).sensing.p.dtype == (storage or np.float64)
    res = gnp.minimize(problem, case.x0, target=0.0)
    assert res.success
    assert res.x.dtype == np.float64
    assert case.recovery_error(res.x) < 1e-8


@pytest.mark.parametrize("storage", [np.int32, np.float16])
def test_storage_must_be_a_floating_type(storage):
    with pytest.raises(gnp.InputError, match="storage="):
        gnp.PowerSensing(np.ones((2, 2)), np.ones((2, 2)), storage=storage)


def signs_measured(storage):
    """Rows of ±1, a tenth of whose data are wrong."""
    rng = np.random.default_rng(0)
    p, q = rng.choice([-1.0, 1.0], (2, 600, 20))
    truth = rng.standard_normal((20, 2))
    b = np.sum((p @ truth) ** 2 - (q @ truth) ** 2, axis=1)
    b[:60] += 50.0
    return gnp.composite(gnp.SymmetricCP(2), gnp.L1(b), sensing=gnp.PowerSensing(p, q, storage=storage)), truth


def test_a_start_from_rows_in_bfloat16_is_the_one_from_float32():
    """Sums are not taken in bfloat16."""
    narrow, wide = (gnp.starts.spectral(signs_measured(each)[0], rank=2) for each in (jnp.bfloat16, np.float32))
    assert narrow.dtype == np.float64
    assert np.array_equal(narrow, wide)


def test_signs_in_bfloat16_are_solved_in_full_precision():
    problem, truth = signs_measured(jnp.bfloat16)
    res = gnp.minimize(problem, rank=2)
    assert problem.sensing.p.dtype == jnp.bfloat16
    assert res.success
    assert np.allclose(res.x @ res.x.T, truth @ truth.T, rtol=0, atol=1e-12)


def test_rows_that_bfloat16_cannot_hold_are_rounded_once():
    """The problem solved is that of the rounded rows: 1 + 2⁻⁹ is 1 there."""
    sensing = gnp.PowerSensing(np.full((1, 1), 1 + 2.0**-9), storage=jnp.bfloat16)
    problem = gnp.composite(gnp.SymmetricCP(2), gnp.L1(np.zeros(1)), sensing=sensing)
    with arrays.computing_in(np.dtype(np.float64)):
        assert problem.evaluate(np.full((1, 1), 3.0)).value == 9.0


def test_bfloat16_is_for_real_rows():
    with pytest.raises(gnp.InputError, match="complex measurement vectors and storage=bfloat16"):
        gnp.PowerSensing(np.ones((2, 2)) + 1j, storage=jnp.bfloat16)
