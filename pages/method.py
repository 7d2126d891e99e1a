"""The pictures of docs/method.md, from the library itself, into docs/method: ``python pages/method.py``."""

from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import gnpolyak as gnp

FOLDER = Path(__file__).parent.parent / "docs" / "method"
# Okabe and Ito's colours, told apart with any colour vision.
BLUE, ORANGE, RED, GREEN, GREY = "#0072B2", "#E69F00", "#D55E00", "#009E73", "#777777"


def steps(problem, method, target, x0, most):
    """The states, as NumPy, after 0, 1, … steps of the pure functions, up to the end of the solve."""
    with jax.enable_x64(True):
        states, step = [gnp.init(problem, method, target, jnp.asarray(x0))], jax.jit(gnp.step)
        while len(states) <= most and states[-1].status == gnp.Status.RUNNING:
            states.append(step(problem, method, target, states[-1])[0])
        return jax.tree.map(np.asarray, states)


def sharp():
    """Twenty measurements of one number, five of them ruined: the l1 value has its kink at the truth."""
    data = np.concatenate([np.full(15, 2.0), [5.0, 6.0, 7.0, 7.5, 8.0]])
    x = np.linspace(0, 6, 601)
    figure = Figure(figsize=(7, 3), layout="constrained")
    left, right = figure.subplots(1, 2)
    _valley(left, x, np.square(x[:, None] - data).sum(1), "sum of squares", RED)
    _valley(right, x, np.abs(x[:, None] - data).sum(1), "sum of absolute values", BLUE)
    return figure


def _valley(axes, x, f, title, colour):
    axes.plot(x, f, color=colour, linewidth=2)
    axes.axvline(2.0, color=GREY, linestyle=":", label="truth")
    axes.plot(x[f.argmin()], f.min(), "o", color=colour, label=f"minimum at {x[f.argmin()]:.2f}")
    axes.set(title=title, xlabel="x")
    axes.legend()


def crooked(x):
    """A map, a little curved, whose second output moves twelve times as fast as its first."""
    return jnp.array([x[0], 12.0 * (x[1] - 0.3 * x[0]) + 0.3 * x[0] ** 2])


def path():
    """The iterates of Polyak's method and of GNP on |c₁(x) − 1| + |c₂(x)|, told the optimal value."""
    problem = gnp.composite(crooked, gnp.L1(np.array([1.0, 0.0])))
    x, y = np.meshgrid(np.linspace(-0.9, 1.7, 261), np.linspace(-0.35, 0.6, 191))
    f = np.abs(x - 1) + np.abs(12 * (y - 0.3 * x) + 0.3 * x**2)
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.contour(x, y, f, levels=np.geomspace(0.1, 15, 12), colors=GREY, linewidths=0.5)
    for method, colour, marker in ((gnp.Polyak(), RED, "s"), (gnp.GNP(), BLUE, "o")):
        states = steps(problem, method, gnp.Known(0.0), np.array([-0.5, 0.052]), 12)
        way = np.array([state.point.x for state in states])
        label = f"{type(method).__name__}: {states[-1].best.value:.0e} after {len(states) - 1} steps"
        axes.plot(*way.T, color=colour, marker=marker, markersize=4, linewidth=1.2, label=label)
    axes.plot(1.0, 0.275, "*", color="black", markersize=12, label="minimum")
    axes.set(xlabel="x₁", ylabel="x₂", xlim=(-0.9, 1.7), ylim=(-0.35, 0.6))
    axes.legend(loc="upper left")
    return figure


def rates():
    """Recovering a matrix of rank 2 from quadratic measurements, with its factor's condition number 1, 5 and 25."""
    figure = Figure(figsize=(7, 3), layout="constrained")
    axes = figure.subplots()
    for kappa, style in ((1.0, "-"), (5.0, "--"), (25.0, ":")):
        case = gnp.instances.tensor_sensing(d=30, r=2, n=2, kappa=kappa, seed=0)
        for method, colour in (("polyak", RED), ("gnp", BLUE)):
            res = gnp.minimize(case.problem, case.x0, method=method, target=case.target, max_calls=300)
            gap = np.maximum(res.history.best - case.target, 1e-14 * res.history.best[0])
            name = {"polyak": "Polyak", "gnp": "GNP"}[method]
            axes.semilogy(gap / gap[0], color=colour, linestyle=style, label=f"{name}, κ = {kappa:g}")
    axes.set(xlabel="oracle calls", ylabel="relative gap", xlim=(0, 300), ylim=(1e-11, 2))
    axes.legend(ncols=2, loc=(0.52, 0.2))
    return figure


def widths():
    """Graduated steps on a line through 60 points, 18 of them ruined: the residuals, and the width of the weights."""
    rng = np.random.default_rng(0)
    t, bad = np.linspace(-1, 1, 60), rng.permutation(60) < 18
    y = 1 + 2 * t + np.where(bad, rng.uniform(0.5, 6, 60), 0.0)
    problem = gnp.composite(lambda x, t: x[0] + x[1] * t, gnp.L1(y), args=(t,))
    states = steps(problem, gnp.Graduated(), gnp.Level(0.0), np.zeros(2), 40)
    sizes = np.array([np.abs(y - (s.best.x[0] + s.best.x[1] * t)) for s in states])
    figure = Figure(figsize=(7, 3), layout="constrained")
    axes = figure.subplots()
    for column, ruined in zip(sizes.T, bad, strict=True):
        axes.semilogy(np.maximum(column, 1e-17), color=RED if ruined else GREEN, linewidth=0.6)
    axes.semilogy([s.memory.width.delta for s in states], "k--", linewidth=1.6, label="width δ of the weights")
    axes.plot([], color=GREEN, label="residuals of good points")
    axes.plot([], color=RED, label="residuals of ruined points")
    axes.set(xlabel="steps", ylabel="size", xlim=(0, len(states) - 1), ylim=(1e-16, 10))
    axes.legend(loc="lower left")
    return figure


PICTURES = {"sharp": sharp, "path": path, "rates": rates, "widths": widths}


def write(name, folder):
    """One picture as it is committed: the same bytes for the same numbers."""
    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "path", "font.size": 9}):
        PICTURES[name]().savefig(folder / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in PICTURES:
        write(name, FOLDER)
