import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base.arrays import precise
from gnpolyak.base.krylov import conjugate_gradient
from gnpolyak.oracles import oracle_for
from gnpolyak.steps import metrics
from gnpolyak.steps.linear import CG, LSMR, Closed, Dense, as_solver
from gnpolyak.steps.metrics import Euclidean, GaussNewton, RightGram
from reference import cp_jacobian, factor, pinv_apply

SIZES = {2: 10, 3: 7, 4: 5}


@pytest.fixture(autouse=True)
def float64():
    with precise(True):
        yield


def evaluated(n, x, seed=3):
    """The oracle of a problem ‖c(X) − B‖₁ whose image is measured entry by entry, the point, and its v."""
    b = np.random.default_rng(seed).standard_normal((x.shape[0],) * n)
    problem = gnp.composite(gnp.SymmetricCP(n), gnp.L1(b))
    point = problem.evaluate(jnp.asarray(x))
    oracle = oracle_for(problem, point.x)
    return oracle, point, np.asarray(oracle.image_subgradient(point)).ravel()


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("solver", ["closed", "cg", "lsmr", "dense"])
@pytest.mark.parametrize("rank", [None, 2], ids=["full rank", "rank deficient"])
def test_every_solver_gives_the_minimum_norm_solution(n, solver, rank):
    x = factor(SIZES[n], 3, 5.0, seed=n, rank=rank)
    oracle, point, v = evaluated(n, x)
    s, projected = pinv_apply(cp_jacobian(x, n), v)
    direction = GaussNewton(as_solver(solver)).direction(oracle, point, jnp.asarray(1.0))
    assert np.linalg.norm(np.ravel(direction.s) - s) < 1e-10 * np.linalg.norm(s)
    assert float(direction.decrement) == pytest.approx(projected, rel=1e-10)
    assert float(direction.residual) < 1e-10
    assert (int(direction.inner_iterations) > 0) == (solver in ("cg", "lsmr"))


def test_right_gram_solves_from_the_right():
    x = factor(10, 3, 8.0, seed=0)
    oracle, point, _ = evaluated(2, x)
    direction = RightGram().direction(oracle, point, jnp.asarray(1.0))
    expected = np.asarray(point.subgradient) @ np.linalg.inv(x.T @ x)
    assert np.allclose(direction.s, expected, rtol=1e-10)
    assert float(direction.decrement) == pytest.approx(np.sum(expected * np.asarray(point.subgradient)), rel=1e-10)


def test_euclidean_is_the_subgradient():
    oracle, point, v = evaluated(2, factor(6, 2, 2.0, seed=0))
    direction = Euclidean().direction(oracle, point, jnp.asarray(1.0))
    assert np.allclose(np.ravel(direction.s), cp_jacobian(factor(6, 2, 2.0, seed=0), 2).T @ v, rtol=1e-12)


def test_too_few_inner_iterations_show_in_the_true_residual():
    oracle, point, _ = evaluated(3, factor(7, 3, 10.0, seed=0))
    direction = GaussNewton(CG(max_steps=2)).direction(oracle, point, jnp.asarray(1.0))
    assert int(direction.inner_iterations) == 2
    assert float(direction.residual) > 1e-3


def test_auto_takes_the_closed_form_then_dense_then_lsmr():
    small = gnp.composite(lambda x: x**2, gnp.L1(np.ones(4)))
    large = gnp.composite(lambda x: x**2, gnp.L1(np.ones(1200)))
    cp = gnp.composite(gnp.SymmetricCP(2), gnp.L1(np.ones((4, 4))))
    points = (cp, jnp.ones((4, 2))), (small, jnp.ones(4)), (large, jnp.ones(1200))
    chosen = [as_solver("auto").suited(problem, x) for problem, x in points]
    assert [type(solver) for solver in chosen] == [Closed, Dense, LSMR]


def test_cg_on_a_singular_matrix_against_numpy():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((8, 5))
    matrix = root @ root.T
    g = matrix @ rng.standard_normal(8)
    found = conjugate_gradient(jnp, lambda z: jnp.asarray(matrix) @ z, jnp.asarray(g), max_steps=100)
    assert np.allclose(found.solution, np.linalg.pinv(matrix, rcond=1e-12) @ g, rtol=1e-10)
    assert int(found.iterations) <= 12


def test_cg_of_zero_is_zero():
    found = conjugate_gradient(jnp, lambda z: z, jnp.zeros(3), max_steps=10)
    assert np.array_equal(found.solution, np.zeros(3))
    assert int(found.iterations) == 0


def test_autodiff_map_with_a_gauge_freedom():
    """x₀ + x₁ alone is determined; the minimum-norm direction moves both equally."""
    a = np.random.default_rng(0).standard_normal(6)
    problem = gnp.composite(lambda x, a: a * (x[0] + x[1]), gnp.L1(np.ones(6)), args=(a,))
    point = problem.evaluate(jnp.array([0.3, -2.0]))
    for solver in ("dense", "lsmr", "cg"):
        metric = GaussNewton(as_solver(solver))
        s = jax.jit(lambda problem, point, metric=metric: metric.direction(oracle_for(problem, point.x), point, 1.0).s)(
            problem, point
        )
        v = np.sign(a * -1.7 - 1.0)
        assert np.allclose(s, (a @ v) / (2 * a @ a), rtol=1e-12)


def test_a_system_that_is_not_solved_is_damped_by_the_default_method():
    rng = np.random.default_rng(0)
    columns = np.geomspace(1.0, 1e-6, 40)
    matrix, truth = rng.standard_normal((120, 40)) * columns, rng.standard_normal(40)
    penalty = gnp.CustomPenalty(
        lambda z, b: jnp.sum(jnp.abs(z - b)), lambda z, b: jnp.sign(z - b), args=(matrix @ truth,), infimum=0.0
    )
    problem = gnp.composite(lambda x, matrix: matrix @ x, penalty, args=(matrix,))
    unsolved = {"solver": "lsmr", "max_inner": 100}
    plain = gnp.minimize(problem, np.zeros(40), gnp.GNP(**unsolved), max_calls=50)
    assert plain.status is gnp.Status.LINEAR_SOLVE_FAILED
    assert plain.calls == 1
    goes_on = gnp.minimize(problem, np.zeros(40), gnp.Auto(**unsolved), max_calls=50)
    assert goes_on.calls == 50
    assert goes_on.value < 0.1 * plain.value


@pytest.mark.parametrize(("gap", "damped"), [(1e-3, False), (1e3, True)])
def test_all_directions_at_once_are_those_of_a_dense_solve(monkeypatch, gap, damped):
    """As a GPU solves for them, the point's own among them, with one damping for all."""
    monkeypatch.setattr(metrics, "on_gpu", lambda: True)
    x = factor(8, 3, 50.0, seed=1)
    oracle, point, _ = evaluated(2, x)
    jacobian = cp_jacobian(x, 2)
    others = np.random.default_rng(0).standard_normal((2, len(jacobian))) @ jacobian
    gradients = np.concatenate([np.asarray(point.subgradient)[None], others.reshape(2, *x.shape)])
    direction, found = GaussNewton(Closed(), "auto").several(oracle, point, jnp.asarray(gap), jnp.asarray(gradients))
    damping = float(direction.damping)
    system = jacobian.T @ jacobian + damping * np.eye(x.size)
    expected = np.linalg.pinv(system, rcond=1e-12, hermitian=True) @ gradients.reshape(3, -1).T
    assert (damping > 0) == damped
    assert damping == float(GaussNewton(Closed(), "auto").direction(oracle, point, jnp.asarray(gap)).damping)
    assert np.linalg.norm(found.reshape(3, -1).T - expected) < 1e-9 * np.linalg.norm(expected)
    assert np.array_equal(direction.s, found[0])
    assert float(direction.residual) < 1e-9


def test_without_other_subgradients_there_are_no_other_directions():
    oracle, point, _ = evaluated(2, factor(6, 2, 2.0, seed=0))
    direction, none = RightGram().several(oracle, point, jnp.asarray(1.0), None)
    assert none is None
    assert np.array_equal(direction.s, RightGram().direction(oracle, point, jnp.asarray(1.0)).s)
