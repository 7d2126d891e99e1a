"""A curve through garbage.

A damped swing y = a exp(−kt) cos(ωt + φ), and four points in ten that have nothing to do with it and lie mostly above. All three
fits begin at the same parameters. Least squares gives in to the garbage, SciPy's robust loss bends towards it, least
absolute deviations go through the points that are right.
"""

import sys

import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import least_squares

import gnpolyak as gnp

TRUTH, START = np.array([2.0, 0.3, 3.0, 0.5]), np.array([1.5, 0.2, 2.8, 0.2])


def swing(x, t):
    return x[0] * jnp.exp(-x[1] * t) * jnp.cos(x[2] * t + x[3])


def make_data(size=150, garbage=0.4, seed=0):
    rng = np.random.default_rng(seed)
    t = np.sort(rng.uniform(0, 8, size))
    bad = rng.random(size) < garbage
    y = TRUTH[0] * np.exp(-TRUTH[1] * t) * np.cos(TRUTH[2] * t + TRUTH[3])
    return t, np.where(bad, rng.uniform(-1, 5, size), y), bad


def fit(t, y):
    return gnp.minimize(gnp.composite(swing, gnp.L1(y), args=(t,)), START).x


def fit_with_scipy(t, y, loss):
    def residual(x):
        return x[0] * np.exp(-x[1] * t) * np.cos(x[2] * t + x[3]) - y

    return least_squares(residual, START, loss=loss, f_scale=0.1).x


def work():
    t, y, bad = make_data()
    found = {
        "least squares": fit_with_scipy(t, y, "linear"),
        "SciPy, soft_l1": fit_with_scipy(t, y, "soft_l1"),
        "gnpolyak": fit(t, y),
    }
    errors = {name: np.linalg.norm(x - TRUTH) / np.linalg.norm(TRUTH) for name, x in found.items()}
    return errors, {"t": t, "y": y, "bad": bad, **found}


def draw(errors, shown):
    figure = Figure(figsize=(10, 3.8), layout="constrained")
    (left, right), fine = figure.subplots(1, 2, width_ratios=(3, 2)), np.linspace(0, 8, 500)
    left.plot(shown["t"][shown["bad"]], shown["y"][shown["bad"]], "x", color="0.7", label="garbage")
    left.plot(shown["t"][~shown["bad"]], shown["y"][~shown["bad"]], "o", color="black", markersize=4, label="right")
    for (name, error), style in zip(errors.items(), ("C1--", "C2-.", "C0-"), strict=True):
        curve, truth = (a * np.exp(-k * fine) * np.cos(w * fine + p) for a, k, w, p in (shown[name], TRUTH))
        left.plot(fine, curve, style, label=name)
        right.semilogy(fine, np.abs(curve - truth) + 1e-17, style, label=f"{name}: error {error:.2g}")
    left.set(xlabel="t", ylabel="y", title="a damped swing, 40% of the points garbage")
    right.set(xlabel="t", ylim=(1e-17, 10), title="distance from the true curve")
    left.legend(loc="upper right", fontsize=8)
    right.legend(loc="center right", fontsize=8)
    return figure


if __name__ == "__main__":
    errors, shown = work()
    print(*(f"{name}: {error:.1e}" for name, error in errors.items()), sep="\n")
    draw(errors, shown).savefig(sys.argv[1] if len(sys.argv) > 1 else "curve.png", dpi=110, bbox_inches="tight")
