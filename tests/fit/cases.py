"""A decay with noise and outliers, in three languages; one size, so that its programs are compiled once."""

import math

import jax.numpy as jnp
import numpy as np

X = np.linspace(0.0, 4.0, 60)
TRUTH = np.array([2.5, 1.3, 0.5])


def in_jax(x, a, b, c):
    return a * jnp.exp(-b * x) + c


def in_numpy(x, a, b, c):
    return a * np.exp(-b * x) + c


def in_python(x, a, b, c):
    return a * math.exp(-b * x) + c if b < 50 else float("nan")


def data(seed=0, noise=0.02, bad=18):
    """Data, and which of them are good."""
    rng = np.random.default_rng(seed)
    y = in_numpy(X, *TRUTH) + noise * rng.standard_normal(60)
    places = rng.choice(60, bad, replace=False)
    y[places] += rng.uniform(0.5, 4.0, bad)
    return y, np.setdiff1d(np.arange(60), places)
