"""Moving things apart from a still background.

Forty frames of a table while the daylight changes, and two discs that roll across it. Each frame is a column of a matrix; the
background is of rank 2 (a picture, and the light from the side), and where the discs are it is hidden. Least absolute
deviations over matrices of low rank see through them, to the last digit. Robust PCA by the inexact augmented Lagrangian
method, with the usual λ = 1/√(pixels), leaves shadows where a disc was for long.
"""

import sys

import numpy as np
from matplotlib.figure import Figure
from skimage import color, data, transform

import gnpolyak as gnp

FRAMES, HEIGHT, WIDTH = 40, 60, 90


def make_frames():
    t = np.arange(FRAMES)[:, None, None]
    picture = transform.resize(color.rgb2gray(data.coffee()), (HEIGHT, WIDTH), anti_aliasing=True)
    sunshine = np.linspace(0, 0.2, WIDTH) * np.ones((HEIGHT, 1))
    background = picture * (0.9 + 0.1 * np.sin(2 * np.pi * t / FRAMES)) + sunshine * np.cos(2 * np.pi * t / FRAMES)
    frames, (y, x) = background.copy(), np.mgrid[:HEIGHT, :WIDTH]
    for row, speed, radius, shade in ((20, 2.0, 8, 0.95), (43, -1.7, 7, 0.05)):
        frames[(y - row) ** 2 + (x - WIDTH / 2 - speed * (t - FRAMES / 2)) ** 2 < radius**2] = shade
    return background, frames


def separate(frames):
    columns = frames.reshape(FRAMES, -1).T
    u, v = gnp.minimize(gnp.composite(gnp.LowRank(), gnp.L1(columns))).x
    return (u @ v.T).T.reshape(frames.shape)


def robust_pca(frames, growth=1.5, tol=1e-7):
    data = frames.reshape(FRAMES, -1)
    length, weight = np.linalg.norm(data, 2), 1 / np.sqrt(data.shape[1])
    dual, mu, moving, gap = data / max(length, np.abs(data).max() / weight), 1.25 / length, np.zeros(data.shape), np.inf
    while gap > tol * np.linalg.norm(data):
        u, s, v = np.linalg.svd(data - moving + dual / mu, full_matrices=False)
        still = (u * np.maximum(s - 1 / mu, 0)) @ v
        rest = data - still + dual / mu
        moving = np.sign(rest) * np.maximum(np.abs(rest) - weight / mu, 0)
        dual, gap = dual + mu * (data - still - moving), np.linalg.norm(data - still - moving)
        mu *= growth
    return still.reshape(frames.shape)


def work():
    background, frames = make_frames()
    found = {"inexact ALM": robust_pca(frames), "gnpolyak": separate(frames)}
    errors = {name: np.linalg.norm(x - background) / np.linalg.norm(background) for name, x in found.items()}
    return errors, {"frames": frames, "background": background, **found}


def draw(errors, shown):
    figure, truth = Figure(figsize=(11, 3.8), layout="constrained"), shown["background"]
    for row, k in zip(figure.subplots(2, 5), (8, 24), strict=True):
        images = {f"frame {k}": shown["frames"][k]}
        images |= {f"background, {name}\nerror {error:.2g}": shown[name][k] for name, error in errors.items()}
        images |= {f"10 × its error, {name}": 0.5 + 10 * (shown[name] - truth)[k] for name in errors}
        for axes, (title, image) in zip(row, images.items(), strict=True):
            axes.imshow(image, cmap="gray", vmin=0, vmax=1)
            axes.set_title(title, fontsize=9)
            axes.axis("off")
    return figure


if __name__ == "__main__":
    errors, shown = work()
    print(*(f"{name}: {error:.1e}" for name, error in errors.items()), sep="\n")
    draw(errors, shown).savefig(sys.argv[1] if len(sys.argv) > 1 else "video.png", dpi=110, bbox_inches="tight")
