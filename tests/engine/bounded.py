"""Problems whose minimum lies on the boundary of a box, and references for it: linear programs and SLSQP."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.optimize import linprog, minimize

import gnpolyak as gnp
from engine import models


@dataclass(frozen=True)
class Case:
    """A problem with its start and its box; `linear` where a linear program is the reference."""

    name: str
    problem: Any
    x0: Any
    bounds: Any
    linear: bool = False
    weights: Any = None


def _curve(name, function, truth, bounds, span, x0=None, seed=0, noise=0.02):
    """A curve through noise and a fifth of outliers; the box is such that the best parameters are on its boundary."""
    rng = np.random.default_rng(seed)
    t, truth = np.linspace(*span, 40), np.array(truth)
    with jax.enable_x64(True):
        clean = np.asarray(function(jnp.asarray(truth), jnp.asarray(t)))
    spread = np.abs(clean).max()
    y = clean + noise * spread * rng.standard_normal(t.size)
    y = np.where(rng.random(t.size) < 0.2, y + spread * rng.uniform(-1, 2, t.size), y)
    lo, hi = (np.array(side, float) for side in bounds)
    x0 = np.clip(truth, lo, hi) * 1.1 if x0 is None else np.array(x0)
    return Case(name, gnp.composite(function, gnp.L1(y), args=(t,)), x0, (lo, hi))


def _regression(name, seed, bounds, noise=0.1, weights=None):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((50, 6)) * 10.0 ** np.arange(-3, 3)
    x = np.array([300.0, -20.0, 3.0, 0.1, -0.03, 0.004])
    b = a @ x + noise * rng.standard_normal(50)
    b[:10] += 5 * rng.standard_normal(10)
    penalty = gnp.L1(b) if weights is None else gnp.L1(b, weights=weights)
    return Case(name, gnp.composite(gnp.Linear(a), penalty), np.zeros(6), bounds, True, weights)


def _factors(name, shape, seed, noise):
    """A nonnegative low-rank matrix with zeros in its factors, a tenth of the entries wrong."""
    rng = np.random.default_rng(seed)
    u, v = (np.maximum(rng.uniform(-0.4, 1, (rows, 2)), 0) for rows in shape)
    table = u @ v.T + noise * rng.standard_normal(shape)
    table = np.where(rng.random(shape) < 0.1, table + rng.uniform(-2, 2, shape), table)
    start = tuple(np.maximum(part + 0.1 * rng.standard_normal(part.shape), 0) for part in (u, v))
    return Case(name, gnp.composite(gnp.LowRank(), gnp.L1(table)), start, (0.0, None))


def _sparse(name, seed):
    """x = u² − v² in a box around neither of whose points the Jacobian loses rank."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((30, 12))
    x = np.zeros(12)
    x[:4] = [1.3, 0.5, -0.4, 0.8]
    b = a @ x + 0.05 * rng.standard_normal(30)
    b[:4] += 3.0
    start = (np.full(12, 0.3), np.full(12, 0.1))
    problem = gnp.composite(gnp.Hadamard(), gnp.L1(b), sensing=gnp.LinearSensing(a))
    return Case(name, problem, start, ((0.05, 0.05), (1.0, 0.5)))


def _named(name, seed):
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 3, 40)
    y = 2.0 * np.exp(-1.4 * t) + 0.3 + 0.03 * rng.standard_normal(40)
    y[::6] += 1.5

    def model(x, t):
        return x["scale"][0] * jnp.exp(-x["rate"] * t) + x["scale"][1]

    x0 = {"rate": np.array(0.7), "scale": np.array([1.0, 0.5])}
    bounds = {"rate": 0.2, "scale": [None, 0.4]}, {"rate": 1.2, "scale": None}
    return Case(name, gnp.composite(model, gnp.L1(y), args=(t,)), x0, bounds)


INF = np.inf
_NARROW = [200, -INF, -INF, 0, -0.02, -INF], [250, INF, 2.5, INF, INF, 0.003]
_FIXED = [300, -INF, 2, 0, 0, 0], [300, -20.5, 2, INF, INF, INF]

CASES = [
    _regression("regression, nonnegative", 0, (0.0, None)),
    _regression("regression, narrow", 1, _NARROW),
    _regression("regression, some fixed", 2, _FIXED),
    _regression("regression, exact", 3, (None, [310, 0, 3, 0.1, -0.03, 0.004]), noise=0.0),
    _regression("regression, weighted", 4, _NARROW, weights=np.linspace(0.2, 3, 50)),
    _curve("decay, slow", lambda x, t: x[0] * jnp.exp(-x[1] * t), (2.0, 0.5), ([0, 0.6], [9, 2]), (0, 5)),
    _curve("decay, low", lambda x, t: x[0] * jnp.exp(-x[1] * t), (2.0, 0.5), ([0, 0], [1.5, 2]), (0, 5), seed=1),
    _curve("exponentials", models.exponentials, (2, 0.5, 3, 2.5), ([0, 0, 0, 0], [9, 9, 2.5, 9]), (0, 5)),
    _curve("exponentials, both", models.exponentials, (2, 0.5, 3, 2.5), ([0, 0.6, 0, 0], [9, 9, 9, 2]), (0, 5)),
    _curve("peaks", models.peaks, (3, 2, 0.7, 2, 5, 1.2), ([0, 0, 0.8, 0, 0, 0.1], [9, 9, 9, 9, 9, 1.1]), (0, 8)),
    _curve(
        "peak, centre",
        lambda x, t: x[0] * jnp.exp(-(((t - x[1]) / x[2]) ** 2)),
        (3, 2, 0.7),
        ([0, 2.2, 0.1], [9, 9, 9]),
        (0, 5),
    ),
    _curve("sigmoid", models.sigmoid, (4, 3, 0.6, 0.5), ([0, 0, 0.1, 0], [9, 9, 9, 0.3]), (0, 6)),
    _curve("michaelis_menten", models.michaelis_menten, (5, 1.5), ([0, 0], [4.5, 9]), (0.05, 10)),
    _curve("hill", models.hill, (3, 2, 2.5), ([0, 0.1, 0.1], [9, 9, 2]), (0.1, 8)),
    _curve("power law", models.power_law, (2, 1.7, 1), ([0, 0, 1.3], [9, 1.6, 9]), (0.1, 4)),
    _curve("damped sine", models.damped_sine, (3, 0.4, 4, 0.7), ([0, 0.45, 0, 0], [9, 2, 9, 9]), (0, 5)),
    _curve("bent", models.bent, (4, 2, 0.8), ([0, 2.5, 0.1], [9, 9, 9]), (0.1, 6)),
    _curve("rational", models.rational, (1, 2, 0.5, 0.3, 0.5, 0.4, 0.1), ([0] * 7, [9, 0.5, 9, 9, 9, 9, 9]), (0, 5)),
    _curve(
        "three exponentials, a corner",
        models.three_exponentials,
        (1, 0.3, 2, 1.5, 3, 6),
        ([0, 0.4, 0, 0, 0, 0], [9, 9, 1.8, 9, 9, 5]),
        (0, 6),
    ),
    _factors("nonnegative factors", (8, 6), 1, 0.02),
    _factors("nonnegative factors, more zeros", (8, 6), 3, 0.02),
    _factors("nonnegative factors, exact", (9, 7), 1, 0.0),
    _sparse("hadamard", 0),
    _named("a dictionary", 0),
]


def flattened(case):
    """r(x), its Jacobian, both for flat x, and the bounds, flat: everything a reference needs."""
    from gnpolyak.solve.bounds import as_box

    box = as_box(case.bounds, jax.tree.map(np.asarray, case.x0))
    with jax.enable_x64(True):
        _, unravel = ravel_pytree(jax.tree.map(jnp.asarray, case.x0))
        b, weights = case.problem.penalty.b.ravel(), 1.0 if case.weights is None else case.weights

        @jax.jit
        def residuals(x):
            return weights * (b - case.problem.measure(unravel(x)).ravel())

        slope = jax.jit(jax.jacfwd(residuals))
    lo, hi = box.flat()

    def on_host(function):
        def run(x):
            with jax.enable_x64(True):
                return np.asarray(function(jnp.asarray(x)))

        return run

    return on_host(residuals), on_host(slope), lo, hi


def by_linear_program(case):
    """The least value of a linear problem, by HiGHS."""
    residuals, slope, lo, hi = flattened(case)
    x = np.zeros(lo.size)
    m, b = -slope(x), residuals(x)
    column = np.abs(m).max(axis=0)
    eye = np.eye(b.size)
    system = np.hstack([m / column, eye, -eye])
    cost = np.concatenate([np.zeros(x.size), np.ones(2 * b.size)])
    limits = list(zip(lo * column, hi * column, strict=True)) + [(0, None)] * (2 * b.size)
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(cost, A_eq=system, b_eq=b, bounds=limits, method="highs", options=tight)
    z = np.clip(found.x[: x.size] / column, lo, hi)
    return np.abs(b - m @ z).sum()


def by_slsqp(case, x, starts=3, seed=0):
    """The least value that SLSQP finds of min Σt over −t ≤ r(x) ≤ t in the box, from points around x."""
    residuals, slope, lo, hi = flattened(case)
    rng = np.random.default_rng(seed)
    values = []
    for attempt in range(starts):
        near = np.clip(x * (1 + 0.03 * attempt * rng.standard_normal(x.size)), lo, hi)
        values.append(_slsqp(residuals, slope, lo, hi, near))
    return min(values)


def _slsqp(residuals, slope, lo, hi, x):
    r, n = residuals(x), x.size
    eye, cost = np.eye(r.size), np.concatenate([np.zeros(n), np.ones(r.size)])

    def between(sign):
        return {
            "type": "ineq",
            "fun": lambda y: y[n:] - sign * residuals(np.clip(y[:n], lo, hi)),
            "jac": lambda y: np.hstack([-sign * slope(np.clip(y[:n], lo, hi)), eye]),
        }

    found = minimize(
        lambda y: cost @ y,
        np.concatenate([x, np.abs(r) + 1e-3]),
        jac=lambda y: cost,
        bounds=[*zip(lo, hi, strict=True), *[(0, None)] * r.size],
        constraints=[between(1), between(-1)],
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 200},
    )
    return np.abs(residuals(np.clip(found.x[:n], lo, hi))).sum()
