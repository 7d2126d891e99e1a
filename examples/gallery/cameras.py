"""Fifty cameras of which a third of the pairs disagree.

Fifty cameras stand around a statue and look at it, each held at an angle of its own. For half of the pairs the relative
rotation R_i R_jᵀ was measured, and a third of those are wrong altogether. Drawn is each camera's line of sight, as far
as the statue, after the whole was turned to fit the truth best. Spectral averaging, the usual first step of a
reconstruction, spreads the wrong pairs over all cameras; least absolute deviations leave them out.
They need enough pairs for that: with three in ten measured, a camera most of whose pairs are wrong may be lost, and the
solve then ends uncertified.
"""

import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation
from showing import show

import gnpolyak as gnp

COUNT = 50


def make_data():
    case = gnp.instances.synchronisation(n=COUNT, p_fail=1 / 3, observed=0.5)  # stands for your pairs
    c, pairs = case.problem.map, case.problem.penalty.b
    return gnp.RelativeRotations.rotations(case.truth), *(np.asarray(each) for each in (c.i, c.j, pairs))


def fit(i, j, pairs):
    problem = gnp.composite(gnp.RelativeRotations(i, j, COUNT), gnp.L1(pairs))
    return gnp.RelativeRotations.rotations(gnp.minimize(problem).x)


def spectral(i, j, pairs):
    blocks = np.zeros((COUNT, COUNT, 3, 3))
    blocks[i, j], blocks[j, i] = pairs, pairs.transpose(0, 2, 1)
    root = np.sqrt(np.bincount(np.append(i, j)))
    blocks /= np.multiply.outer(root, root)[..., None, None]
    found = np.linalg.eigh(blocks.transpose(0, 2, 1, 3).reshape(3 * COUNT, -1))[1][:, -3:].reshape(COUNT, 3, 3)
    return Rotation.from_matrix(found * np.sign(np.linalg.det(found).sum())).as_matrix()


def work():
    cameras, *data = make_data()
    found = {"spectral averaging": spectral(*data), "gnpolyak": fit(*data)}
    for name, r in found.items():
        found[name] = r @ Rotation.from_matrix(np.mean(r.transpose(0, 2, 1) @ cameras, axis=0)).as_matrix()
    errors = {name: np.linalg.norm(r - cameras) / np.linalg.norm(cameras) for name, r in found.items()}
    return errors, {"cameras": cameras, **found}


def draw(errors, shown):
    figure, places = Figure(figsize=(8, 4.3), layout="constrained"), -shown["cameras"][:, 2]
    for k, (name, error) in enumerate(errors.items(), 1):
        axes, sights = figure.add_subplot(1, 2, k, projection="3d"), shown[name][:, 2]  # the third row looks
        axes.quiver(*places.T, *sights.T, arrow_length_ratio=0, linewidth=0.7)
        axes.scatter(*places.T, s=12, color="black")
        off = np.degrees(np.linalg.norm(sights + places, axis=1).max())
        axes.set_title(f"{name}: error {error:.2g}\nlines of sight off by up to {off:.2g}°", fontsize=10)
        axes.set_box_aspect((1, 1, 1), zoom=1.5)
        axes.set_axis_off()
    return figure


if __name__ == "__main__":
    show(work, draw)
