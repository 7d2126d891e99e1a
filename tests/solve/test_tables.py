"""A user's own parts, registered under a name or a type, are what `minimize` then uses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp


class Linear(gnp.Map):
    """c(x) = Mx."""

    matrix: jnp.ndarray

    def __call__(self, x):
        return self.matrix @ x


TRUTH = np.array([1.0, 2.0, 3.0])


@pytest.fixture(scope="module")
def problem():
    """Forty measurements, of which six are off by 10: the optimal value is 60."""
    matrix = np.random.default_rng(0).standard_normal((40, 3))
    return gnp.composite(Linear(matrix), gnp.L1(matrix @ TRUTH + 10.0 * (np.arange(40) < 6)))


class Ladder(gnp.Target):
    """The optimum is a whole number: aim at the next one below the best value."""

    lower_bound: float
    fraction = 1.0

    def init(self, start):
        return start.value

    def level(self, best):
        return jnp.maximum(jnp.ceil(best - 1e-9) - 1.0, self.lower_bound)

    def bound(self, best):
        return self.lower_bound

    def stated(self):
        return self.lower_bound

    def advance(self, best, point, lowest):
        return lowest.value, point


def test_a_users_rule_sets_the_levels(problem):
    res = gnp.minimize(problem, np.zeros(3), "gnp", target=Ladder(60.0), tol=1e-9)
    first = res.history.value[0]
    # In a metric in which M is an isometry on its range, the first step goes by (f − level)/‖Pv‖².
    v = np.sign(-np.asarray(problem.penalty.b))
    matrix = np.asarray(problem.map.matrix)
    projected = matrix @ np.linalg.lstsq(matrix, v)[0]
    assert res.history.step[1] == pytest.approx((first - np.ceil(first) + 1.0) / (projected @ projected))
    assert res.rule == "ladder"
    assert np.allclose(res.x, TRUTH, atol=1e-6)


def test_a_configured_rule_instead_of_a_number(problem):
    res = gnp.minimize(problem, np.zeros(3), target=gnp.Level(0.0, patience=8))
    assert res.success
    assert np.allclose(res.x, TRUTH, atol=1e-9)
    assert gnp.minimize(problem, np.zeros(3), "gnp", target=gnp.Level(0.0, patience=8), max_calls=5).rule == "level"


def test_the_patience_of_a_rule_is_its_own(problem):
    short, long = (
        gnp.minimize(problem, np.zeros(3), "gnp", target=gnp.Level(0.0, patience=patience)) for patience in (2, 8)
    )
    assert not np.array_equal(short.history.value, long.history.value)


def test_a_rule_under_a_name(problem, monkeypatch):
    monkeypatch.setitem(gnp.tables.strategies, "ladder", Ladder)
    res = gnp.minimize(problem, np.zeros(3), "gnp", strategy="ladder", lower_bound=60.0, tol=1e-9)
    assert res.rule == "ladder"
    assert np.allclose(res.x, TRUTH, atol=1e-6)


def test_a_registered_start(problem, monkeypatch):
    with pytest.raises(gnp.InputError, match="no x0"):
        gnp.minimize(problem)

    def least_squares(problem):
        return np.linalg.lstsq(np.asarray(problem.map.matrix), problem.penalty.b)[0]

    monkeypatch.setitem(gnp.tables.starts, (Linear, gnp.Identity), least_squares)
    res = gnp.minimize(problem)
    x0 = least_squares(problem)
    residuals = np.asarray(problem.map.matrix) @ x0 - np.asarray(problem.penalty.b)
    assert res.history.value[0] == pytest.approx(np.abs(residuals).sum())
    assert res.history.value[0] > 61
    assert np.allclose(res.x, TRUTH, atol=1e-9)
    with pytest.raises(gnp.InputError, match="no rank: its start has none"):
        gnp.minimize(problem, rank=3)


def test_a_registered_linear_solver(problem, monkeypatch):
    solved = []

    class NormalEquations(gnp.LinearSolver):
        """(MᵀM + λI)⁻¹g."""

        def solve_many(self, problem, x, subgradients, damping):
            jax.debug.callback(lambda: solved.append(1))
            gram = problem.map.matrix.T @ problem.map.matrix + damping * jnp.eye(len(x))
            return jnp.linalg.solve(gram, subgradients.T).T

        def solve(self, problem, point, damping):
            return self.solve_many(problem, point.x, point.subgradient[None], damping)[0], 0

    monkeypatch.setitem(gnp.tables.solvers, "normal", NormalEquations)
    res = gnp.minimize(problem, np.zeros(3), gnp.GNP(solver="normal"), target=60.0)
    jax.effects_barrier()
    assert res.success
    assert len(solved) == res.calls - 1


def test_a_registered_kernel(problem, monkeypatch):
    evaluated = []

    class LinearL1(gnp.Kernel):
        """‖Mx − b‖₁ and Mᵀ sign(Mx − b)."""

        def evaluate(self, c, sensing, penalty, x):
            jax.debug.callback(lambda: evaluated.append(1))
            r = c.matrix @ x - penalty.b
            return jnp.sum(jnp.abs(r)), c.matrix.T @ jnp.sign(r)

    parts = gnp.minimize(problem, np.zeros(3), "gnp", target=60.0)
    monkeypatch.setitem(gnp.tables.kernels, (Linear, gnp.Identity, gnp.L1), LinearL1())
    # Compiled programs do not look at the table again.
    jax.clear_caches()
    gnp.testing.check_kernel(problem, TRUTH + 0.1)
    jax.effects_barrier()
    evaluated.clear()
    res = gnp.minimize(problem, np.zeros(3), "gnp", target=60.0)
    jax.effects_barrier()
    assert len(evaluated) == res.calls
    assert np.allclose(res.history.value, parts.history.value, rtol=1e-6)


def test_a_registered_method(problem, monkeypatch):
    class Shortened(gnp.Polyak):
        """The subgradient method with steps of three quarters."""

        name = "shortened"

    monkeypatch.setitem(gnp.tables.methods, "shortened", lambda: Shortened(fraction=0.75))
    with pytest.raises(gnp.InputError, match="'shortened'"):
        gnp.minimize(problem, np.zeros(3), "adam")
    named, polyak = (gnp.minimize(problem, np.zeros(3), name, target=60.0) for name in ("shortened", "polyak"))
    assert "shortened" in named.method
    assert named.history.step[1] == pytest.approx(0.75 * polyak.history.step[1])
    assert named.success
