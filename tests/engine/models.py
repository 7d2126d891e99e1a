"""Nonlinear models of a few parameters, with a quarter of the data wrong and starts far from the truth."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import gnpolyak as gnp

POINTS, OUTLIERS = 120, 0.25


def exponentials(x, t):
    return x[0] * jnp.exp(-x[1] * t) + x[2] * jnp.exp(-x[3] * t)


def three_exponentials(x, t):
    return exponentials(x[:4], t) + x[4] * jnp.exp(-x[5] * t)


def rational(x, t):
    return (x[0] + t * (x[1] + t * (x[2] + t * x[3]))) / (1 + t * (x[4] + t * (x[5] + t * x[6])))


def peaks(x, t):
    return x[0] * jnp.exp(-(((t - x[1]) / x[2]) ** 2)) + x[3] * jnp.exp(-(((t - x[4]) / x[5]) ** 2))


def sigmoid(x, t):
    return x[0] / (1 + jnp.exp(-(t - x[1]) / x[2])) + x[3]


def thermistor(x, t):
    return x[0] * jnp.exp(x[1] / (t + x[2]))


def michaelis_menten(x, t):
    return x[0] * t / (x[1] + t)


def damped_sine(x, t):
    return x[0] * jnp.exp(-x[1] * t) * jnp.sin(x[2] * t + x[3])


def power_law(x, t):
    return x[0] * t ** x[1] + x[2]


def hill(x, t):
    return x[0] * t ** x[2] / (x[1] ** x[2] + t ** x[2])


def bent(x, t):
    return x[0] * (x[1] + t) ** (-1 / x[2])


@dataclass(frozen=True)
class Model:
    """A function of parameters and t, a truth, and the range of t."""

    function: Any
    truth: tuple
    first: float
    last: float


MODELS = [
    Model(exponentials, (2.0, 0.5, 3.0, 2.5), 0.0, 5.0),
    Model(three_exponentials, (1.0, 0.3, 2.0, 1.5, 3.0, 6.0), 0.0, 6.0),
    Model(rational, (1.0, 2.0, 0.5, 0.3, 0.5, 0.4, 0.1), 0.0, 5.0),
    Model(peaks, (3.0, 2.0, 0.7, 2.0, 5.0, 1.2), 0.0, 8.0),
    Model(sigmoid, (4.0, 3.0, 0.6, 0.5), 0.0, 6.0),
    Model(thermistor, (0.006, 6180.0, 345.0), 50.0, 125.0),
    Model(michaelis_menten, (5.0, 1.5), 0.05, 10.0),
    Model(damped_sine, (3.0, 0.4, 4.0, 0.7), 0.0, 5.0),
    Model(power_law, (2.0, 1.7, 1.0), 0.1, 4.0),
    Model(hill, (3.0, 2.0, 2.5), 0.1, 8.0),
    Model(bent, (4.0, 2.0, 0.8), 0.1, 6.0),
]


def fit(model, seed, factor=3.0, kind="any"):
    """The problem, a start whose parameters are off by up to this factor, and the error of an answer in the curve."""
    rng = np.random.default_rng(seed)
    t = np.linspace(model.first, model.last, POINTS)
    truth = np.array(model.truth)
    with jax.enable_x64(True):
        clean = np.asarray(model.function(jnp.asarray(truth), jnp.asarray(t)))
    bad = rng.random(POINTS) < OUTLIERS
    spread = np.abs(clean).max()
    wrong = {"any": rng.uniform(-1, 2, POINTS) * spread, "one-sided": rng.uniform(0.1, 2, POINTS) * spread}[kind]
    y = np.where(bad, clean + wrong, clean)
    start = truth * np.exp(rng.uniform(-1, 1, truth.size) * np.log(factor))

    def error(x):
        with jax.enable_x64(True):
            found = np.asarray(model.function(jnp.asarray(x), jnp.asarray(t)))
        return float(np.linalg.norm(found - clean) / np.linalg.norm(clean))

    return gnp.composite(model.function, gnp.L1(y), args=(t,)), start, error


def linearised(problem, x):
    """The residuals b − c(x) and the Jacobian, dense."""
    with jax.enable_x64(True):
        x = jnp.asarray(x)
        return np.asarray(problem.penalty.b) - np.asarray(problem.map(x)), np.asarray(jax.jacfwd(problem.map)(x))
