"""What crosses the border: dtypes, containers, and programs that are compiled once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.solve import evaluation


@pytest.fixture(scope="module")
def case():
    return gnp.instances.tensor_sensing(d=10, r=2, kappa=2.0)


@pytest.mark.parametrize("method", ["gnp", "scaledsm", "polyak"])
@pytest.mark.parametrize(
    "rule", [{"target": 0.0}, {"lower_bound": 0.0}, {"strategy": "restart", "inner": 9, "outer": 2}]
)
@pytest.mark.parametrize("runner", ["host", "compiled"])
def test_a_second_solve_of_the_same_shapes_compiles_nothing(method, rule, runner, compilations, monkeypatch):
    """New data, start, target, tolerance and limits: all are arguments of the compiled loop, none a constant."""
    monkeypatch.setattr(evaluation, "FORCED", runner)
    first, second = (gnp.instances.tensor_sensing(d=13, r=2, kappa=2.0, seed=seed) for seed in (0, 1))
    with compilations() as cold:
        gnp.minimize(first.problem, first.x0, method, **rule)
    changed = {key: value + 1 if isinstance(value, int) else value for key, value in rule.items()}
    with compilations() as warm:
        gnp.minimize(second.problem, second.x0, method, tol=1e-6, max_calls=50, **changed)
    # On the host nothing is, not even for the first.
    assert (cold.count > 0) is (runner == "compiled")
    assert warm.count == 0


def test_a_second_composite_of_one_function_compiles_nothing(compilations):
    def model(x, t):
        return jnp.exp(x[0] * t) + x[1]

    def solve(seed):
        t = np.random.default_rng(seed).random(9)
        problem = gnp.composite(model, gnp.L1(np.exp(0.5 * t) + 2.0), args=(t,))
        return gnp.minimize(problem, np.array([0.4, 1.8]), target=0.0)

    assert solve(0).success
    with compilations() as warm:
        assert solve(1).success
    assert warm.count == 0


def test_float64_in_float64_out_with_jax_flags_untouched(case):
    assert not jax.config.jax_enable_x64
    res = gnp.minimize(case.problem, case.x0, target=0.0)
    assert isinstance(res.x, np.ndarray)
    assert res.x.dtype == np.float64
    assert res.value < 1e-7
    assert not jax.config.jax_enable_x64
    assert jnp.ones(2).dtype == jnp.float32
    assert jax.config.jax_default_matmul_precision is None


def test_jax_in_jax_out():
    problem = gnp.composite(lambda x: x**3, gnp.L1(jnp.array([8.0])))
    res = gnp.minimize(problem, jnp.array([1.5]), target=0.0, tol=1e-4)
    assert isinstance(res.x, jax.Array)
    assert res.x.dtype == jnp.float32
    assert res.x[0] == pytest.approx(2.0, rel=1e-3)


def test_pytree_in_pytree_out():
    problem = gnp.composite(lambda x: x["a"] * jnp.ones(3) + x["b"][0], gnp.L1(np.full(3, 5.0)))
    res = gnp.minimize(problem, {"a": np.array(1.0), "b": [np.array([2.0, 7.0])][0]}, target=0.0)
    assert res.success
    assert set(res.x) == {"a", "b"}
    # Minimum norm: the two parts of the sum move alike, and the part without influence stays.
    assert np.allclose([res.x["a"], *res.x["b"]], [2.0, 3.0, 7.0], atol=1e-9)


def test_integer_and_list_starts_are_float64(case):
    problem = gnp.composite(lambda x: x**3, gnp.L1([8, 27]))
    res = gnp.minimize(problem, [3, 4], target=0.0)
    assert res.x.dtype == np.float64
    assert np.allclose(res.x, [2, 3], atol=1e-6)


@pytest.mark.parametrize("method", ["auto", "scaledsm", "polyak"])
def test_float32_stays_float32_where_x64_is_on(method):
    case = gnp.instances.tensor_sensing(d=12, r=2, kappa=2.0, dtype=np.float32)
    with jax.enable_x64(True):
        chosen, target, x0 = gnp.tables.methods[method](), gnp.Known(np.float32(0.0)), jnp.asarray(case.x0)
        state = gnp.init(case.problem, chosen, target, x0)
        state, _ = jax.jit(lambda state: gnp.step(case.problem, chosen, target, state))(state)
    assert state.point.x.dtype == jnp.float32


def test_the_answer_may_be_written_to(case):
    res = gnp.minimize(case.problem, case.x0, target=0.0)
    res.x[0, 0] = 7.0
    assert res.x[0, 0] == 7.0


def test_indices_among_the_arguments_stay_indices():
    entries = np.array([0, 2, 2, 1])
    problem = gnp.composite(lambda x, i: x[i] ** 3, gnp.L1(np.array([1.0, 27.0, 27.0, 8.0])), args=(entries,))
    res = gnp.minimize(problem, [np.float64(1.1), np.float64(2.2), np.float64(2.8)], target=0.0)
    assert np.allclose(res.x, [1.0, 2.0, 3.0], atol=1e-8)


def line(a, x):
    b = a @ x
    b[::5] += 3.0
    return gnp.L1(b)


def test_a_captured_array_that_changed_is_seen(compilations):
    """And so is one of a fresh lambda of the same code, without another program."""
    truth = np.arange(1.0, 4.0)
    a = np.random.default_rng(0).standard_normal((40, 3))

    def model(x):
        return a @ x

    assert np.allclose(gnp.minimize(gnp.composite(model, line(a, truth)), np.ones(3)).x, truth)
    a *= 2
    with compilations() as warm:
        problem = gnp.composite(model, line(a, truth))
        res = gnp.minimize(problem, np.ones(3))
        assert res.success
        assert np.allclose(res.x, truth)
        assert gnp.diagnostics.certify(problem, truth).holds
        other = np.random.default_rng(1).standard_normal((40, 3))
        fresh = {"model": lambda x: other @ x}["model"]
        fresh.__name__ = "model"
        assert np.allclose(gnp.minimize(gnp.composite(fresh, line(other, truth)), np.ones(3)).x, truth)
    assert warm.count == 0


def test_a_captured_number_that_changed_is_seen():
    power = [2.0]
    problem = gnp.composite(lambda x: x ** power[0], gnp.L1(np.array([4.0, 9.0])))
    assert np.allclose(gnp.minimize(problem, np.array([1.5, 2.5])).x, [2.0, 3.0])
    power[0] = 1.0
    assert np.allclose(gnp.minimize(problem, np.array([1.5, 2.5])).x, [4.0, 9.0])


def test_what_a_custom_penalty_captures_is_seen_to_change(compilations):
    b = np.array([1.0, -2.0, 4.0])
    penalty = gnp.CustomPenalty(lambda z: jnp.sum(jnp.abs(z - b)), lambda z: jnp.sign(z - b), infimum=0.0)
    problem = gnp.composite(lambda x: 2 * x, penalty)
    assert np.allclose(gnp.minimize(problem, np.ones(3), "gnp").x, b / 2)
    b += 1.0
    with compilations() as warm:
        assert np.allclose(gnp.minimize(problem, np.ones(3), "gnp").x, b / 2)
    assert warm.count == 0


@pytest.mark.parametrize("check", [gnp.diagnostics.check_taylor, gnp.diagnostics.check_adjoint])
def test_diagnostics_see_what_is_captured_as_it_is(check):
    a = np.eye(2)
    problem = gnp.composite(lambda x: a @ jnp.sin(x), gnp.L1(np.ones(2)))
    assert check(problem, [0.3, 0.4]).passed
    a[:] = [[1.0, 2.0], [3.0, 5.0]]
    assert check(problem, [0.3, 0.4]).passed
