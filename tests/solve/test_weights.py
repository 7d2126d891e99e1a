"""Weighted data in every engine: the products, the Jacobian, the certificate, and the outliers that are named."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linprog

import gnpolyak as gnp
from gnpolyak.base.arrays import precise
from gnpolyak.oracles import host_oracle, oracle_for

M, N = 60, 3


def regression(seed=0):
    rng = np.random.default_rng(seed)
    rows, x = rng.standard_normal((M, N)), rng.standard_normal(N)
    return rng, rows, x, rows @ x


def weights(rng):
    """Positive ones for 24 of 60 data."""
    return rng.permutation(np.where(np.arange(M) < 24, rng.uniform(0.5, 2.0, M), 0.0))


def least_weighted(rows, b, w):
    """min Σ w |rows·x − b| by linear programming."""
    n, m = rows.shape[1], len(b)
    cost = np.r_[np.zeros(n), w]
    above = np.block([[rows, -np.eye(m)], [-rows, -np.eye(m)]])
    found = linprog(cost, above, np.r_[b, -b], bounds=[(None, None)] * n + [(0, None)] * m)
    return found.fun


@pytest.mark.parametrize("c", [gnp.LowRank(), None], ids=["closed", "autodiff"])
def test_products_and_jacobian_are_those_of_the_weighted_rows(c):
    rng = np.random.default_rng(0)
    model = c or (lambda x: jnp.sin(x[0]) @ x[1].T)
    x = tuple(rng.standard_normal((d, 2)) for d in (4, 3))
    w = rng.integers(0, 3, (4, 3)).astype(float)
    with precise(True):
        x = jax.tree.map(jnp.asarray, x)
        problem = gnp.composite(model, gnp.L1(np.zeros((4, 3)), weights=w))
        plain = jacobian(gnp.composite(model, gnp.L1(np.zeros((4, 3)))), x)[0]
        expected = (w.ravel()[:, None] * plain)[w.ravel() > 0]
        assert np.allclose(jacobian(problem, x)[0], expected, rtol=1e-13)
        products, v = problem.linearised(x), rng.standard_normal(len(expected))
        z = jax.tree.map(lambda leaf: jnp.asarray(rng.standard_normal(leaf.shape)), x)
        flat = np.concatenate([leaf.ravel() for leaf in z])
        assert np.allclose(products.push(z), expected @ flat, rtol=1e-12)
        pulled = np.concatenate([leaf.ravel() for leaf in products.product(z, jnp.asarray(v))[1]])
        assert np.allclose(pulled, expected.T @ (v * (expected @ flat)), rtol=1e-11)


def test_more_than_half_of_the_data_may_be_ignored():
    rng, rows, x, b = regression()
    w = weights(rng)
    b[w == 0] = 1e6 * rng.standard_normal(np.sum(w == 0))
    bad = rng.choice(np.flatnonzero(w > 0), 3, replace=False)
    b[bad] += 5.0
    res = gnp.minimize(gnp.composite(lambda x, rows: rows @ x, gnp.L1(b, weights=w), args=(rows,)), np.zeros(N))
    assert res.success
    assert np.allclose(res.x, x, atol=1e-10)
    assert np.array_equal(res.outliers, np.sort(bad))


def test_the_weighted_value_in_noise_is_the_least_one():
    rng, rows, _, b = regression(1)
    w = weights(rng)
    b += rng.standard_normal(M) / np.maximum(w, 0.1)
    res = gnp.minimize(
        gnp.composite(lambda x, rows: rows @ x, gnp.L1(b, weights=w), args=(rows,)), np.zeros(N), polish=False
    )
    assert res.value == pytest.approx(least_weighted(rows, b, w), rel=1e-7)


def test_the_fused_oracle_leaves_weighted_data_to_xla():
    case = gnp.instances.tensor_sensing(d=10, r=2, p_fail=0.1)
    w = np.random.default_rng(0).uniform(0.5, 2.0, case.problem.penalty.b.shape)
    problem = gnp.composite(case.problem.map, gnp.L1(case.problem.penalty.b, weights=w), sensing=case.problem.sensing)
    assert problem.kernel(case.x0) is None
    with precise(True):
        z = np.asarray(problem.measure(jnp.asarray(case.x0)))
        value = float(problem.evaluate(jnp.asarray(case.x0)).value)
    assert value == pytest.approx(np.sum(w * np.abs(z - np.asarray(case.problem.penalty.b))), rel=1e-13)


@pytest.mark.slow
def test_ignored_entries_have_no_say_in_a_start():
    """More than half of a matrix is garbage of weight zero, and some of the rest is corrupted."""
    case = gnp.instances.robust_pca(d1=60, d2=50, r=2, kappa=10.0)
    rng, b = np.random.default_rng(0), np.array(case.problem.penalty.b)
    w = np.where(rng.random(b.shape) < 0.55, 0.0, 1.0)
    b = np.where(w == 0, 1e4 * rng.standard_normal(b.shape), b)
    res = gnp.minimize(gnp.composite(gnp.LowRank(), gnp.L1(b, weights=w)), rank=2)
    assert res.success
    assert case.recovery_error(res.x) < 1e-10
