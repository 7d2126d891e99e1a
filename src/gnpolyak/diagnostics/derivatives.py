"""A check for a user's map and measurements: that adjoints are adjoint, and what is offered is what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from gnpolyak.base import trees
from gnpolyak.base.modules import Module
from gnpolyak.base.trees import Tree
from gnpolyak.diagnostics import inputs
from gnpolyak.diagnostics.inputs import Model
from gnpolyak.diagnostics.structure import image_figures, pinv_figures, relative, right_gram_figures
from gnpolyak.problem.capabilities import GRAM_PINV, POWER_FORMS, RIGHT_GRAM
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Map

_EPS = float(np.finfo(np.float64).eps)
# Two ways to the same number agree to many more digits than half of them; two different numbers do not.
_AGREEMENT = float(np.sqrt(_EPS))


@dataclass(frozen=True)
class Check:
    """The outcome of a check."""

    passed: bool
    figures: dict[str, float]
    """What was measured, by name."""
    message: str
    """The outcome in a sentence, naming what failed."""

    def __bool__(self) -> bool:
        return self.passed


def check_adjoint(model: Model, x: Tree, *, seed: int = 0) -> Check:
    """Check that what a map and a problem offer agrees with the derivative of the map.

    For random u, v: ⟨Ju, v⟩ = ⟨u, Jᵀv⟩; `gram` is JᵀJ; for a map that offers them, `gram_pinv` solves its system (with
    damping too) with the minimum norm, `inner` and `distance` are those of the images, `right_gram` is proportional to
    JᵀJ on directions orthogonal to X, and `power_forms` has the adjoint of its derivative. For a problem, the same of
    its measurements, and its oracle returns their penalty and pullback. Each figure is a relative error.

    Parameters
    ----------
    model : Composite, Map or callable
        The problem, its map, or a function.
    x : array_like or pytree
        Where. Take a generic point: at a symmetric one a mistake may not show.
    seed : int
        Seed of the random vectors.

    Returns
    -------
    Check

    Examples
    --------
    >>> import numpy as np, gnpolyak as gnp
    >>> assert gnp.diagnostics.check_adjoint(gnp.SymmetricCP(3), np.arange(6.0).reshape(3, 2)).passed
    """
    with inputs.on_the_map(model, x) as (c, point):
        rng = inputs.generator(seed)
        figures = _map_figures(c, point, _map_vectors(c, point, rng))
        if isinstance(model, Composite):
            problem = model.cast(np.dtype(np.float64)).settled(point)
            v = rng.standard_normal(measured.eval_shape(problem, point).shape)
            figures |= _problem_figures(problem, point, inputs.random_like(point, rng), v)
    figures = {name: float(value) for name, value in figures.items()}
    return judged(figures, {name: value <= _AGREEMENT for name, value in figures.items()})


def judged(figures: dict[str, float], good: dict[str, bool]) -> Check:
    """The outcome, from each figure and whether it is good; NaN is not, as it compares false."""
    if not figures:
        return Check(False, figures, "Nothing was checked: the image is too large to form, and no problem was given.")
    bad = [f"{name} ({figures[name]:.2g})" for name, fine in good.items() if not fine]
    if bad:
        return Check(False, figures, f"Not consistent with the derivative: {', '.join(bad)}.")
    return Check(True, figures, f"Consistent with the derivative: {', '.join(figures)}.")


class _Vectors(Module):
    """What the checks of a map pair with each other."""

    u: Tree
    w: Tree
    v: Tree
    """An array like the image, or None where that is too large."""
    rows: Tree
    """A few rows for power forms, or None where there are none."""


def _map_vectors(c: Map, x: Tree, rng: np.random.Generator) -> _Vectors:
    shape = inputs.image_shape(c, x)
    powers = POWER_FORMS in c.offers and isinstance(x, jax.Array)
    return _Vectors(
        inputs.random_like(x, rng),
        inputs.random_like(x, rng),
        None if shape is None else rng.standard_normal(shape),
        rng.standard_normal((7, x.shape[0])) if powers else None,
    )


@jax.jit
def _map_figures(c: Map, x: Tree, vectors: _Vectors) -> dict[str, Array]:
    u, w, v, rows = vectors.u, vectors.w, vectors.v, vectors.rows
    figures: dict[str, Array] = {}
    if v is not None:
        push, pull = c.linearize(x)
        ju = derivative(c, x, u)
        figures["linearize"] = relative(push(u), ju)
        figures["adjoint"] = _pairing_error(ju, v, u, pull(v))
        figures["gram"] = relative(c.gram(x)(u), pull(ju))
        figures |= image_figures(c, x, trees.add_scaled(x, 0.1, w))
    if GRAM_PINV in c.offers:
        figures |= pinv_figures(c, x, u, w)
    if RIGHT_GRAM in c.offers and isinstance(x, jax.Array):
        figures |= right_gram_figures(c, x, u)
    if rows is not None:
        figures["power_forms"] = _pullback_error(lambda y: c.power_forms(y, rows), x, u, rows[:, 0])
    return figures


@jax.jit
def measured(problem: Composite, x: Tree) -> Array:
    """A(c(x))."""
    return problem.sensing.measure(problem.map, x)[0]


@jax.jit
def _problem_figures(problem: Composite, x: Tree, u: Tree, v: Array) -> dict[str, Array]:
    z, pullback = problem.sensing.measure(problem.map, x)
    point = problem.evaluate(x)
    return {
        "measurements": _pullback_error(lambda y: problem.sensing.measure(problem.map, y), x, u, v),
        "oracle value": relative(point.value, problem.penalty.value(z)),
        "oracle subgradient": relative(point.subgradient, pullback(problem.penalty.subgradient(z))),
    }


def _pullback_error(
    measure: Callable[[Tree], tuple[Array, Callable[[Array], Tree]]], x: Tree, u: Tree, v: Array
) -> Array:
    _, pullback = measure(x)
    return _pairing_error(derivative(lambda y: measure(y)[0], x, u), v, u, pullback(v))


def _pairing_error(ju: Array, v: Array, u: Tree, jtv: Tree) -> Array:
    """|⟨Ju, v⟩ − ⟨u, Jᵀv⟩| relative to the sizes of what is paired."""
    error = jnp.abs(jnp.sum(ju * v) - trees.dot(u, jtv))
    scale = jnp.maximum(trees.norm(ju) * trees.norm(v), trees.norm(u) * trees.norm(jtv))
    return error / jnp.where(scale > 0, scale, 1.0)


def derivative(f: Callable[[Tree], Array], x: Tree, u: Tree) -> Array:
    """Ju, by forward-mode autodiff."""
    return jax.jvp(f, (x,), (u,))[1]
