"""Whether measurements are linear in the image, and their pullback is the adjoint of their derivative."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Map
from gnpolyak.problem.penalties import L1, Amplitude
from gnpolyak.problem.sensing import Sensing
from gnpolyak.testing.figures import SINGLE, Figures, computing, dense, drawn, single, vector


def check_sensing(sensing: Sensing, c: Map, x: Tree, *, seed: int = 0) -> dict[str, float]:
    """Hold measurements of c(x) against their dense derivative, and against linearity in the image.

    Parameters
    ----------
    sensing : Sensing
    c : Map
        A map that offers what the measurements need.
    x : array_like or pytree
        Where.

    Examples
    --------
    >>> import numpy as np, gnpolyak as gnp
    >>> errors = gnp.testing.check_sensing(gnp.Identity(), gnp.SymmetricCP(2), np.ones((3, 1)))
    """
    rng = np.random.default_rng([seed, 0x5E5])
    figures = Figures(f"{sensing.label} of {c.label}")
    with computing(x) as [point]:
        c.require(sensing.needs, sensing.label)
        sensing = sensing.cast(np.dtype(np.float64))
        z, pullback = sensing.measure(c, point)
        penalty = Amplitude if jnp.iscomplexobj(z) else L1
        Composite(c, penalty(jnp.zeros(z.shape)), sensing).check(point)
        v = drawn(z, rng)
        jacobian = dense(_measured, sensing, c, point)
        figures.compare("pullback", vector(pullback(v)), jacobian.T @ vector(v))
        figures.compare("under jit", jax.jit(_measured)(sensing, c, point), z)
        if sensing.on_images:
            _linear(figures, sensing, c, point, rng)
        _single(figures, sensing, c, point)
    return figures.judged()


def _measured(sensing: Sensing, c: Map, x: Tree) -> jax.Array:
    return sensing.measure(c, x)[0]


def _linear(figures: Figures, sensing: Sensing, c: Map, x: Tree, rng: np.random.Generator) -> None:
    """A(a + 2b) = A(a) + 2A(b), and ⟨A(a), v⟩ = ⟨a, Aᵀv⟩, on images."""
    a, b = c(x), drawn(c(x), rng)
    measured = [sensing.apply(image) for image in (a, b, a + 2 * b)]
    figures.compare("linear", measured[2], measured[0] + 2 * measured[1])
    v = drawn(measured[0], rng)
    pairing = vector(sensing.adjoint(a, v)) @ vector(b)
    scale = float(np.linalg.norm(vector(v)) * np.linalg.norm(vector(measured[1])))
    figures.note("adjoint", abs(pairing - vector(v) @ vector(measured[1])) / max(scale, 1e-300), 1e-10)


def _single(figures: Figures, sensing: Sensing, c: Map, x: Tree) -> None:
    expected, _ = sensing.measure(c, x)
    dtype = np.dtype(np.float32)
    with arrays.computing_in(dtype):
        found, _ = sensing.cast(dtype).measure(c.cast(dtype), single(x))
    figures.compare("float32", found, expected, SINGLE)
    figures.require("float32 dtype", arrays.working_dtype(found) == dtype)
