"""Whether a map is what it says it is."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from gnpolyak.base import arrays, trees
from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import GAUGE, GRAM_PINV, IMAGE, POWER_FORMS, RIGHT_GRAM
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Map
from gnpolyak.problem.penalties import L1
from gnpolyak.problem.sensing import Identity
from gnpolyak.steps.iteration import init, step
from gnpolyak.steps.methods import GNP
from gnpolyak.steps.targets import Known
from gnpolyak.testing.figures import SINGLE, Figures, computing, dense, drawn, single, vector


def check_map(c: Map, x: Tree, *, seed: int = 0) -> dict[str, float]:
    """Hold everything that a map offers against a dense Jacobian at x, and its steps against themselves.

    Checked are its derivative and adjoint, the Gram action, the pseudo-inverse (plain and damped) against the singular
    values, the bound on the curvature, inner product and distance of images, whatever else is in `offers`, single
    precision, and `step` under jit and vmap.

    Parameters
    ----------
    c : Map
        With `IMAGE` among what it offers: the reference is formed from it.
    x : array_like or pytree
        Where. Try a generic point, and one where the rank of J falls.

    Examples
    --------
    >>> import numpy as np, gnpolyak as gnp
    >>> errors = gnp.testing.check_map(gnp.SymmetricCP(2), np.arange(6.0).reshape(3, 2))
    >>> errors["gram_pinv"] < 1e-10
    True
    """
    rng = np.random.default_rng([seed, 0x3A9])
    figures = Figures(c.label)
    with computing(x) as [point]:
        c.check(point)
        c.require(IMAGE, "check_map", "check it through a problem with check_sensing")
        jacobian = dense(c, point)
        _linearisation(figures, c, point, jacobian, rng)
        _images(figures, c, point, rng)
        if GRAM_PINV in c.offers:
            _pseudo_inverse(figures, c, point, jacobian, rng)
        if RIGHT_GRAM in c.offers:
            _right_gram(figures, c, point, rng)
        if POWER_FORMS in c.offers:
            _power_forms(figures, c, point, rng)
        if GAUGE in c.offers:
            _gauge(figures, c, point, rng)
        _steps(figures, c, point, rng)
        _single(figures, c, point, rng)
    return figures.judged()


def _linearisation(figures: Figures, c: Map, x: Tree, jacobian: np.ndarray, rng: np.random.Generator) -> None:
    u, v = drawn(x, rng), drawn(c(x), rng)
    push, pull = c.linearize(x)
    figures.compare("push", vector(push(u)), jacobian @ vector(u))
    figures.compare("pull", vector(pull(v)), jacobian.T @ vector(v))
    figures.compare("gram", vector(c.gram(x)(u)), jacobian.T @ (jacobian @ vector(u)))
    # Central differences halve their error's order in eps: a wrong derivative is off by far more.
    t = 1e-5 * max(float(trees.norm(x)), 1.0) / float(trees.norm(u))
    ends = [vector(c(trees.add_scaled(x, sign * t, u))) for sign in (1.0, -1.0)]
    figures.compare("derivative", (ends[0] - ends[1]) / (2 * t), jacobian @ vector(u), 1e-5)
    second = jax.jvp(lambda y: jax.jvp(c, (y,), (u,))[1], (x,), (u,))[1]
    size, bound = float(trees.norm(second)), float(c.curvature(x, u))
    figures.note("curvature", max(size / bound - 1, 0.0) if bound > 0 else size, 1e-8)


def _images(figures: Figures, c: Map, x: Tree, rng: np.random.Generator) -> None:
    y = trees.add_scaled(x, 0.1, drawn(x, rng))
    at_x, at_y = vector(c(x)), vector(c(y))
    scale = max(float(np.linalg.norm(at_x) * np.linalg.norm(at_y)), float(np.finfo(float).tiny))
    figures.note("inner", abs(float(c.inner(x, y)) - at_x @ at_y) / scale, 1e-10)
    figures.compare("distance", np.asarray(c.distance(x, y)), np.linalg.norm(at_x - at_y))


def _pseudo_inverse(figures: Figures, c: Map, x: Tree, jacobian: np.ndarray, rng: np.random.Generator) -> None:
    """(JᵀJ)†g and (JᵀJ + λI)⁻¹g for g in range(Jᵀ), from the singular values of J."""
    left, singular, right = np.linalg.svd(jacobian, full_matrices=False)
    kept = singular > max(jacobian.shape) * np.finfo(float).eps * singular[0]
    _, unravel = trees.ravel(x)
    coordinates = left.T @ rng.standard_normal(len(jacobian))
    g = unravel(jnp.asarray(right.T @ (np.where(kept, singular, 0.0) * coordinates)))
    for name, damping in (("gram_pinv", 0.0), ("gram_pinv, damped", float(np.median(singular[kept])) ** 2)):
        inverse = np.where(kept, singular / np.where(kept, singular**2 + damping, 1.0), 0.0)
        figures.compare(name, vector(c.gram_pinv(x, g, damping)), right.T @ (inverse * coordinates))


def _right_gram(figures: Figures, c: Map, x: Array, rng: np.random.Generator) -> None:
    """JᵀJZ is a multiple of Z (XᵀX) for directions Z orthogonal to the columns of X."""
    if x.shape[0] <= x.shape[1]:
        return
    u = rng.standard_normal(x.shape)
    basis = np.linalg.svd(np.asarray(x), full_matrices=False)[0]
    z = u - basis @ (basis.T @ u)
    ours, theirs = np.asarray(z @ c.right_gram(x)), np.asarray(c.gram(x)(jnp.asarray(z)))
    figures.compare("right_gram", ours / np.linalg.norm(ours), theirs / np.linalg.norm(theirs))


def _power_forms(figures: Figures, c: Map, x: Array, rng: np.random.Generator) -> None:
    rows = rng.standard_normal((5, x.shape[0]))
    image = np.asarray(c(x))
    values = []
    for row in rows:
        contracted = image
        while contracted.ndim:
            contracted = contracted @ row
        values.append(float(contracted))
    found, pullback = c.power_forms(x, jnp.asarray(rows))
    figures.compare("power_forms", found, np.array(values))
    weights = rng.standard_normal(len(rows))
    jacobian = dense(lambda y: c.power_forms(y, jnp.asarray(rows))[0], x)
    figures.compare("power_forms, pullback", vector(pullback(jnp.asarray(weights))), jacobian.T @ weights)


def _gauge(figures: Figures, c: Map, x: Tree, rng: np.random.Generator) -> None:
    """The image does not change along the gauge, and neither does that of a step."""
    y = c.gauge(x, rng)
    figures.compare("gauge", c(y), c(x))
    size = max(float(jnp.sqrt(c.inner(x, x))), float(np.finfo(float).tiny))
    figures.note("gauge, distance", float(c.distance(x, y)) / size, 1e-7)
    ends = [_stepped(problem_around(c, x, 1), start)[0].point.x for start in (x, y)]
    figures.compare("gauge, step", c(ends[1]), c(ends[0]), 1e-7)


def problem_around(c: Map, x: Tree, seed: int = 0) -> Composite:
    """‖c(·) − b‖₁ for data b at some distance from c(x)."""
    image = np.asarray(c(x))
    b = image + np.random.default_rng(seed).standard_normal(image.shape) * (1.0 + np.linalg.norm(image)) / image.size
    return Composite(c, L1(jnp.asarray(b.real)), Identity())


def _stepped(problem: Composite, x: Tree) -> Any:
    method, target = GNP(), Known(0.0)
    return step(problem, method, target, init(problem, method, target, x))


def _steps(figures: Figures, c: Map, x: Tree, rng: np.random.Generator) -> None:
    """`step` compiled, and mapped over two starts, does what it does by itself."""
    if jnp.iscomplexobj(c(x)):
        return
    problem = problem_around(c, x, 2)
    starts = [x, trees.add_scaled(x, 0.01, drawn(x, rng))]
    alone = [_stepped(problem, start)[0].point.value for start in starts]
    together = jax.tree.map(lambda *leaves: jnp.stack(leaves), *starts)
    figures.compare("step under jit", jax.jit(_stepped)(problem, x)[0].point.value, alone[0], 1e-8)
    mapped = jax.vmap(_stepped, in_axes=(None, 0))(problem, together)[0].point.value
    figures.compare("step under vmap", mapped, jnp.stack(alone), 1e-8)


def _single(figures: Figures, c: Map, x: Tree, rng: np.random.Generator) -> None:
    """In single precision everything stays single, and near to double."""
    u = drawn(x, rng)
    expected = {"float32 image": c(x), "float32 gram": c.gram(x)(u)}
    with arrays.computing_in(np.dtype(np.float32)):
        narrow = c.cast(np.dtype(np.float32))
        found = {"float32 image": narrow(single(x)), "float32 gram": narrow.gram(single(x))(single(u))}
    for name, value in found.items():
        figures.compare(name, value, expected[name], SINGLE)
        figures.require(f"{name} dtype", all(leaf.dtype.itemsize in (4, 8) for leaf in jax.tree.leaves(value)))
        figures.require(f"{name} dtype", arrays.working_dtype(value) == np.float32)
