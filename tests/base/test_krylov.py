"""LSMR against dense least squares and against SciPy's, on NumPy and in JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.sparse.linalg import lsmr as scipys

from gnpolyak.base.krylov import lsmr


def matrix(m, n, kappa, rank=None):
    rng = np.random.default_rng(m + n)
    (u, _), (v, _) = (np.linalg.qr(rng.standard_normal((d, min(m, n)))) for d in (m, n))
    values = np.geomspace(1.0, 1.0 / kappa, min(m, n))
    if rank is not None:
        values[rank:] = 0.0
    return (u * values) @ v.T, rng.standard_normal(m)


@pytest.mark.parametrize("xp", [np, jnp], ids=["NumPy", "JAX"])
@pytest.mark.parametrize(
    ("m", "n", "kappa", "rank"),
    [(40, 10, 1e3, None), (10, 40, 1e2, None), (30, 30, 10.0, None), (40, 12, 10.0, 7), (5, 1, 1.0, None)],
)
def test_it_is_the_least_squares_solution_of_minimum_norm(xp, m, n, kappa, rank):
    a, b = matrix(m, n, kappa, rank)
    with jax.enable_x64(True):
        a_, b_ = xp.asarray(a), xp.asarray(b)
        found = lsmr(xp, lambda z: a_ @ z, lambda v: a_.T @ v, b_, max_steps=10 * n, rtol=1e-14)
        assert found.solution.dtype == np.float64
    expected = np.linalg.lstsq(a, b, rcond=1e-10)[0]
    np.testing.assert_allclose(found.solution, expected, atol=1e-9 * np.linalg.norm(expected))
    theirs = scipys(a, b, atol=1e-14, btol=1e-14, conlim=0, maxiter=10 * n)
    assert int(found.iterations) <= theirs[2] + 5


@pytest.mark.parametrize("steps", [1, 3, 8])
def test_the_iterates_are_those_of_scipy(steps):
    a, b = matrix(60, 20, 100.0)
    found = lsmr(np, lambda z: a @ z, lambda v: a.T @ v, b, max_steps=steps, rtol=0.0)
    assert found.iterations == steps
    np.testing.assert_allclose(found.solution, scipys(a, b, atol=0, btol=0, conlim=0, maxiter=steps)[0], rtol=1e-9)


@pytest.mark.parametrize("xp", [np, jnp], ids=["NumPy", "JAX"])
def test_nothing_to_solve_is_zero(xp):
    a, b = matrix(12, 4, 1.0)
    outside = b - a @ np.linalg.lstsq(a, b, rcond=None)[0]
    with jax.enable_x64(True):
        for left, right in ((a, 0 * b), (0 * a, b)):
            rows = xp.asarray(left)
            pair = (lambda z, rows=rows: rows @ z), (lambda v, rows=rows: rows.T @ v)
            found = lsmr(xp, *pair, xp.asarray(right), max_steps=40, rtol=1e-12)
            assert not np.any(found.solution)
            assert found.iterations == 0
    found = lsmr(np, lambda z: a @ z, lambda v: a.T @ v, outside, max_steps=40, rtol=1e-12)
    assert np.linalg.norm(found.solution) < 1e-12
