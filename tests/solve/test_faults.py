"""Faults in the oracle, through `minimize` itself: no false success, no best point lost, no limit passed.

The oracle goes wrong on the host, once or from some answer on for good, at each of the first answers. What was found is
judged by the healthy problem.
"""

import warnings
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from solve.faults import FAULTS, Faulty, Host

CALLS, MOST = 40, 300
RULES = {
    "known": lambda optimum: {"target": optimum},
    "level": lambda optimum: {"lower_bound": 0.0},
    "restart": lambda optimum: {"strategy": "restart", "inner": 20, "outer": 10},
}
# Where AJ is formed, other code is at work: a model by autodiff, with the methods that use that.
TABLE = [
    *(("matrix", method, rule) for method in gnp.tables.methods for rule in RULES),
    *(("model", method, rule) for method in ("auto", "graduated", "gnp") for rule in RULES),
]


def model(x, a):
    return a @ x + 0.01 * (a @ x) ** 2


@cache
def patient(name):
    """A problem with a host for its oracle, the healthy problem, a start, and the optimal value."""
    if name == "matrix":
        case = gnp.instances.tensor_sensing(d=6, r=2, kappa=2.0, p_fail=0.1)
        healthy, x0, optimum = case.problem, case.x0, case.target
    else:
        rng = np.random.default_rng(0)
        a, truth, bad = rng.standard_normal((40, 3)), np.arange(1.0, 4.0), np.zeros(40)
        bad[::6] = 5 * rng.standard_normal(7)
        healthy = gnp.composite(model, gnp.L1(np.asarray(model(truth, a)) + bad), args=(a,))
        x0, optimum = truth + 0.2, float(np.abs(bad).sum())
    host = Host(np.asarray(healthy.penalty.b))
    return host, gnp.Composite(healthy.map, Faulty(host), healthy.sensing), healthy, x0, optimum


def true_value(healthy, x):
    with jax.enable_x64(True):
        z = healthy.sensing.measure(healthy.map, jnp.asarray(x))[0]
    return float(np.abs(np.asarray(z) - np.asarray(healthy.penalty.b)).sum())


def holds_up(healthy, x, gap, tol):
    """Whether a success is one by the healthy problem: the optimum, or a point with a certificate."""
    return gap <= tol or gnp.diagnostics.certify(healthy, x).holds


def complaints(name, method, rule, places):
    """What was wrong in any solve with a fault at one of these places, and how many solves there were."""
    host, problem, healthy, x0, optimum = patient(name)
    options = {"max_calls": MOST, **RULES[rule](optimum)}
    host.be_healthy()
    assert gnp.minimize(problem, x0, method, **options).value < true_value(healthy, x0)
    asked, found, solves = dict(host.asked), [], 0
    tol = 1e-10 * (true_value(healthy, x0) - optimum) if rule == "known" else 1e-8 * optimum
    for kind, fault in FAULTS:
        for at in (place for place in places if place < asked[kind]):
            for lasting in (False, True):
                host.fail(kind, fault, at, lasting)
                with warnings.catch_warnings(action="ignore"):
                    res = gnp.minimize(problem, x0, method, **options)
                value, solves = true_value(healthy, res.x), solves + 1
                good = {
                    "false success": not res.success
                    or holds_up(healthy, res.x, value - optimum, tol + 1e-12 * optimum),
                    "best point lost": np.isfinite(value) and value <= host.best * (1 + 1e-9),
                    "best value lost": np.isfinite(res.value) or not np.isfinite(host.best),
                    "limit passed": res.calls <= MOST,
                }
                found += [(word, kind, fault, at, lasting, res.status.name) for word, fine in good.items() if not fine]
    return found, solves


SOME = [("matrix", "auto", "known"), ("matrix", "graduated", "known"), ("model", "auto", "level")]


@pytest.mark.parametrize(("name", "method", "rule"), SOME)
def test_some_faults(name, method, rule):
    found, solves = complaints(name, method, rule, (0, 1, 9))
    assert not found
    assert solves >= 50


@pytest.mark.slow
@pytest.mark.parametrize(("name", "method", "rule"), TABLE)
def test_every_fault(name, method, rule):
    found, solves = complaints(name, method, rule, range(CALLS))
    print(f"{name} {method} {rule}: {solves} solves, {len(found)} complaints")
    assert not found


@pytest.mark.parametrize("rule", RULES)
def test_values_that_are_all_huge_are_no_success(rule):
    host, problem, _, x0, optimum = patient("matrix")
    host.fail("value", "1e300", 0, True)
    res = gnp.minimize(problem, x0, "gnp", max_calls=MOST, **RULES[rule](optimum))
    assert not res.success
    host.fail("value", "1e300", 1, True)
    res = gnp.minimize(problem, x0, "gnp", max_calls=MOST, **RULES[rule](optimum))
    assert not res.success
    assert res.value == pytest.approx(host.best)


def slope(z, b, factor, noise):
    return factor * jnp.sign(z - b) + noise


@pytest.mark.parametrize("rule", RULES)
def test_a_custom_penalty_with_a_wrong_subgradient_is_no_success(rule):
    b, noise = np.linspace(1.0, 2.0, 12), np.random.default_rng(0).standard_normal(12)
    for factor, more in ((-1.0, 0 * noise), (0.0, noise)):
        value = lambda z, b, *_: jnp.sum(jnp.abs(z - b))  # noqa: E731
        penalty = gnp.CustomPenalty(value, slope, args=(b, factor, more), infimum=0.0)
        problem = gnp.composite(lambda x: jnp.concatenate([x, x**2, x**3]), penalty)
        res = gnp.minimize(problem, np.full(4, 1.1), max_calls=MOST, **RULES[rule](0.0))
        assert not res.success
        assert res.value <= res.history.value[0]
