"""Whether measurements are linear in the image, and state their derivative and its adjoint, on NumPy as under JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base import arrays, trees
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Map
from gnpolyak.problem.penalties import L1, Amplitude
from gnpolyak.problem.sensing import Sensing
from gnpolyak.testing.figures import CLOSE, SINGLE, Figures, are_numpys, computing, dense, drawn, single, vector


def check_sensing(sensing: Sensing, c: Map, x: Tree, *, seed: int = 0) -> dict[str, float]:
    """Hold measurements of c(x) against their dense derivative, and against linearity in the image.

    Measurements and a map that run on NumPy are bound to it as well, and held against what they are under JAX.

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
        u, v = drawn(point, rng), drawn(z, rng)
        jacobian = dense(_measured, sensing, c, point)
        figures.compare("push", vector(sensing.push(c, point)(u)), jacobian @ vector(u))
        figures.compare("pullback", vector(pullback(v)), jacobian.T @ vector(v))
        figures.compare("under jit", jax.jit(_measured)(sensing, c, point), z)
        if sensing.on_images:
            _linear(figures, sensing, c, point, rng)
        _single(figures, sensing, c, point)
        if sensing.runs_on_numpy and c.runs_on_numpy:
            _on_numpy(figures, sensing, c, (point, u, v))
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


def _on_numpy(figures: Figures, sensing: Sensing, c: Map, at: tuple[Tree, Tree, jax.Array]) -> None:
    """The same numbers from NumPy arrays, which come back as such, in double and in single precision."""
    expected = _actions(sensing, c, *at)
    for name, dtype, allowed in (("", np.float64, CLOSE), (" in float32", np.float32, SINGLE)):
        narrow = np.dtype(dtype)
        host, bound = sensing.cast(narrow).using(np), c.cast(narrow).using(np)
        found = _actions(host, bound, *trees.on_host(arrays.cast(at, narrow)))
        for action, right in expected.items():
            figures.compare(f"{action} on NumPy{name}", found[action], right, allowed)
        figures.require(f"NumPy arrays{name}", are_numpys(found, narrow))


def _actions(sensing: Sensing, c: Map, x: Tree, u: Tree, v: jax.Array) -> dict[str, Tree]:
    """Everything that measurements compute, at x along u and v."""
    z, pullback = sensing.measure(c, x)
    found = {"measure": z, "push": sensing.push(c, x)(u), "pullback": pullback(v)}
    if sensing.on_images:
        image = c(x)
        found |= {"apply": sensing.apply(image), "adjoint": sensing.adjoint(image, v)}
    return found
