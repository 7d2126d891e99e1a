"""Steps between bounds, against SciPy's bounded least squares and a linear program."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import lsq_linear

import gnpolyak as gnp
from engine.bounded import Case, by_linear_program
from gnpolyak.oracles import oracle_for
from gnpolyak.problem.box import Box
from gnpolyak.steps import boxed
from gnpolyak.steps.least_absolute import least_absolute
from gnpolyak.steps.weighted import Weighted


def _system(seed, rows=40, columns=6):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((rows, columns)) @ (np.eye(columns) + rng.standard_normal((columns, columns)))
    r, w = rng.standard_normal(rows), rng.uniform(0.1, 1, rows)
    lo, hi = -rng.uniform(0, 0.2, columns), rng.uniform(0, 0.2, columns)
    lo[0], hi[1], lo[2], hi[3] = 0.0, 0.0, -np.inf, np.inf
    return matrix, r, w, lo, hi


def _weighted(r, w, damping):
    return Weighted(jnp.asarray(r), None, jnp.asarray(w), jnp.asarray(damping), jnp.asarray(True))


@pytest.mark.parametrize("seed", range(6))
def test_the_dense_step_is_the_bounded_least_squares_solution(seed):
    matrix, r, w, lo, hi = _system(seed)
    with jax.enable_x64(True):
        problem = gnp.composite(gnp.Linear(matrix), gnp.L1(r))
        x = jnp.zeros(6)
        z, trial, _ = boxed.dense(oracle_for(problem, x), Box(lo, hi), x, _weighted(r, w, 0.0))
    root = np.sqrt(w)
    reference = lsq_linear(root[:, None] * matrix, root * r, (lo - 1e-12, hi + 1e-12), method="bvls", tol=1e-14)
    np.testing.assert_allclose(z, reference.x, atol=1e-9)
    before = 0.5 * np.sum(w * r**2)
    np.testing.assert_allclose(trial.predicted, before - reference.cost, rtol=1e-8)


@pytest.mark.parametrize("seed", range(2))
def test_the_iterative_step_stays_inside_and_promises_what_the_model_gains(seed):
    rng = np.random.default_rng(seed)
    factors = tuple(np.maximum(rng.uniform(-0.5, 1, (rows, 2)), 0) for rows in (9, 7))
    table = factors[0] @ factors[1].T + 0.3 * rng.standard_normal((9, 7))
    with jax.enable_x64(True):
        problem = gnp.composite(gnp.LowRank(), gnp.L1(table))
        x = jax.tree.map(jnp.asarray, factors)
        box = Box(*((jnp.asarray(side),) * 2 for side in (0.0, np.inf)))
        r = problem.penalty.residuals(problem.measure(x)).ravel()
        system = _weighted(r, np.ones(63), 1e-3)
        z, trial, products = boxed.iterative(oracle_for(problem, x), box, x, system, jnp.asarray(100))
        image = oracle_for(problem, x).linearise(x).push(z)
        gained = jnp.sum(image * (r - image / 2))
    assert all(np.all(a + np.asarray(b) >= 0) for a, b in zip(factors, z, strict=True))
    np.testing.assert_allclose(trial.predicted, gained, rtol=1e-12)
    assert float(trial.predicted) > 0
    assert int(products) <= 120


@pytest.mark.parametrize("seed", range(4))
def test_the_l1_problem_between_bounds_is_that_of_the_linear_program(seed):
    matrix, r, _, lo, hi = _system(seed)
    scale = 10.0 ** np.arange(-3, 3)
    with jax.enable_x64(True):
        z, v = least_absolute(jnp, jnp.asarray(matrix * scale), jnp.asarray(r), within=(lo / scale, hi / scale))
    z, v = np.asarray(z) * scale, np.asarray(v)
    problem = gnp.composite(gnp.Linear(matrix), gnp.L1(r))
    reference = by_linear_program(Case("", problem, np.zeros(6), (lo, hi), linear=True))
    np.testing.assert_allclose(np.abs(r - matrix @ z).sum(), reference, rtol=1e-9)
    assert np.all((lo <= z) & (z <= hi))
    # The multipliers push outwards at the bounds, and vanish elsewhere.
    multipliers = matrix.T @ v / np.abs(matrix).sum(axis=0)
    assert np.all(np.abs(v) <= 1)
    assert np.all(multipliers[(z > lo) & (z < hi)] == pytest.approx(0, abs=1e-7))
    assert np.all(multipliers[(z == lo) & (z < hi)] <= 1e-7)
    assert np.all(multipliers[(z == hi) & (z > lo)] >= -1e-7)
