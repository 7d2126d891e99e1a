"""A curve through garbage.

A damped swing y = a exp(−kt) cos(ωt + φ), and four points in ten that have nothing to do with it and lie mostly above.
All three fits begin at the same parameters. Least squares loses the curve, SciPy's robust loss (with a scale chosen for
these data) bends a little towards the garbage, least absolute deviations go through the points that are right.
"""

import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import least_squares
from showing import show

import gnpolyak as gnp

TRUTH, START = np.array([2.0, 0.3, 3.0, 0.5]), np.array([1.5, 0.2, 2.8, 0.2])


def swing(x, t, xp=jnp):
    return x[0] * xp.exp(-x[1] * t) * xp.cos(x[2] * t + x[3])


def make_data(size=150, garbage=0.4, seed=0):
    rng = np.random.default_rng(seed)
    t = np.sort(rng.uniform(0, 8, size))
    bad = rng.random(size) < garbage
    return t, np.where(bad, rng.uniform(-1, 5, size), swing(TRUTH, t, np)), bad


def fit(t, y):
    return gnp.minimize(gnp.composite(swing, gnp.L1(y), args=(t,)), START).x


def work():
    t, y, bad = make_data()
    found = {"least squares": "linear", "SciPy, soft_l1": "soft_l1"}
    for name, loss in found.items():
        found[name] = least_squares(lambda x: swing(x, t, np) - y, START, loss=loss, f_scale=0.1).x
    found["gnpolyak"] = fit(t, y)
    errors = {name: np.linalg.norm(x - TRUTH) / np.linalg.norm(TRUTH) for name, x in found.items()}
    return errors, {"garbage": (t[bad], y[bad]), "right": (t[~bad], y[~bad]), **found}


def draw(errors, shown):
    figure, t = Figure(figsize=(10, 3.8), layout="constrained"), np.linspace(0, 8, 500)
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    left.plot(*shown["garbage"], "x", color="0.7", label="garbage")
    left.plot(*shown["right"], "o", color="black", markersize=4, label="right")
    for (name, error), style in zip(errors.items(), ("C1--", "C2-.", "C0-"), strict=True):
        left.plot(t, swing(shown[name], t, np), style, label=name)
        off = np.abs(swing(shown[name], t, np) - swing(TRUTH, t, np))
        right.semilogy(t, np.maximum(off, 1e-16), style, label=f"{name}: error {error:.2g}")
    left.set(xlabel="t", ylabel="y", ylim=(-2, 7.5), title="a damped swing, 40% of the points garbage")
    right.set(xlabel="t", ylim=(3e-17, 10), title="distance from the true curve")
    left.legend(loc="upper right", fontsize=8, ncol=2)
    right.legend(loc="center right", fontsize=8)
    return figure


if __name__ == "__main__":
    show(work, draw)
