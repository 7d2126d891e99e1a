"""Whether a map does on NumPy arrays what it does under JAX, and without JAX."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest import mock

import jax
import numpy as np
from jax.extend.core import Primitive

from gnpolyak.base import arrays, trees
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import GAUGE
from gnpolyak.problem.maps import Map
from gnpolyak.testing.figures import SINGLE, Figures, are_numpys, drawn, single, vector


class Solve(NamedTuple):
    """A system with the Gram of a map, and its solution."""

    name: str
    damping: float
    g: Tree
    solution: np.ndarray


@contextmanager
def without_jax() -> Iterator[None]:
    """A block in which every operation of JAX raises AssertionError."""

    def refuse(primitive: Primitive, *_: Any, **__: Any) -> Any:
        raise AssertionError(f"an operation of JAX, {primitive}, on arrays of NumPy")

    # Compiled functions go past the primitives that they are made of.
    with jax.disable_jit(), mock.patch.object(Primitive, "bind", refuse), np.errstate(all="ignore"):
        yield


def are_contiguous(tree: Tree) -> bool:
    """Tell whether the numbers of each leaf are in the order of its indices."""
    return all(leaf.flags.c_contiguous for leaf in jax.tree.leaves(tree))


def check_on_numpy(
    figures: Figures, c: Map, x: Tree, dense: np.ndarray, solves: list[Solve], rng: np.random.Generator
) -> None:
    """Note what the map gives bound to NumPy: against its Jacobian at x, against JAX, and in single precision."""
    u, y = drawn(x, rng), trees.add_scaled(x, 0.1, drawn(x, rng))
    known = {name: np.asarray(value) for name, value in _known(c, x, y, u).items()}
    image = c.image(x)
    figures.require("image, stated", (image.shape, image.dtype) == (known["image"].shape, known["image"].dtype))
    v = drawn(known["image"], rng)
    expected = known | {
        "push": dense @ vector(u),
        "pull": dense.T @ vector(v),
        "gram": dense.T @ (dense @ vector(u)),
        "preconditioner": c.using(np).preconditioner(trees.on_host(x), 0.1)(trees.on_host(u)),
    }
    for dtype, allowed in ((np.float64, 1e-10), (np.float32, SINGLE)):
        called = "NumPy" if dtype is np.float64 else "NumPy in float32"
        found = _first_order(*_hosted(c, dtype, x, y, u, v))
        for name, value in found.items():
            if name != "preconditioner" or dtype is np.float64:
                figures.compare(f"{name}, {called}", vector(value), vector(expected[name]), allowed)
            figures.require(f"{name}, {called}, arrays", are_numpys(value, np.dtype(dtype)))
            figures.require(f"{name}, {called}, order", name not in {"pull", "preconditioner"} or are_contiguous(value))
    _solves(figures, c, x, u, solves)
    if GAUGE in c.offers:
        with without_jax():
            turned = c.using(np)(c.using(np).gauge(trees.on_host(x), rng))
        figures.compare("gauge, NumPy", turned, known["image"])


@jax.jit
def _known(c: Map, x: Tree, y: Tree, u: Tree) -> dict[str, Array]:
    return {"image": c(x), "inner": c.inner(x, y), "distance": c.distance(x, y), "curvature": c.curvature(x, u)}


def _hosted(c: Map, dtype: Any, *points: Tree) -> tuple[Any, ...]:
    with arrays.computing_in(np.dtype(dtype)):
        narrow = points if dtype is np.float64 else tuple(map(single, points))
        return c.cast(np.dtype(dtype)).using(np), *map(trees.on_host, narrow)


def _first_order(c: Map, x: Tree, y: Tree, u: Tree, v: Array) -> dict[str, Tree]:
    with without_jax():
        c.check(x)
        push, pull = c.linearize(x)
        return {
            "image": c(x),
            "push": push(u),
            "pull": pull(v),
            "gram": c.gram(x)(u),
            "inner": c.inner(x, y),
            "distance": c.distance(x, y),
            "curvature": c.curvature(x, u),
            "preconditioner": c.preconditioner(x, 0.1)(u),
        }


def _solves(figures: Figures, c: Map, x: Tree, u: Tree, solves: list[Solve]) -> None:
    """Note the solutions of systems, and that of several at once: a preconditioner works along leading axes."""
    c, x, u = _hosted(c, np.float64, x, u)
    for each in solves:
        with without_jax():
            found = c.gram_pinv(x, trees.on_host(each.g), each.damping)
        figures.compare(f"{each.name}, NumPy", vector(found), each.solution)
    with without_jax():
        solve = c.preconditioner(x, 0.1)
        many = solve(jax.tree.map(lambda leaf: np.stack([leaf, -3 * leaf])[None], u))
        one = solve(u)
    for place, factor in enumerate((1, -3)):
        part = jax.tree.map(lambda leaf: leaf[0, place], many)  # noqa: B023
        figures.compare(f"preconditioner, leading axes {place}, NumPy", part, trees.scale(factor, one))
