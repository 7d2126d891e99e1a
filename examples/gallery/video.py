"""Moving things apart from a still background.

Forty frames of a table while the light changes, and two discs that roll across it. Each frame is a column of a matrix.
The background is of rank 2, a picture and light from the side, and is hidden where the discs are. Least absolute
deviations over matrices of that rank see through them to the last digit. Robust PCA by the inexact augmented Lagrangian
method, which is not told the rank, but the usual λ = 1/√pixels, leaves traces on the way of the discs.
Larger and slower discs, which hide some pixels in a quarter of the frames, left both methods with an error, and without
`rank=2` a third factor is added that should not be; such solves end without a certificate.
"""

import numpy as np
from inexact_alm import inexact_alm
from showing import panels, show
from skimage import color, data, transform

import gnpolyak as gnp

FRAMES, HEIGHT, WIDTH = 40, 60, 80


def make_frames():
    t = np.arange(FRAMES)[:, None, None]
    picture = transform.resize(color.rgb2gray(data.coffee()), (HEIGHT, WIDTH), anti_aliasing=True)
    sunshine = np.linspace(0, 0.2, WIDTH) * np.ones((HEIGHT, 1))
    background = picture * (0.8 + 0.2 * np.sin(2 * np.pi * t / FRAMES)) + sunshine * np.cos(2 * np.pi * t / FRAMES)
    frames, (y, x) = background.copy(), np.mgrid[:HEIGHT, :WIDTH]
    for row, speed, radius, shade in ((20, 2, 7, 0.95), (42, -2, 7, 0.05)):
        frames[(y - row) ** 2 + (x - WIDTH / 2 - speed * (t - FRAMES / 2)) ** 2 < radius**2] = shade
    return background, frames


def fit(frames):
    columns = frames.reshape(FRAMES, -1).T
    u, v = gnp.minimize(gnp.composite(gnp.LowRank(), gnp.L1(columns)), rank=2).x
    return (u @ v.T).T.reshape(frames.shape)


def work():
    background, frames = make_frames()
    found = {"inexact ALM": inexact_alm(frames.reshape(FRAMES, -1)).reshape(frames.shape), "gnpolyak": fit(frames)}
    errors = {name: np.linalg.norm(x - background) / np.linalg.norm(background) for name, x in found.items()}
    return errors, {"frames": frames, "background": background, **found}


def draw(errors, shown):
    images, frames = {}, shown["frames"]
    for k in (8, 24):
        images |= {f"frame {k}\n": frames[k], f"{k}: what moves,\ngnpolyak": 0.5 + (frames - shown["gnpolyak"])[k]}
        images |= {f"{k}: still, {name}\nerror {error:.2g}": shown[name][k] for name, error in errors.items()}
        images |= {f"{k}: 30 × error,\n{name}": 0.5 + 30 * (shown[name] - shown["background"])[k] for name in errors}
    return panels(images, rows=2, width=1.9, size=9)


if __name__ == "__main__":
    show(work, draw)
