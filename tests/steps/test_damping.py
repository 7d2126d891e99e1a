"""Ranks that are too large, and steps whose second order outgrows the first."""

import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base.arrays import precise
from gnpolyak.oracles import oracle_for
from gnpolyak.steps.linear import as_solver
from gnpolyak.steps.metrics import GaussNewton
from reference import cp_jacobian, factor
from steps.cases import overspecified, recovery_error


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("damping", [1e-6, 0.1, 10.0])
@pytest.mark.parametrize("rank", [None, 2])
def test_damped_closed_form_against_a_dense_solve(n, damping, rank):
    x = factor({2: 9, 3: 6, 4: 5}[n], 3, 5.0, seed=n, rank=rank)
    jacobian = cp_jacobian(x, n)
    g = jacobian.T @ np.random.default_rng(1).standard_normal(len(jacobian))
    expected = np.linalg.solve(jacobian.T @ jacobian + damping * np.eye(x.size), g)
    with precise(True):
        ours = np.ravel(gnp.SymmetricCP(n).gram_pinv(x, g.reshape(x.shape), damping))
    assert np.linalg.norm(ours - expected) < 1e-9 * np.linalg.norm(expected)


@pytest.mark.parametrize("solver", ["closed", "cg", "lsmr", "dense"])
def test_every_solver_damps_alike(solver):
    x = factor(9, 3, 5.0, seed=0)
    b = np.random.default_rng(3).standard_normal((9, 9))
    problem = gnp.composite(gnp.SymmetricCP(2), gnp.L1(b))
    with precise(True):
        point = problem.evaluate(jnp.asarray(x))
        metric = GaussNewton(as_solver(solver), damping="always")
        direction = metric.direction(oracle_for(problem, point.x), point, jnp.asarray(2.0))
        jacobian, damping = cp_jacobian(x, 2), float(direction.damping)
        # The subgradient of an asymmetric B has a part along the gauge, which JᵀJ + λI would blow up by 1/λ.
        g = np.ravel(point.subgradient)
        expected = np.linalg.solve(jacobian.T @ jacobian + damping * np.eye(27), g)
    assert damping > 0
    assert float(direction.residual) < 1e-9
    assert np.linalg.norm(np.ravel(direction.s) - expected) < 1e-9 * np.linalg.norm(expected)


def test_damping_bounds_what_a_step_neglects():
    """½‖D²c[t, t]‖ ≤ ρ/8·(γ/γ₀)² for the damped step t, where the undamped one neglects far more than ρ."""
    case, x0 = overspecified(5, 1.0, 0, shrink=1e-3)
    with precise(True):
        point = case.problem.evaluate(jnp.asarray(x0))
        oracle = oracle_for(case.problem, point.x)
        plain = GaussNewton(as_solver("auto")).direction(oracle, point, point.value)
        damped = GaussNewton(as_solver("auto"), damping="auto").direction(oracle, point, point.value)
        rho = float(point.value / jnp.sqrt(plain.decrement))
        neglected = [
            float(case.problem.map.curvature(point.x, point.value / plain.decrement * d.s)) / 2 for d in (plain, damped)
        ]
    assert float(damped.damping) > 0
    assert neglected[0] > 100 * rho
    assert neglected[1] <= rho / 8


def test_auto_is_gnp_where_the_linearisation_holds():
    case = gnp.instances.tensor_sensing(d=30, r=3, kappa=20.0)
    gnp_path = gnp.minimize(case.problem, case.x0, gnp.GNP(), target=0.0).history.value
    auto_path = gnp.minimize(case.problem, case.x0, gnp.Auto(cuts=1), target=0.0).history.value
    assert np.allclose(auto_path, gnp_path, rtol=1e-9)


@pytest.mark.parametrize("r", [pytest.param(5, marks=pytest.mark.slow), 10])
@pytest.mark.parametrize("kappa", [pytest.param(1.0, marks=pytest.mark.slow), 100.0])
@pytest.mark.parametrize("p_fail", [0.0, 0.2])
def test_rank_too_large_with_nothing_set(r, kappa, p_fail):
    case, x0 = overspecified(r, kappa, seed=1, p_fail=p_fail, shrink=1e-3)
    assert gnp.minimize(case.problem, x0, "gnp", target=case.target, max_calls=300).status is gnp.Status.DIVERGED
    for method in ("auto", "lmm"):
        res = gnp.minimize(case.problem, x0, method, tol=1e-12)
        assert res.success
        assert abs(res.value - case.target) < 1e-8
        assert recovery_error(case, res.x) < 1e-6


def test_damped_scaledsm_for_comparison():
    case, x0 = overspecified(5, 10.0, seed=0, shrink=1e-3)
    plain = gnp.minimize(case.problem, x0, gnp.ScaledSM(), target=case.target)
    damped = gnp.minimize(case.problem, x0, gnp.ScaledSM(damped=True), target=case.target)
    assert not plain.success
    assert damped.success
    assert recovery_error(case, damped.x) < 1e-6


@pytest.mark.parametrize("n", [2, 3, 4])
def test_curvature_is_a_bound_on_the_second_derivative(n):
    x, s = factor(5, 3, 2.0, seed=0), np.random.default_rng(1).standard_normal((5, 3))
    cp = gnp.SymmetricCP(n)
    with precise(True):
        bound = float(cp.curvature(jnp.asarray(x), jnp.asarray(s)))
        exact = float(gnp.AutodiffMap(cp.__call__).curvature(jnp.asarray(x), jnp.asarray(s)))
    assert exact <= bound * (1 + 1e-12)
    if n == 2:
        assert bound == pytest.approx(exact)
