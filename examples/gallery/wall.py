"""A wall of which half is missing and a tenth of the rest is wrong.

The truth is the photograph of a brick wall, cut to rank 8. Half of its pixels were seen (the others are blue), and a
tenth of them are black or white at random. The inexact augmented Lagrangian method minimises the nuclear norm plus λ
times the absolute deviations, with the λ = 1/√(n × share seen) of its theory, and comes near. `minimize`, which is told
the rank, has the wall; without `rank=8` it stops at the first factor, as `NOISE`.
"""

import numpy as np
from inexact_alm import inexact_alm
from showing import panels, show
from skimage import data, transform

import gnpolyak as gnp


def make_data(size=128, rank=8, observed=0.5, ruined=0.1, seed=0):
    rng = np.random.default_rng(seed)
    photo = transform.resize(data.brick()[:256, :256] / 255, (size, size), anti_aliasing=True)
    u, s, v = np.linalg.svd(photo)
    wall, shape = (u[:, :rank] * s[:rank]) @ v[:rank], photo.shape
    pixels = np.where(rng.random(shape) < ruined, rng.integers(0, 2, shape), wall)
    return wall, pixels, rng.random(shape) < observed


def fit(pixels, seen, rank=8):
    problem = gnp.composite(gnp.LowRank(), gnp.L1(pixels[seen]), sensing=gnp.Entries(seen))
    u, v = gnp.minimize(problem, rank=rank).x
    return u @ v.T


def work():
    wall, pixels, seen = make_data()
    found = {"inexact ALM": inexact_alm(pixels, seen), "gnpolyak": fit(pixels, seen)}
    errors = {name: np.linalg.norm(x - wall) / np.linalg.norm(wall) for name, x in found.items()}
    return errors, {"wall": wall, "seen": np.where(seen, pixels, np.nan), **found}


def draw(errors, shown):
    off = {f"10 × its error,\n{name}": 0.5 + 10 * (shown[name] - shown["wall"]) for name in errors}
    found = {f"{name}\nerror {error:.2g}": shown[name] for name, error in errors.items()}
    images = {"the wall, of rank 8\n": shown["wall"], **found, "what was seen\n": shown["seen"], **off}
    return panels(images, rows=2, width=2.8)


if __name__ == "__main__":
    show(work, draw)
