"""Curves with noise and outliers: how far each contestant ends from the fit that knows the good points.

The yardstick of each parameter is its standard error in that fit; of a set of data the worst parameter counts.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

import gnpolyak as gnp
from gnpolyak.bench.rows import OURS, Row
from gnpolyak.bench.specs import Fits

MEASURE = "distance from the fit that knows the good points, in its standard errors"
LOSSES = ("linear", "soft_l1", "huber", "cauchy", "arctan")
_NOWHERE = 1e99
POINTS, BAD, NOISE = 100, 30, 0.01

Solver = Callable[["Curve", np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Curve:
    """A family of curves: the model for any array module, the truth, and the start that everybody is given."""

    model: Callable[..., Any]
    truth: tuple[float, ...]
    start: tuple[float, ...]
    ends: tuple[float, float]
    standard: Callable[..., tuple[float, ...]] = lambda *p: p
    """Of several parameters with one curve, such as a width and its negative, those that are compared."""

    def f(self, xp: Any) -> Callable[..., Any]:
        """The model of x and the parameters, in numpy or jax.numpy."""
        return lambda x, *p: self.model(xp, x, *p)

    def made(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points, data, and which of the data are good.

        The noise is 1% of the height of the curve; bad data lie anywhere from half a height below it to one and a half
        above, so that they pull to one side.
        """
        rng = np.random.default_rng([seed, 0xF17])
        x = np.linspace(*self.ends, POINTS)
        y = self.model(np, x, *self.truth)
        low, height = float(np.min(y)), float(np.ptp(y))
        y = y + NOISE * height * rng.standard_normal(POINTS)
        bad = rng.choice(POINTS, BAD, replace=False)
        y[bad] = rng.uniform(low - 0.5 * height, low + 2.5 * height, BAD)
        return x, y, np.setdiff1d(np.arange(POINTS), bad)

    @property
    def noise(self) -> float:
        """The standard deviation of the good data."""
        return NOISE * float(np.ptp(self.model(np, np.linspace(*self.ends, POINTS), *self.truth)))


def _rising(a: float, k: float, m: float, c: float) -> tuple[float, ...]:
    return (a, k, m, c) if k > 0 else (-a, -k, m, a + c)


def _turned(a: float, b: float, w: float, s: float, c: float) -> tuple[float, ...]:
    w, s = (w, s) if w > 0 else (-w, -s)
    s = s if a > 0 else s + np.pi
    return abs(a), b, w, float(np.remainder(s + np.pi, 2 * np.pi) - np.pi), c


CURVES = {
    "exponential decay": Curve(
        lambda xp, x, a, b, c: a * xp.exp(-b * x) + c, (2.5, 1.3, 0.5), (1.0, 1.0, 1.0), (0.0, 4.0)
    ),
    "Gaussian peak on a line": Curve(
        lambda xp, x, a, m, w, c, d: a * xp.exp(-0.5 * ((x - m) / w) ** 2) + c + d * x,
        (3.0, 4.0, 0.8, 1.0, 0.2),
        (2.0, 5.0, 1.0, 0.0, 0.0),
        (0.0, 10.0),
        lambda a, m, w, c, d: (a, m, abs(w), c, d),
    ),
    "logistic": Curve(
        lambda xp, x, a, k, m, c: a / (1 + xp.exp(-k * (x - m))) + c,
        (5.0, 2.0, 3.0, 1.0),
        (3.0, 1.0, 2.0, 0.0),
        (0.0, 6.0),
        _rising,
    ),
    "Michaelis–Menten": Curve(lambda xp, x, v, k: v * x / (k + x), (4.0, 1.5), (1.0, 1.0), (0.1, 10.0)),
    "damped oscillation": Curve(
        lambda xp, x, a, b, w, s, c: a * xp.exp(-b * x) * xp.cos(w * x + s) + c,
        (2.0, 0.3, 4.0, 0.5, 1.0),
        (1.0, 0.1, 3.7, 0.0, 0.0),
        (0.0, 8.0),
        _turned,
    ),
    "power law": Curve(lambda xp, x, a, b: a * x**b, (1.2, 1.7), (1.0, 1.0), (0.5, 8.0)),
}


def accuracy(spec: Fits) -> list[Row]:
    """A row for each contestant: the median over seeds, with quartiles."""
    curve = CURVES[spec.curve]
    if importlib.util.find_spec("scipy") is None:
        return [Row(MEASURE, spec.curve, "SciPy", "", note="skipped: scipy is not installed")]
    apart: dict[str, list[float]] = {name: [] for name in contestants(curve)}
    for seed in range(spec.seeds):
        for name, distance in distances(curve, seed).items():
            apart[name].append(distance)
    return [_row(spec, name, np.array(found)) for name, found in apart.items()]


def _row(spec: Fits, name: str, found: np.ndarray) -> Row:
    low, median, high = (float(np.quantile(found, q, method="inverted_cdf")) for q in (0.25, 0.5, 0.75))
    lost = int(np.sum(found > 10))
    note = f"{lost} of {spec.seeds} beyond 10" if lost else ""
    return Row(MEASURE, f"{spec.curve}, {spec.seeds} seeds", name, "", median, low, high, note=note)


def distances(curve: Curve, seed: int) -> dict[str, float]:
    """How far each contestant's parameters end from those of the fit that knows the good points."""
    x, y, good = curve.made(seed)
    known, errors = knowing(curve, x[good], y[good])
    found = {}
    for name, solve in contestants(curve).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                p = np.array(curve.standard(*solve(curve, x, y)))
                found[name] = float(np.max(np.abs(p - known) / errors))
            except (RuntimeError, ValueError):
                found[name] = np.inf
    # A file of rows has no place for infinity.
    return {name: each if np.isfinite(each) else _NOWHERE for name, each in found.items()}


def knowing(curve: Curve, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least squares on the good points from the truth, and its standard errors."""
    p, covariance = _scipy().curve_fit(curve.f(np), x, y, curve.truth)
    return p, np.sqrt(np.diag(covariance))


def contestants(curve: Curve) -> dict[str, Solver]:
    """Everyone, from the same start; the library in plain NumPy and without a start as well."""
    solvers: dict[str, Solver] = {
        OURS: lambda c, x, y: gnp.curve_fit(c.f(jnp), x, y, c.start)[0],
        f"{OURS}, plain NumPy": lambda c, x, y: gnp.curve_fit(c.f(np), x, y, c.start)[0],
        f"{OURS}, no p0": lambda c, x, y: gnp.curve_fit(_named(c), x, y)[0],
        "SciPy curve_fit": _scipy_curve_fit,
    }
    for loss in LOSSES:
        solvers[f"SciPy least_squares, {loss}"] = _least_squares(loss, 1.0)
        if loss != "linear":
            solvers[f"SciPy least_squares, {loss}, told the noise"] = _least_squares(loss, curve.noise)
    return solvers


def _named(curve: Curve) -> Callable[..., Any]:
    """The model with a signature that tells the number of its parameters."""
    f = curve.f(jnp)
    names = ["x", *(f"p{i}" for i in range(len(curve.truth)))]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    f.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])  # type: ignore[attr-defined]
    return f


def _scipy_curve_fit(curve: Curve, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(_scipy().curve_fit(curve.f(np), x, y, curve.start)[0])


def _least_squares(loss: str, width: float) -> Solver:
    def solve(curve: Curve, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        f = curve.f(np)
        return np.asarray(_scipy().least_squares(lambda p: f(x, *p) - y, curve.start, loss=loss, f_scale=width).x)

    return solve


def _scipy() -> Any:
    return importlib.import_module("scipy.optimize")
