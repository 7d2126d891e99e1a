"""What a diagnostic was given, checked and brought to float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np
from jax import Array

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError
from gnpolyak.base.numbers import require_seed
from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import IMAGE
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import AutodiffMap, Map

Model = Composite | Map | Callable[..., Array]
"""A problem, its map, or a plain function that JAX can trace."""

_DOUBLE = np.dtype(np.float64)
# Numbers of an array of the image's size that may be formed: 64 MB. Its derivatives need some times as much.
LARGEST_ARRAY = 2**23


@contextmanager
def on_the_map(model: Model, x: Tree) -> Iterator[tuple[Map, Tree]]:
    """Yield the map c and the point, checked, inside a block that computes in float64."""
    c = model.map if isinstance(model, Composite) else model
    c = c if isinstance(c, Map) else AutodiffMap(c)
    point = _point(x)
    with arrays.computing_in(_DOUBLE), _forward_derivatives(c):
        c = c.cast(_DOUBLE).settled(point)
        (Composite(c, model.penalty, model.sensing) if isinstance(model, Composite) else c).check(point)
        yield c, point


@contextmanager
def on_the_problem(problem: Any, *points: Tree) -> Iterator[tuple[Composite, list[Tree]]]:
    """Yield the problem and the points, checked, inside a block that computes in float64."""
    if not isinstance(problem, Composite):
        raise InputError(
            given=f"a problem of type {type(problem).__name__}",
            needed="a Composite: sharpness and regularity are the penalty's, on the image of the map",
            missing="the penalty",
            advice="make one with gnpolyak.composite(model, gnpolyak.L1(b))",
        )
    checked = [_point(x) for x in points]
    with arrays.computing_in(_DOUBLE):
        problem = problem.cast(_DOUBLE).settled(checked[0])
        for x in checked:
            problem.check(x)
        yield problem, checked


@contextmanager
def _forward_derivatives(c: Map) -> Iterator[None]:
    """Explain JAX's refusal to push forward what only knows how to pull back; it comes as late as at compilation."""
    try:
        yield
    except TypeError as error:
        if "custom_vjp" not in str(error):
            raise
        raise InputError(
            given=f"{c.label}, whose derivative is stated with jax.custom_vjp",
            needed="a map with a forward derivative Ju, which Gauss–Newton steps use",
            missing="it: a custom_vjp states Jᵀv alone",
            advice="state Ju with jax.custom_jvp instead: JAX transposes it by itself",
        ) from error


def image_shape(c: Map, x: Tree) -> tuple[int, ...] | None:
    """The shape of c(x), found without forming it; None if the map does not offer it or it is too large to form."""
    if IMAGE not in c.offers:
        return None
    shape = jax.eval_shape(c, x).shape
    return shape if np.prod(shape, dtype=float) <= LARGEST_ARRAY else None


def size(x: Tree) -> int:
    """The number of variables."""
    return sum(leaf.size for leaf in jax.tree.leaves(x))


def generator(seed: int) -> np.random.Generator:
    """A stream of its own: with the seed alone, it would draw the numbers that a user drew x from with that seed."""
    return np.random.default_rng([require_seed(seed), 0xD1A6])


def random_like(x: Tree, rng: np.random.Generator) -> Tree:
    """Standard normal numbers in the shape of x, as NumPy arrays: small operations on those compile nothing."""

    def drawn(leaf: Any) -> np.ndarray:
        normal = rng.standard_normal(leaf.shape)
        return normal + 1j * rng.standard_normal(leaf.shape) if np.iscomplexobj(leaf) else normal

    return jax.tree.map(drawn, x)


def moved(x: Tree, radius: float, u: Tree) -> Tree:
    """The point at distance radius·‖x‖ from x along u, or at distance radius from zero."""
    scale = radius * (_norm(x) or 1.0) / (_norm(u) or 1.0)
    return jax.tree.map(lambda a, b: np.asarray(a) + scale * np.asarray(b), x, u)


def _norm(x: Tree) -> float:
    return float(np.sqrt(sum(np.sum(np.square(leaf)) for leaf in jax.tree.leaves(x))))


def _point(x: Tree) -> Tree:
    return arrays.cast(arrays.as_variable(x), _DOUBLE)
