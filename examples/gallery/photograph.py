"""A photograph from phaseless measurements, a fifth of them ruined.

A detector sees how bright light is, not its phase. The photograph passes three known random phase plates, its Fourier
transform is measured behind each, and of the sizes |F(plate ⊙ x)| a fifth is replaced by garbage. All methods begin
with a grey image. Alternating projections fit the garbage too. To leave out, in each turn, residuals beyond some number
of medians saves them if that number is well chosen: five is good here, eight is not. `minimize` is told no such number.
With a fourth plate eight medians are good as well.
"""

import jax.numpy as jnp
import numpy as np
from showing import panels, show, titled
from skimage import color, data, transform

import gnpolyak as gnp


def make_data(size=96, plates=3, ruined=0.2, seed=0):
    rng = np.random.default_rng(seed)
    photo = transform.resize(color.rgb2gray(data.astronaut())[:256, 96:352], (size, size), anti_aliasing=True)
    masks = np.exp(2j * np.pi * rng.random((plates, size, size)))
    sizes = np.abs(np.fft.fft2(masks * photo, norm="ortho"))
    garbage = 3 * np.median(sizes) * np.abs(rng.standard_normal(sizes.shape))
    return photo, masks, np.where(rng.random(sizes.shape) < ruined, garbage, sizes)


def fit(masks, b, start):
    def sizes(x, masks):
        return jnp.abs(jnp.fft.fft2(masks * x, norm="ortho"))

    return gnp.minimize(gnp.composite(sizes, gnp.L1(b), args=(masks,)), start)


def alternating_projections(masks, b, x, medians=np.inf, turns=300):
    for _ in range(turns):
        seen = np.fft.fft2(masks * x, norm="ortho")
        residual = b - np.abs(seen)
        trusted = np.abs(residual) < medians * np.median(np.abs(residual))
        change = np.where(trusted, residual, 0) * seen / np.abs(seen)
        x = x + np.mean(np.fft.ifft2(change, norm="ortho") * masks.conj(), axis=0).real
    return x


def work():
    photo, masks, b = make_data()
    grey = np.full(photo.shape, np.median(b))
    shown = {
        "alternating projections": alternating_projections(masks, b, grey),
        "the same, cut at 8 medians": alternating_projections(masks, b, grey, 8),
        "the same, cut at 5 medians": alternating_projections(masks, b, grey, 5),
        "gnpolyak": fit(masks, b, grey).x,
    }
    # x and −x have the same sizes.
    shown = {name: x * np.sign(np.vdot(x, photo)) for name, x in shown.items()}
    errors = {name: np.linalg.norm(x - photo) / np.linalg.norm(photo) for name, x in shown.items()}
    return errors, {"photograph": photo, **shown}


def draw(errors, shown):
    return panels(titled(errors, shown), size=9)


if __name__ == "__main__":
    show(work, draw)
