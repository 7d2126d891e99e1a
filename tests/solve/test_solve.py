"""The loop: statuses, what is returned, what is honoured between chunks."""

import itertools
import os
import signal
import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp


@pytest.fixture(scope="module")
def case():
    return gnp.instances.tensor_sensing(d=30, r=2, kappa=5.0)


@pytest.fixture(scope="module")
def slow():
    """A problem that Polyak does not finish in minutes."""
    return gnp.instances.tensor_sensing(d=60, r=4, kappa=300.0)


def test_success_returns_the_best_point_and_a_full_history(case):
    res = gnp.minimize(case.problem, case.x0, target=case.target)
    assert res.status is gnp.Status.TARGET_REACHED
    assert res.success
    assert res.value <= 1e-10 * res.history.value[0]
    assert case.recovery_error(res.x) < 1e-9
    assert len(res.history) == res.calls == len(res.history.step) == len(res.history.inner_iterations)
    assert res.value == res.history.best[-1] == res.history.value.min()
    assert np.array_equal(res.history.best, np.minimum.accumulate(res.history.value))
    assert np.array_equal(res.history.gap(0.5), res.history.value - 0.5)
    assert np.all(np.diff(res.history.seconds) > 0)
    assert res.history.seconds[-1] <= res.seconds
    assert "Target reached" in res.message
    assert "Target reached" in repr(res)


def test_one_entry_per_oracle_call_counts_what_is_done(case):
    """The oracle is counted where it is evaluated, by the host, and not where it is reported."""
    evaluated = []

    def model(x):
        jax.debug.callback(lambda: evaluated.append(1))
        return x**3

    problem = gnp.composite(model, gnp.L1(np.array([8.0, 27.0])))
    res = gnp.minimize(problem, np.array([1.5, 2.5]), gnp.Polyak(), target=0.0, max_calls=20)
    jax.effects_barrier()
    # One more evaluation of the model, without a subgradient, told which measurements are outliers.
    assert len(evaluated) == res.calls + 1


def test_inner_iterations_are_reported(case):
    res = gnp.minimize(case.problem, case.x0, gnp.GNP(solver="cg"), target=0.0)
    assert res.success
    assert res.history.inner_iterations[0] == 0
    assert np.all(res.history.inner_iterations[1:] > 0)


@pytest.mark.parametrize("fraction", [0.5, 0.75, 1.0])
@pytest.mark.parametrize("method", [gnp.GNP, gnp.ScaledSM, gnp.Polyak])
def test_any_step_fraction_between_a_half_and_one(case, method, fraction):
    assert gnp.minimize(case.problem, case.x0, method(fraction=fraction), target=0.0).success


def test_a_start_that_is_already_optimal_is_one_call(case):
    for target in ({"target": 0.0}, {"lower_bound": 0.0}, {"lower_bound": 0.0, "strategy": "restart"}):
        res = gnp.minimize(case.problem, case.truth, **target)
        assert res.success
        assert res.calls == 1


def test_call_limit(case):
    res = gnp.minimize(case.problem, case.x0, "polyak", target=0.0, max_calls=7)
    assert res.status is gnp.Status.CALL_LIMIT
    assert res.calls == len(res.history) == 7
    assert not res.success


def test_time_limit_is_honoured_within_a_chunk(slow):
    began = time.perf_counter()
    gnp.minimize(slow.problem, slow.x0, "polyak", target=0.0, max_calls=2)
    res = gnp.minimize(slow.problem, slow.x0, "polyak", target=0.0, max_calls=10**6, max_seconds=0.3)
    assert res.status is gnp.Status.TIME_LIMIT
    # An evaluation that would end too late is not begun.
    assert 0.2 <= res.seconds < 1.0
    assert time.perf_counter() - began < 20


def test_below_the_stated_target(case):
    """Where f is concave the step overshoots, and shows that the target was not the minimum."""
    concave = gnp.composite(lambda x: jnp.exp(-x), gnp.L1(np.array([1.0])))
    res = gnp.minimize(concave, np.array([2.0]), target=0.8)
    assert res.status is gnp.Status.BELOW_TARGET
    assert res.value < 0.8
    assert not res.success
    at_once = gnp.minimize(case.problem, case.x0, target=1e6)
    assert at_once.status is gnp.Status.BELOW_TARGET
    assert at_once.calls == 1


@pytest.mark.parametrize("strategy", ["level", "restart"])
def test_below_the_stated_lower_bound(case, strategy):
    res = gnp.minimize(case.problem, case.x0, lower_bound=1e6, strategy=strategy)
    assert res.status is gnp.Status.BELOW_TARGET
    assert res.calls == 1


def test_critical_point_above_the_target():
    """XXᵀ has a zero Jacobian at X = 0."""
    problem = gnp.composite(gnp.SymmetricCP(2), gnp.L1(np.eye(3)))
    res = gnp.minimize(problem, np.zeros((3, 1)), "gnp", target=0.0)
    assert res.status is gnp.Status.CRITICAL_POINT
    assert res.calls == 1


def test_a_map_that_turns_nan_midway_keeps_the_best_iterate():
    problem = gnp.composite(jnp.log, gnp.L1(np.array([-50.0])))
    res = gnp.minimize(problem, np.array([1.0]), "gnp", target=0.0)
    assert res.status is gnp.Status.NON_FINITE
    assert np.isfinite(res.value)
    assert np.isfinite(res.x).all()
    assert not np.isfinite(res.history.value[-1])


def test_steps_out_of_the_domain_are_taken_back():
    """ln x = −50 from x = 1: nearly every full step leaves x > 0."""
    res = gnp.minimize(gnp.composite(jnp.log, gnp.L1(np.array([-50.0]))), np.array([1.0]), target=0.0)
    assert res.success
    assert res.x[0] == pytest.approx(np.exp(-50.0), rel=1e-8)


def test_a_domain_that_blocks_the_level_rule_is_not_a_success():
    problem = gnp.composite(lambda x: jnp.where(x > 0.5, x, jnp.nan), gnp.L1(np.array([0.0])))
    res = gnp.minimize(problem, np.array([1.0]), "gnp")
    assert res.status is gnp.Status.NON_FINITE
    assert not gnp.minimize(problem, np.array([1.0])).success
    assert res.value == pytest.approx(0.5, abs=1e-6)


def test_nan_at_the_start_is_a_status():
    res = gnp.minimize(gnp.composite(jnp.log, gnp.L1(np.zeros(1))), np.array([-1.0]), target=0.0)
    assert res.status is gnp.Status.NON_FINITE
    assert res.calls == 1


def test_divergence_is_a_status():
    problem = gnp.composite(lambda x: x**3 - 3 * x, gnp.L1(np.array([1e4])))
    res = gnp.minimize(problem, np.array([1.0000001]), "gnp", target=0.0)
    assert res.status is gnp.Status.DIVERGED
    assert res.value <= 1.1e4


def test_one_datum_is_not_called_noise():
    """x³ − 3x = 10⁴ has the root 21.59, and a single residual has no others to be as large as."""
    problem = gnp.composite(lambda x: x**3 - 3 * x, gnp.L1(np.array([1e4])))
    res = gnp.minimize(problem, np.array([1.0000001]), target=0.0)
    assert res.status is not gnp.Status.NOISE
    assert res.success


def test_failed_linear_solve_is_a_status(case):
    res = gnp.minimize(case.problem, case.x0, gnp.GNP(solver="cg", max_inner=1), target=0.0)
    assert res.status is gnp.Status.LINEAR_SOLVE_FAILED
    assert res.calls == 1
    deficient = case.x0 * [1.0, 0.0]
    res = gnp.minimize(case.problem, deficient, "scaledsm", target=0.0)
    assert res.status is gnp.Status.LINEAR_SOLVE_FAILED


def test_stalled_at_precision_in_float32():
    case = gnp.instances.tensor_sensing(d=20, r=2, kappa=2.0, dtype=np.float32)
    res = gnp.minimize(case.problem, case.x0, target=0.0, max_calls=5000)
    assert res.status is gnp.Status.STALLED
    assert res.calls < 500
    assert res.x.dtype == np.float32
    assert case.recovery_error(res.x) < 1e-4


def test_stalled_at_precision_where_nothing_certifies():
    """The Euclidean norm is no sum over residuals, so there is no dual vector to look for."""
    case = gnp.instances.tensor_sensing(d=20, r=2, kappa=2.0, dtype=np.float32)
    problem = gnp.Composite(case.problem.map, gnp.L2(case.problem.penalty.b), case.problem.sensing)
    res = gnp.minimize(problem, case.x0, target=0.0, max_calls=5000)
    assert res.status is gnp.Status.STALLED
    assert res.calls < 500
    assert res.certificate is None
    assert case.recovery_error(res.x) < 1e-4


def test_callback_sees_progress_and_stops_the_solve(slow):
    seen = []

    def callback(res):
        seen.append(res)
        if res.calls > 50:
            raise StopIteration

    res = gnp.minimize(slow.problem, slow.x0, "polyak", target=0.0, max_calls=10**6, callback=callback)
    assert res.status is gnp.Status.STOPPED_BY_CALLBACK
    assert res.calls == seen[-1].calls > 50
    assert seen[0].calls == 1
    assert all(a.calls < b.calls and a.value >= b.value for a, b in itertools.pairwise(seen))
    assert all(r.status is gnp.Status.RUNNING for r in seen)


def test_other_errors_in_a_callback_are_the_users(case):
    with pytest.raises(ZeroDivisionError):
        gnp.minimize(case.problem, case.x0, target=0.0, callback=lambda res: 1 / 0)


def test_ctrl_c_returns_the_best_point(slow):
    gnp.minimize(slow.problem, slow.x0, "polyak", target=0.0, max_calls=2)
    handler = signal.getsignal(signal.SIGINT)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.perf_counter()
    res = gnp.minimize(slow.problem, slow.x0, "polyak", target=0.0, max_calls=10**7)
    assert time.perf_counter() - began < 5
    assert res.status is gnp.Status.INTERRUPTED
    assert res.calls > 1
    assert res.value == res.history.value.min()
    assert signal.getsignal(signal.SIGINT) is handler


def test_works_outside_the_main_thread(case):
    found = []
    thread = threading.Thread(target=lambda: found.append(gnp.minimize(case.problem, case.x0, target=0.0)))
    thread.start()
    thread.join()
    assert found[0].success


def test_progress_bar_draws_and_changes_nothing(case, capsys):
    shown = gnp.minimize(case.problem, case.x0, target=0.0, progress=True)
    assert shown.calls == gnp.minimize(case.problem, case.x0, target=0.0).calls
    assert capsys.readouterr().out == "", "results are read from there"


def test_every_status_has_advice():
    assert all(status.advice for status in gnp.Status)
    assert all(status.advice.endswith(".") for status in gnp.Status)
    assert [s for s in gnp.Status if s.success] == [gnp.Status.TARGET_REACHED, gnp.Status.CERTIFIED]


def test_zero_data_name_no_outliers():
    res = gnp.minimize(gnp.composite(lambda x: x**3 - 8.0, gnp.L1(np.zeros(4))), np.full(4, 2.5), target=0.0)
    assert res.success
    assert res.outliers is None


def test_a_slow_oracle_is_not_run_eight_times_past_the_limit():
    # In float32, because JAX runs callbacks in threads of its own, where 64-bit types are off.
    def slow(x):
        return jax.pure_callback(lambda x: (time.sleep(0.15), x)[1], jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    @jax.custom_jvp
    def model(x):
        return slow(x)

    model.defjvp(lambda primals, tangents: (slow(primals[0]), tangents[0]))
    problem = gnp.composite(model, gnp.CustomPenalty(lambda z: jnp.sum(jnp.abs(z)), jnp.sign))
    res = gnp.minimize(problem, np.float32([3.0, 1.0]), "polyak", target=-1.0, max_seconds=0.3, max_calls=50)
    assert res.status is gnp.Status.TIME_LIMIT
    assert res.calls <= 4
