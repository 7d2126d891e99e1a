import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.problem.composite import Point
from reference import cp_image, cp_jacobian, factor, pinv_apply


def algorithm_2(x0, b, lower_bound, inner, outer):
    """The paper's Algorithm 2 on ‖XXᵀ − B‖₁, written out in NumPy; the values in order of evaluation."""

    def value(x):
        return np.abs(cp_image(x, 2) - b).sum()

    h, values, best = lower_bound, [value(x0)], value(x0)
    for _ in range(outer):
        x = x0.copy()
        for _ in range(inner):
            v = np.sign(cp_image(x, 2) - b).ravel()
            s, projected = pinv_apply(cp_jacobian(x, 2), v)
            x = x - (value(x) - h) / (2 * projected) * s.reshape(x.shape)
            values.append(value(x))
            best = min(best, values[-1])
        h = (h + best) / 2
    return np.array(values), h


def small_matrix_problem(seed=0):
    rng = np.random.default_rng(seed)
    truth = factor(6, 2, 3.0, seed)
    b = truth @ truth.T + np.where(rng.random((6, 6)) < 0.15, rng.standard_normal((6, 6)), 0.0)
    return gnp.composite(gnp.SymmetricCP(2), gnp.L1(b)), truth + 0.05 * rng.standard_normal((6, 2)), b


def test_restarts_follow_algorithm_2_value_by_value():
    problem, x0, b = small_matrix_problem()
    expected, _ = algorithm_2(x0, b, lower_bound=0.0, inner=7, outer=4)
    res = gnp.minimize(problem, x0, lower_bound=0.0, strategy="restart", inner=7, outer=4, method="gnp")
    assert np.allclose(res.history.value, expected, rtol=1e-8)
    assert res.calls == 1 + 7 * 4
    assert res.status is gnp.Status.CALL_LIMIT


def test_the_best_of_all_restarts_is_returned_not_of_the_last():
    problem, x0, b = small_matrix_problem(seed=2)
    res = gnp.minimize(problem, x0, lower_bound=0.0, strategy="restart", inner=5, outer=6, method="gnp")
    assert res.value == res.history.value.min() == res.history.best[-1]
    assert np.abs(cp_image(res.x, 2) - b).sum() == pytest.approx(res.value, rel=1e-12)


def test_a_restart_that_gets_below_its_level_ends_there():
    """Below its own level h_k the step would turn backwards, and h_k is refuted as a bound: it must not become one."""
    rule = gnp.Restart(lower_bound=1.0, inner=10, outer=5)
    start, below = (Point(jnp.array([x]), jnp.asarray(f), jnp.ones(1)) for x, f in ((0.0, 9.0), (1.0, 4.9)))
    held, onward = rule.init(start), start
    for _ in range(10):
        held, onward = rule.advance(held, start, start)
    assert [float(held.estimate), float(held.floor), int(held.restarts)] == [5.0, 1.0, 1]
    crossed, onward = rule.advance(held, below, below)
    assert [float(crossed.floor), int(crossed.restarts), int(crossed.steps)] == [1.0, 2, 0]
    assert float(crossed.estimate) == pytest.approx((5.0 + 4.9) / 2)
    assert onward.x == start.x


@pytest.mark.parametrize("method", ["gnp", "polyak", "scaledsm"])
def test_level_ends_where_the_restarts_end(method):
    case = gnp.instances.tensor_sensing(d=30, r=2, kappa=2.0, p_fail=0.1, seed=1)
    level = gnp.minimize(case.problem, case.x0, method, tol=1e-12, max_calls=4000)
    restart = gnp.minimize(case.problem, case.x0, method, strategy="restart", inner=200, outer=50)
    assert level.success
    assert level.value <= restart.value + 1e-8
    assert level.value == pytest.approx(case.target, abs=1e-8)
    assert level.calls < restart.calls


def test_level_at_a_tight_bound_is_as_good_as_a_known_target():
    case = gnp.instances.tensor_sensing(d=30, r=2, kappa=4.0)
    known = gnp.minimize(case.problem, case.x0, target=0.0)
    level = gnp.minimize(case.problem, case.x0, lower_bound=0.0)
    assert level.success
    assert level.bound == 0.0
    assert level.calls <= 1.5 * known.calls


def test_level_goes_back_when_a_step_leaves_the_domain():
    """The first levels aim so far that the logarithm's argument turns negative."""
    t = np.linspace(0.1, 2.0, 30)
    y = np.log(0.5 + 2.0 * t)
    y[::5] += 40.0
    problem = gnp.composite(lambda x, t: jnp.log(x[0] + x[1] * t), gnp.L1(y), args=(t,))
    res = gnp.minimize(problem, np.array([0.8, 1.5]), "gnp", cuts=5)
    assert np.isnan(res.history.value).any()
    assert res.success
    assert np.allclose(res.x, [0.5, 2.0], atol=1e-8)


def test_fraction_of_the_method_overrides_the_rule():
    problem, x0, _ = small_matrix_problem()
    full = gnp.minimize(problem, x0, gnp.GNP(), target=0.0, max_calls=2).history.step[1]
    half = gnp.minimize(problem, x0, gnp.GNP(fraction=0.5), target=0.0, max_calls=2).history.step[1]
    rule = gnp.minimize(problem, x0, "gnp", lower_bound=0.0, strategy="restart", max_calls=2).history.step[1]
    assert half == rule == pytest.approx(full / 2, rel=1e-14)
