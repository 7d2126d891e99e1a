"""A wall of which half is missing and a tenth of the rest is wrong.

The truth is the photograph of a brick wall, cut to rank 8. Half of its pixels were seen, and every tenth of those is black or white
at random (blue: not seen). The inexact augmented Lagrangian method minimises nuclear norm plus λ times the sum of absolute values, with
the λ = 1/√(n × share seen) that its theory asks for: it comes near. `minimize` has the wall.
"""

import sys

import numpy as np
from matplotlib.figure import Figure
from skimage import data, transform

import gnpolyak as gnp


def make_data(size=128, rank=8, observed=0.5, ruined=0.1, seed=0):
    rng = np.random.default_rng(seed)
    photo = transform.resize(data.brick()[:256, :256] / 255, (size, size), anti_aliasing=True)
    u, s, v = np.linalg.svd(photo)
    wall, shape = (u[:, :rank] * s[:rank]) @ v[:rank], photo.shape
    pixels = np.where(rng.random(shape) < ruined, rng.integers(0, 2, shape), wall)
    return wall, pixels, rng.random(shape) < observed


def restore(pixels, seen, rank=8):
    problem = gnp.composite(gnp.LowRank(), gnp.L1(pixels[seen]), sensing=gnp.Entries(seen))
    u, v = gnp.minimize(problem, rank=rank).x
    return u @ v.T


def inexact_alm(pixels, seen, growth=1.2, tol=1e-7):
    data = np.where(seen, pixels, 0)
    length, weight = np.linalg.norm(data, 2), 1 / np.sqrt(len(data) * seen.mean())
    dual, mu, wrong, gap = data / max(length, np.abs(data).max() / weight), 1.25 / length, np.zeros(data.shape), np.inf
    while gap > tol * np.linalg.norm(data):
        u, s, v = np.linalg.svd(data - wrong + dual / mu)
        wall = (u * np.maximum(s - 1 / mu, 0)) @ v
        rest = data - wall + dual / mu
        wrong = np.where(seen, np.sign(rest) * np.maximum(np.abs(rest) - weight / mu, 0), rest)
        dual, gap = dual + mu * (data - wall - wrong), np.linalg.norm(data - wall - wrong)
        mu *= growth
    return wall


def work():
    wall, pixels, seen = make_data()
    found = {"inexact ALM": inexact_alm(pixels, seen), "gnpolyak": restore(pixels, seen)}
    errors = {name: np.linalg.norm(x - wall) / np.linalg.norm(wall) for name, x in found.items()}
    return errors, {"wall": wall, "seen": np.where(seen, pixels, np.nan), **found}


def draw(errors, shown):
    figure, panels = Figure(figsize=(9, 6.4), layout="constrained"), {}
    wall, seen = shown["wall"], shown["seen"]
    panels |= {"the wall, of rank 8\n": wall, **{f"{name}\nerror {errors[name]:.2g}": shown[name] for name in errors}}
    panels |= {"what was seen": seen, **{f"10 × its error, {name}": 0.5 + 10 * (shown[name] - wall) for name in errors}}
    for axes, (title, image) in zip(figure.subplots(2, 3).flat, panels.items(), strict=True):
        axes.imshow(image, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        axes.set_title(title, fontsize=10)
        axes.set(xticks=[], yticks=[], facecolor="tab:blue")
    return figure


if __name__ == "__main__":
    errors, shown = work()
    print(*(f"{name}: {error:.1e}" for name, error in errors.items()), sep="\n")
    draw(errors, shown).savefig(sys.argv[1] if len(sys.argv) > 1 else "wall.png", dpi=110, bbox_inches="tight")
