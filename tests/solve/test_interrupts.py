"""Ctrl-C at any moment of a call: it ends with the best point so far, or raises where there is none."""

import signal

import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.fit import starting as fit_starting
from gnpolyak.oracles import parts
from gnpolyak.solve import finish, growth, plan
from gnpolyak.starts.power import rank as ranks
from gnpolyak.steps import least_absolute

T = np.linspace(0, 4, 60)
START = np.array([1.0, 1.0, 0.0])


def decay():
    b = 2.5 * np.exp(-1.3 * T) + 0.5 + 0.01 * np.random.default_rng(3).standard_normal(T.size)
    b[::8] += 3.0
    return b


def curve(penalty=gnp.L1):
    return gnp.composite(lambda p, t: p[0] * jnp.exp(-p[1] * t) + p[2], penalty(decay()), args=(T,))


def quantile(b):
    """Its certificate is the dual of an l1 problem, which is solved for it."""
    return gnp.Pinball(b, 0.3)


def press():
    signal.raise_signal(signal.SIGINT)


def pressing(function, at=1):
    """The function, during the call number `at` of which Ctrl-C is pressed."""
    calls = []

    def pressed(*args, **kwargs):
        calls.append(1)
        if len(calls) == at:
            press()
        return function(*args, **kwargs)

    return pressed


@pytest.fixture(autouse=True)
def handler():
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before


def test_in_a_start_it_raises_before_the_start_is_made(monkeypatch):
    """Nothing was evaluated: there is no point to return."""
    problem = gnp.instances.tensor_sensing(d=20, r=2, p_fail=0.1).problem
    fits = []
    monkeypatch.setattr(ranks, "estimate", pressing(ranks.estimate))
    fit = ranks.core.factors
    monkeypatch.setattr(ranks.core, "factors", lambda *args: fits.append(1) or fit(*args))
    with pytest.raises(KeyboardInterrupt):
        gnp.minimize(problem)
    assert not fits


def test_in_a_start_that_cannot_be_halted_its_point_is_returned(monkeypatch):
    monkeypatch.setattr(plan, "start", pressing(plan.start))
    res = gnp.minimize(gnp.instances.robust_pca(d1=20, d2=15, r=2).problem)
    assert res.status is gnp.Status.INTERRUPTED
    assert res.calls == 1
    assert np.isfinite(res.value)


def test_in_the_first_evaluation_of_a_model_in_numpy_it_raises():
    calls = []

    def model(p):
        calls.append(1)
        if len(calls) == 2:  # the first call is for the shape of the image
            press()
        return p[0] * np.exp(-p[1] * T) + p[2]

    problem = gnp.composite(gnp.NumpyMap(model), gnp.L1(decay()))
    try:
        res = gnp.minimize(problem, START)
    except KeyboardInterrupt:
        return
    assert res.status is gnp.Status.INTERRUPTED
    assert res.calls == 1


def test_in_a_jacobian_by_differences_the_point_before_it_is_returned():
    calls = []

    def model(p):
        calls.append(1)
        if len(calls) == 12:
            press()
        return p[0] * np.exp(-p[1] * T) + p[2]

    res = gnp.minimize(gnp.composite(gnp.NumpyMap(model), gnp.L1(decay())), START)
    assert res.status is gnp.Status.INTERRUPTED
    assert len(calls) == 12
    assert np.isfinite(res.value)


def test_in_the_steps_it_ends_with_the_best(monkeypatch):
    problem = gnp.instances.tensor_sensing(d=20, r=2, kappa=10.0, p_fail=0.2)
    monkeypatch.setattr(parts.PartsOracle, "evaluate", pressing(parts.PartsOracle.evaluate, at=7))
    res = gnp.minimize(problem.problem, problem.x0)
    assert res.status is gnp.Status.INTERRUPTED
    assert res.calls <= 8
    assert res.value == res.history.value.min() < res.history.value[0]


def test_between_two_ranks_it_ends_with_the_best(monkeypatch):
    problem = gnp.instances.robust_pca(d1=30, d2=25, r=3, kappa=3.0).problem
    found = growth.larger_for
    monkeypatch.setattr(growth, "larger_for", lambda problem: pressing(found(problem), at=2))
    res = gnp.minimize(problem)
    assert res.status is gnp.Status.INTERRUPTED
    assert all(np.any(column) for column in res.x[0].T)
    assert np.isclose(np.sum(np.abs(np.asarray(problem.penalty.b) - res.x[0] @ res.x[1].T)), res.value)


@pytest.mark.parametrize("where", ["before", "inside"])
def test_in_a_certificate_the_point_is_returned_without_one(where, monkeypatch):
    problem = curve(gnp.L1 if where == "before" else quantile)
    whole = gnp.minimize(problem, START)
    assert whole.status is gnp.Status.CERTIFIED
    if where == "before":
        monkeypatch.setattr(finish, "certify", pressing(finish.certify))
    else:
        reached, certify = [], finish.certify
        solve = least_absolute.cho_solver

        def certifying(*args):
            reached.append(1)
            return certify(*args)

        def pressed(*args):
            if len(reached) == 1:
                reached.append(1)
                press()
            return solve(*args)

        monkeypatch.setattr(finish, "certify", certifying)
        monkeypatch.setattr(least_absolute, "cho_solver", pressed)
    res = gnp.minimize(problem, START)
    assert res.status is gnp.Status.INTERRUPTED
    assert res.certificate is None
    assert np.isclose(res.value, whole.value, rtol=1e-2)
    # What was given up can be taken up.
    assert gnp.minimize(problem, resume=res).status is gnp.Status.CERTIFIED


def test_in_a_solve_of_several_starts_from_the_data_it_is_not_lost(monkeypatch):
    problem = gnp.instances.tensor_sensing(d=20, r=2, p_fail=0.1).problem
    monkeypatch.setattr(ranks, "estimate", pressing(ranks.estimate))
    with pytest.raises(KeyboardInterrupt):
        gnp.minimize(problem, starts=3)


def test_between_the_starts_of_a_fit_it_ends_with_the_best(monkeypatch):
    monkeypatch.setattr(fit_starting, "best", pressing(fit_starting.best))
    with pytest.warns(gnp.FitWarning):
        fit = gnp.curve_fit(lambda x, a, b, c: a * jnp.exp(-b * x) + c, T, decay(), full_output=True)
    assert fit.status is gnp.Status.INTERRUPTED
    assert fit.starts == 1
    assert np.all(np.isfinite(fit.popt))


def test_twice_it_raises():
    def twice(res):
        press()
        press()

    with pytest.raises(KeyboardInterrupt):
        gnp.minimize(curve(), START, callback=twice)
