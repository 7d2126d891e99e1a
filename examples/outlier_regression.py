"""Fit a sum of two exponentials to data of which 30% are gross outliers.

    y(t) = a₁ exp(−k₁ t) + a₂ exp(−k₂ t)

The parameters are ill-conditioned (the exponentials overlap), and the outliers lean to one side, so a smooth robust
loss is biased. Least absolute deviations are not: GNP finds the true parameters to eight digits, without knowing which
points are bad, how many there are, or what the optimal value is.
"""

import jax.numpy as jnp
import numpy as np
from scipy.optimize import least_squares

import gnpolyak as gnp

TRUTH = np.array([2.0, 0.5, 3.0, 2.5])
START = np.array([1.5, 0.3, 2.5, 2.0])


def model(x, t):
    return x[0] * jnp.exp(-x[1] * t) + x[2] * jnp.exp(-x[3] * t)


def make_data(seed=0, size=200, share=0.3):
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, 5.0, size)
    y = TRUTH[0] * np.exp(-TRUTH[1] * t) + TRUTH[2] * np.exp(-TRUTH[3] * t)
    bad = rng.random(size) < share
    return t, np.where(bad, y + rng.uniform(-4.0, 8.0, size), y)


def fit(t, y):
    problem = gnp.composite(model, gnp.L1(y), args=(t,))
    return gnp.minimize(problem, START)


def fit_with_scipy(t, y):
    def residual(x):
        return x[0] * np.exp(-x[1] * t) + x[2] * np.exp(-x[3] * t) - y

    return least_squares(residual, START, loss="soft_l1")


def main():
    t, y = make_data()
    ours, theirs = fit(t, y), fit_with_scipy(t, y)
    print(f"truth                 {TRUTH}")
    print(f"gnpolyak              {np.round(ours.x, 6)}   largest error {np.abs(ours.x - TRUTH).max():.1e}")
    print(f"scipy, loss=soft_l1   {np.round(theirs.x, 6)}   largest error {np.abs(theirs.x - TRUTH).max():.1e}")
    print(ours.message)


if __name__ == "__main__":
    main()
