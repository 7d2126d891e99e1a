"""Whether a map is what it says it is."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base import arrays, trees
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import GAUGE, GRAM_PINV, IMAGE, RIGHT_GRAM
from gnpolyak.problem.composite import Composite, Point
from gnpolyak.problem.maps import Map
from gnpolyak.problem.penalties import L1
from gnpolyak.problem.sensing import Identity, Parts
from gnpolyak.steps.iteration import init, step
from gnpolyak.steps.methods import GNP
from gnpolyak.steps.targets import Known
from gnpolyak.testing.figures import SINGLE, Figures, computing, drawn, jacobian, shaped, single, vector
from gnpolyak.testing.forms import check_forms
from gnpolyak.testing.portable import Solve, check_on_numpy

# Singular values of J below this share of the largest are zero.
_RANK = 1e-10
# What an iterative solver of the systems of a step may leave.
_ITERATED = 1e-6


def check_map(c: Map, x: Tree, *, seed: int = 0) -> dict[str, float]:
    """Hold everything that a map offers, and a step with it, against a dense Jacobian at x.

    Checked are its derivative and adjoint, the Gram action, the pseudo-inverse (plain and damped) against the singular
    values, the bound on the curvature, inner product and distance of images, whatever else is in `offers`, single
    precision, and one `step`, alone and under vmap. A map that is written over `xp` is checked bound to NumPy as well:
    there it has to give the same numbers, and no operation of JAX may run.

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
        dense = _linearisation(figures, c, point, rng)
        _images(figures, c, point, rng)
        solves = _pseudo_inverse(figures, c, point, dense, rng) if GRAM_PINV in c.offers else []
        if RIGHT_GRAM in c.offers:
            _right_gram(figures, c, point, rng)
        check_forms(figures, c, point, np.asarray(_image(c, point)), rng)
        if c.runs_on_numpy:
            check_on_numpy(figures, c, point, dense, solves, rng)
        if GAUGE in c.offers:
            _gauge(figures, c, point, rng)
        _steps(figures, c, point, dense, rng)
        _single(figures, c, point, rng)
    return figures.judged()


# What is compiled here is compiled once for all points of one shape: the map is an argument, never a constant.


@jax.jit
def _image(c: Map, x: Tree) -> Array:
    return c(x)


@jax.jit
def _first_order(c: Map, x: Tree, u: Tree, v: Array) -> tuple[Array, Array, Tree]:
    push, pull = c.linearize(x)
    return jacobian(c, x), push(u), pull(v)


@jax.jit
def _second_order(c: Map, x: Tree, u: Tree) -> tuple[Array, Array]:
    return jax.jvp(lambda y: jax.jvp(c, (y,), (u,))[1], (x,), (u,))[1], c.curvature(x, u)


@jax.jit
def _gram(c: Map, x: Tree, u: Tree) -> tuple[Array, Tree]:
    return c(x), c.gram(x)(u)


def _linearisation(figures: Figures, c: Map, x: Tree, rng: np.random.Generator) -> np.ndarray:
    """Note derivative, adjoint and curvature, and return the dense Jacobian."""
    u, v = drawn(x, rng), drawn(_image(c, x), rng)
    dense, pushed, pulled = _first_order(c, x, u, v)
    dense = np.asarray(dense)
    figures.compare("push", vector(pushed), dense @ vector(u))
    figures.compare("pull", vector(pulled), dense.T @ vector(v))
    figures.compare("gram", vector(_gram(c, x, u)[1]), dense.T @ (dense @ vector(u)))
    # Central differences halve their error's order in eps: a wrong derivative is off by far more.
    t = 1e-5 * max(float(np.linalg.norm(vector(x))), 1.0) / float(np.linalg.norm(vector(u)))
    ends = [vector(_image(c, trees.add_scaled(x, sign * t, u))) for sign in (1.0, -1.0)]
    figures.compare("derivative", (ends[0] - ends[1]) / (2 * t), dense @ vector(u), 1e-5)
    second, bound = _second_order(c, x, u)
    size = float(np.linalg.norm(vector(second)))
    figures.note("curvature", max(size / float(bound) - 1, 0.0) if bound > 0 else size, 1e-8)
    return dense


@jax.jit
def _compared(c: Map, x: Tree, y: Tree) -> tuple[Array, Array]:
    return c.inner(x, y), c.distance(x, y)


def _images(figures: Figures, c: Map, x: Tree, rng: np.random.Generator) -> None:
    y = trees.add_scaled(x, 0.1, drawn(x, rng))
    at_x, at_y = vector(_image(c, x)), vector(_image(c, y))
    inner, distance = _compared(c, x, y)
    scale = max(float(np.linalg.norm(at_x) * np.linalg.norm(at_y)), float(np.finfo(float).tiny))
    figures.note("inner", abs(float(inner) - at_x @ at_y) / scale, 1e-10)
    figures.compare("distance", np.asarray(distance), np.linalg.norm(at_x - at_y))


@jax.jit
def _solved(c: Map, x: Tree, g: Tree, damping: float) -> Tree:
    return c.gram_pinv(x, g, damping)


def _pseudo_inverse(figures: Figures, c: Map, x: Tree, dense: np.ndarray, rng: np.random.Generator) -> list[Solve]:
    """Note (JᵀJ)†g and (JᵀJ + λI)⁻¹g for g in range(Jᵀ), and return them as the singular values of J give them."""
    left, singular, right = np.linalg.svd(dense, full_matrices=False)
    kept = singular > _RANK * singular[0]
    coordinates = left.T @ rng.standard_normal(len(dense))
    g = shaped(right.T @ (np.where(kept, singular, 0.0) * coordinates), x)
    solves = []
    for name, damping in (("gram_pinv", 0.0), ("gram_pinv, damped", float(np.median(singular[kept])) ** 2)):
        inverse = np.where(kept, singular / np.where(kept, singular**2 + damping, 1.0), 0.0)
        solves.append(Solve(name, damping, g, right.T @ (inverse * coordinates)))
        figures.compare(name, vector(_solved(c, x, g, damping)), solves[-1].solution)
    return solves


def _right_gram(figures: Figures, c: Map, x: Array, rng: np.random.Generator) -> None:
    """JᵀJZ is a multiple of Z (XᵀX) for directions Z orthogonal to the columns of X."""
    if x.shape[0] <= x.shape[1]:
        return
    u = np.asarray(drawn(x, rng))
    basis = np.linalg.svd(np.asarray(x), full_matrices=False)[0]
    z = u - basis @ (basis.conj().T @ u)
    ours, theirs = z @ np.asarray(c.right_gram(x)), np.asarray(_gram(c, x, jnp.asarray(z))[1])
    figures.compare("right_gram", ours / np.linalg.norm(ours), theirs / np.linalg.norm(theirs))


def _gauge(figures: Figures, c: Map, x: Tree, rng: np.random.Generator) -> None:
    """The image does not change along the gauge, and neither does that of a step."""
    y = c.gauge(x, rng)
    figures.compare("gauge", _image(c, y), _image(c, x))
    size = max(float(np.sqrt(_compared(c, x, x)[0])), float(np.finfo(float).tiny))
    figures.note("gauge, distance", float(_compared(c, x, y)[1]) / size, 1e-7)
    ends = [_compiled_step(problem_around(c, x, 1), start).x for start in (x, y)]
    figures.compare("gauge, step", _image(c, ends[1]), _image(c, ends[0]), 1e-7)


def problem_around(c: Map, x: Tree, seed: int = 0) -> Composite:
    """‖c(·) − b‖₁ for data b at some distance from c(x)."""
    with computing(x) as [point]:
        # A function in plain NumPy cannot be traced before it was called.
        c = c.settled(point)
    b = arrays.as_real_array(_data_around(c, x, seed), "b")
    return Composite(c, L1(b), Parts() if _is_complex(c, x) else Identity())


def _is_complex(c: Map, x: Tree) -> bool:
    with computing(x) as [point]:
        return jnp.issubdtype(jax.eval_shape(c, point).dtype, jnp.complexfloating)


def _data_around(c: Map, x: Tree, seed: int) -> np.ndarray:
    with computing(x) as [point]:
        image = np.asarray(_image(c, point))
    if np.iscomplexobj(image):
        image = np.stack([image.real, image.imag], axis=-1)
    return image + np.random.default_rng(seed).standard_normal(image.shape) * (1.0 + np.linalg.norm(image)) / image.size


def _stepped(problem: Composite, x: Tree) -> Point:
    method, target = GNP(), Known(0.0)
    return step(problem, method, target, init(problem, method, target, x))[0].point


_compiled_step = jax.jit(_stepped)
_mapped_step = jax.jit(jax.vmap(_stepped, in_axes=(None, 0)))


def _steps(figures: Figures, c: Map, x: Tree, dense: np.ndarray, rng: np.random.Generator) -> None:
    """A step is x − f/‖Pv‖² J†v for the projection P on range(J); two under vmap are each of them alone."""
    problem = problem_around(c, x, 2)
    starts = [x, trees.add_scaled(x, 0.01, drawn(x, rng))]
    ends = [_compiled_step(problem, start) for start in starts]
    b = _data_around(c, x, 2)
    r = vector(_image(c, x)) - (np.moveaxis(b, -1, 0) if _is_complex(c, x) else b).ravel()
    shortest, *_ = np.linalg.lstsq(dense, np.sign(r), rcond=_RANK)
    along = np.sum(np.abs(r)) / np.sum((dense @ shortest) ** 2)
    figures.compare("step", vector(ends[0].x), vector(x) - along * shortest, _ITERATED)
    together = jax.tree.map(lambda *leaves: jnp.stack(leaves), *starts)
    values = np.stack([end.value for end in ends])
    figures.compare("step under vmap", _mapped_step(problem, together).value, values, _rounding(c, starts[1]))


def _rounding(c: Map, x: Tree) -> float:
    """How far two ways to the same step at x may be apart: by ε κ(J)², as its systems are those of JᵀJ.

    A library for a GPU factorises a stack of matrices in another way than a single one, and next to a point where J
    loses rank the last digit of x decides over half of the step's.
    """
    image = _image(c, x)
    values = np.linalg.svd(np.asarray(_first_order(c, x, x, image)[0]), compute_uv=False)
    kept = values[values > _RANK * values[0]]
    condition = values[0] / kept[-1] if kept.size else 1.0
    return float(np.clip(np.finfo(np.float64).eps * condition**2, 1e-8, _ITERATED))


def _single(figures: Figures, c: Map, x: Tree, rng: np.random.Generator) -> None:
    """In single precision everything stays single, and near to double."""
    u = drawn(x, rng)
    expected = _gram(c, x, u)
    with arrays.computing_in(np.dtype(np.float32)):
        found = _gram(c.cast(np.dtype(np.float32)), single(x), single(u))
    for name, value, wide in zip(("float32 image", "float32 gram"), found, expected, strict=True):
        figures.compare(name, value, wide, SINGLE)
        figures.require(f"{name} dtype", arrays.working_dtype(value) == np.float32)
