"""The clock of a solve is the caller's: what he waited, what it went into, and the limit he set."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.solve import evaluation

T = np.linspace(0, 4, 60)
PARTS = {"start", "steps", "certificate", "compiling"}


def decay(noise=0.01):
    b = 2.5 * np.exp(-1.3 * T) + 0.5 + noise * np.random.default_rng(3).standard_normal(T.size)
    b[::8] += 3.0
    return b


def curve(model=lambda p, t: p[0] * jnp.exp(-p[1] * t) + p[2]):
    return gnp.composite(model, gnp.L1(decay()), args=(T,)), {"x0": np.array([1.0, 1.0, 0.0])}


def slow_numpy():
    def model(p):
        time.sleep(0.05)
        return p[0] * np.exp(-p[1] * T) + p[2]

    return gnp.composite(gnp.NumpyMap(model), gnp.L1(decay())), {"x0": np.array([1.0, 1.0, 0.0])}


def slow_jax():
    """A model of 40 variables that takes some ten milliseconds a call."""
    rng = np.random.default_rng(0)
    w = rng.standard_normal((600, 600)) / 25

    def model(p, w):
        return jax.lax.scan(lambda x, _: (jnp.tanh(w @ x), None), jnp.tanh(w[:, :40] @ p), None, length=60)[0]

    return gnp.composite(model, gnp.L1(rng.standard_normal(600)), args=(w,)), {"x0": np.ones(40)}


def robust_pca():
    return gnp.instances.robust_pca(d1=1500, d2=1200, r=5, kappa=3.0).problem, {}


def sensing():
    return gnp.instances.tensor_sensing(d=300, r=3, kappa=3.0, p_fail=0.1).problem, {}


def completion():
    return gnp.instances.matrix_completion(d1=1500, d2=1200, r=5, observed=0.3, kappa=10.0).problem, {}


def without_a_closed_form():
    """3,000 variables: LSMR for each direction, of many products."""
    rng, n = np.random.default_rng(0), 3000
    a = rng.standard_normal((2 * n, n)) / n**0.5
    b = np.sin(a @ rng.standard_normal(n))
    b[::9] += 3.0
    return gnp.composite(lambda x, a: jnp.sin(a @ x), gnp.L1(b), args=(a,)), {"x0": np.zeros(n)}


def timed(call, *args, **kwargs):
    began = time.perf_counter()
    return call(*args, **kwargs), time.perf_counter() - began


def require_the_callers_wait(res, waited):
    assert res.seconds <= waited
    assert waited - res.seconds <= max(0.1 * waited, 0.02)
    assert set(res.timings) == PARTS
    assert all(0 <= each <= res.seconds for each in res.timings.values())
    assert res.history.seconds[-1] <= res.seconds
    assert np.all(np.diff(res.history.seconds) >= 0)


@pytest.mark.parametrize("runner", ["host", "compiled"])
def test_seconds_are_what_the_caller_waits_compilation_included(runner, monkeypatch):
    monkeypatch.setattr(evaluation, "FORCED", runner)
    # A model of its own, so that it is compiled here.
    problem, options = curve(lambda p, t: p[0] * jnp.exp(-p[1] * t) + p[2])
    res, waited = timed(gnp.minimize, problem, **options)
    assert res.certificate is not None
    require_the_callers_wait(res, waited)
    assert res.timings["compiling"] > 0
    assert res.timings["steps"] + res.timings["certificate"] >= 0.5 * res.seconds


@pytest.mark.parametrize("penalty", [gnp.L1, lambda b: gnp.Pinball(b, 0.3)], ids=["L1", "Pinball"])
def test_what_runs_in_numpy_compiles_nothing(penalty, compilations):
    """In noise: graduated steps, then the l1 problem and its certificate, or for quantiles the dual of that problem."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal((83, 3))
    problem = gnp.composite(gnp.Linear(a), penalty(a @ np.ones(3) + 0.1 * rng.standard_normal(83)))
    with compilations() as seen:
        res, waited = timed(gnp.minimize, problem)
    assert res.certificate is not None
    require_the_callers_wait(res, waited)
    assert seen.count == 0
    assert res.timings["compiling"] == 0


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        (gnp.instances.tensor_sensing(d=20, r=2, kappa=10.0, p_fail=0.2).problem, {}),
        (gnp.instances.matrix_completion(d1=40, d2=30, r=2, observed=0.6, kappa=3.0).problem, {}),
        (gnp.instances.robust_pca(d1=40, d2=30, r=2).problem, {"rank": 2, "polish": True}),
        (gnp.instances.tensor_sensing(d=20, r=2, p_fail=0.2).problem, {"rank": 2, "starts": 3}),
    ],
    ids=["sensing", "completion", "polished", "several starts"],
)
def test_the_start_from_the_data_is_part_of_it(problem, options):
    res, waited = timed(gnp.minimize, problem, **options)
    assert res.success
    if "starts" in options:
        assert 0 <= waited - res.seconds <= max(0.1 * waited, 0.02)
    else:
        require_the_callers_wait(res, waited)
        assert res.timings["start"] > 0


@pytest.mark.parametrize("given", [True, False])
def test_the_seconds_of_a_fit_are_those_of_all_its_starts(given):
    p0 = [1.0, 1.0, 0.0] if given else None
    args = (lambda x, a, b, c: a * np.exp(-b * x) + c, T, decay(), p0)
    fit, waited = timed(gnp.curve_fit, *args, full_output=True)
    assert fit.starts == 1 if given else fit.starts > 1
    require_the_callers_wait(fit, waited)


def require_in_time(make, limit, evaluation=0.0):
    problem, options = make()
    res, waited = timed(gnp.minimize, problem, **options, max_seconds=limit)
    assert res.status is gnp.Status.TIME_LIMIT
    assert waited <= limit + 1.0 + evaluation
    assert res.calls >= 1
    assert np.isfinite(res.value)
    assert res.value == res.history.value.min()
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(res.x))
    require_the_callers_wait(res, waited)


def test_a_slow_model_in_numpy_ends_in_time():
    """Its Jacobian by differences is tens of calls."""
    require_in_time(slow_numpy, 0.2, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0.2, 1.0])
@pytest.mark.parametrize(
    "make",
    [slow_numpy, slow_jax, robust_pca, sensing, completion, without_a_closed_form],
    ids=lambda make: make.__name__,
)
def test_a_limit_bounds_the_whole_call(make, limit):
    require_in_time(make, limit, 0.2)


def test_a_start_that_used_up_the_time_is_evaluated(monkeypatch):
    case = gnp.instances.tensor_sensing(d=20, r=2, kappa=10.0, p_fail=0.2)
    res = gnp.minimize(case.problem, max_seconds=1e-3)
    assert res.status is gnp.Status.TIME_LIMIT
    assert res.calls == 1
    assert np.isfinite(res.value)
    # With more time it goes on from there.
    assert gnp.minimize(case.problem, resume=res, max_seconds=60.0).calls > 1


def test_streamed_rows_whose_start_used_up_the_time_are_evaluated_too(tmp_path):
    case = gnp.instances.tensor_sensing(d=8, r=1)
    sensing = case.problem.sensing
    for name in "pq":
        np.save(tmp_path / f"{name}.npy", np.asarray(getattr(sensing, name)))
    rows = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "pq"]
    problem = gnp.composite(case.problem.map, case.problem.penalty, sensing=gnp.PowerSensing(*rows))
    res = gnp.minimize(problem, max_seconds=1e-4)
    assert res.status is gnp.Status.TIME_LIMIT
    assert res.calls == 1


def test_a_certificate_ends_in_time(monkeypatch):
    """The l1 problem of a certificate is solved step by step, and given up between two."""
    problem, options = curve()
    whole = gnp.minimize(problem, **options)
    assert whole.certificate is not None
    step = evaluation.Evaluation.oracle.fget

    def slow(self):
        time.sleep(0.4)
        return step(self)

    monkeypatch.setattr(evaluation.Evaluation, "oracle", property(slow))
    res = gnp.minimize(problem, **options, max_seconds=0.3)
    assert res.status is gnp.Status.TIME_LIMIT
    assert res.certificate is None
    assert res.value <= whole.value * (1 + 1e-3)
    assert res.timings["certificate"] >= 0.4


def test_a_batch_ends_in_time():
    problem, options = slow_numpy()
    results, waited = timed(gnp.minimize_batch, problem, np.stack([options["x0"]] * 3), max_seconds=0.3)
    assert {res.status for res in results} == {gnp.Status.TIME_LIMIT}
    # Each member's first point, and one call more.
    assert waited <= 0.3 + 1.0 + 4 * 0.05
