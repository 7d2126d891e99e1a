"""Fifty cameras of which a third of the pairs disagree.

Fifty cameras stand around a statue and look at it, each held at an angle of its own. For half of the pairs the relative rotation
R_i R_jᵀ was measured, and a third of those are wrong altogether. Drawn is each camera's line of sight, as far as
the statue, after the whole was turned to fit the truth best. Spectral averaging, the usual first step of a
reconstruction, spreads the wrong pairs over all cameras; least absolute deviations leave them out.
"""

import sys

import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

import gnpolyak as gnp

COUNT = 50


def make_data(observed=0.5, wrong=1 / 3, seed=0):
    rng = np.random.default_rng(seed)
    # A spiral around the statue; the third row of a camera's rotation is where it looks.
    z, angle = np.linspace(-0.3, 0.95, COUNT), np.pi * (3 - np.sqrt(5)) * np.arange(COUNT)
    places = np.stack([np.sqrt(1 - z**2) * np.cos(angle), np.sqrt(1 - z**2) * np.sin(angle), z], axis=1)
    side = np.cross(places, rng.standard_normal((COUNT, 3)))
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    cameras = np.stack([side, np.cross(-places, side), -places], axis=1)
    i, j = np.stack(np.triu_indices(COUNT, 1))[:, rng.random(COUNT * (COUNT - 1) // 2) < observed]
    other = Rotation.random(len(i), rng).as_matrix()
    pairs = np.where(rng.random((len(i), 1, 1)) < wrong, other, cameras[i] @ cameras[j].transpose(0, 2, 1))
    return places, cameras, i, j, pairs


def synchronise(i, j, pairs):
    problem = gnp.composite(gnp.RelativeRotations(i, j, COUNT), gnp.L1(pairs))
    return gnp.RelativeRotations.rotations(gnp.minimize(problem).x)


def spectral(i, j, pairs):
    blocks = np.zeros((COUNT, COUNT, 3, 3))
    blocks[i, j], blocks[j, i] = pairs, pairs.transpose(0, 2, 1)
    root = np.sqrt(np.bincount(np.append(i, j)))
    blocks /= np.multiply.outer(root, root)[..., None, None]
    vectors = np.linalg.eigh(blocks.transpose(0, 2, 1, 3).reshape(3 * COUNT, -1))[1][:, -3:]
    vectors *= np.sign(np.linalg.det(vectors[:3]))
    return nearest(vectors.reshape(COUNT, 3, 3))


def nearest(matrices):
    u, _, v = np.linalg.svd(matrices)
    return (u * np.stack([*np.ones((2, *u.shape[:-2])), np.linalg.det(u @ v)], axis=-1)[..., None, :]) @ v


def work():
    places, cameras, *data = make_data()
    found = {"spectral averaging": spectral(*data), "gnpolyak": synchronise(*data)}
    found = {name: r @ nearest(np.mean(r.transpose(0, 2, 1) @ cameras, axis=0)) for name, r in found.items()}
    errors = {name: np.linalg.norm(r - cameras) / np.linalg.norm(cameras) for name, r in found.items()}
    return errors, {"places": places, "cameras": cameras, **found}


def draw(errors, shown):
    figure, places = Figure(figsize=(10, 4.4), layout="constrained"), shown["places"]
    for k, (name, error) in enumerate(errors.items(), 1):
        axes = figure.add_subplot(1, 2, k, projection="3d", computed_zorder=False)
        off = np.degrees(np.arccos(np.clip(np.sum(shown[name][:, 2] * shown["cameras"][:, 2], axis=1), -1, 1)))
        for place, sight in zip(places, places + shown[name][:, 2], strict=True):
            axes.plot(*np.stack([place, sight], axis=1), color="tab:blue", linewidth=0.7)
        axes.scatter(*places.T, s=12, color="black")
        axes.set_title(f"{name}: error {error:.2g}\nlargest miss {off.max():.1e}°", fontsize=10)
        axes.set_box_aspect((1, 1, 0.7), zoom=1.6)
        axes.set_axis_off()
    return figure


if __name__ == "__main__":
    errors, shown = work()
    print(*(f"{name}: {error:.1e}" for name, error in errors.items()), sep="\n")
    draw(errors, shown).savefig(sys.argv[1] if len(sys.argv) > 1 else "cameras.png", dpi=110, bbox_inches="tight")
