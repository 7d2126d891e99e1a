"""Whether forms of an image, found without forming it, are those of the image, with their derivative and adjoint."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base import trees
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import BILINEAR_FORMS, INTENSITIES, POWER_FORMS
from gnpolyak.problem.maps import Map
from gnpolyak.testing.figures import DOUBLE, Figures, are_numpys, drawn, jacobian, vector
from gnpolyak.testing.portable import are_contiguous, without_jax

Given = tuple[Any, ...]
Form = Callable[[Map, Tree, Given], tuple[Array, Callable[[Array], Tree], Callable[[Tree], Array]]]


def check_forms(figures: Figures, c: Map, x: Tree, image: np.ndarray, rng: np.random.Generator) -> None:
    """Note values, pullbacks and derivatives of some entries, and of all forms that the map offers."""
    if image.ndim:
        # Some of them twice.
        indices = tuple(rng.integers(0, size, 5)[[0, 1, 2, 3, 4, 0]] for size in image.shape)
        _check(figures, ("entries", _entries), c, x, indices, image[indices], rng)
    if POWER_FORMS in c.offers:
        rows = np.asarray(drawn(jnp.zeros((5, x.shape[0]), x.dtype), rng))
        _check(figures, ("power_forms", _power_forms), c, x, (rows,), _powers(image, rows), rng)
    if BILINEAR_FORMS in c.offers:
        left, right = (rng.standard_normal((5, size)) for size in image.shape)
        expected = np.einsum("ia,ab,ib->i", left, image, right)
        _check(figures, ("bilinear_forms", _bilinear_forms), c, x, (left, right), expected, rng)
    if INTENSITIES in c.offers:
        # The diagonal of BMBᴴ, for a complex B whatever the variable is.
        rows = np.asarray(drawn(jnp.zeros((5, x.shape[0]), complex), rng))
        expected = np.einsum("ia,ab,ib->i", rows, image, rows.conj()).real
        _check(figures, ("intensities", _intensities), c, x, (rows,), expected, rng)


def _powers(image: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """M(p, …, p) by contraction; for a complex variable the last p is conjugate, as in Σ|pᵀx|² = pᵀMp̄."""
    expected = []
    for row in rows:
        contracted = image @ row.conj()
        while contracted.ndim:
            contracted = contracted @ row
        expected.append(float(contracted.real))
    return np.array(expected)


def _entries(c: Map, x: Tree, given: Given) -> Any:
    push, pull = c.entries_linearized(x, given)
    return c.entries(x, given), pull, push


def _power_forms(c: Map, x: Tree, given: Given) -> Any:
    return *c.power_forms(x, *given), c.power_push(x, *given)


def _bilinear_forms(c: Map, x: Tree, given: Given) -> Any:
    return *c.bilinear_forms(x, *given), c.bilinear_push(x, *given)


def _intensities(c: Map, x: Tree, given: Given) -> Any:
    def forward(z: Array) -> Array:
        return (given[0] @ z).T

    values = c.intensities(x, forward, lambda v: given[0].conj().T @ v.T)
    return *values, c.intensities_push(x, forward)


@partial(jax.jit, static_argnums=0)
def _applied(form: Form, c: Map, x: Tree, given: Given, u: Tree, w: Array) -> tuple[Any, ...]:
    values, pull, push = form(c, x, given)
    return values, pull(w), push(u), jacobian(lambda y: form(c, y, given)[0], x)


def _check(
    figures: Figures,
    named: tuple[str, Form],
    c: Map,
    x: Tree,
    given: Given,
    expected: np.ndarray,
    rng: np.random.Generator,
) -> None:
    name, form = named
    u, w = drawn(x, rng), drawn(expected, rng)
    *found, dense = _applied(form, c, x, tuple(map(jnp.asarray, given)), u, w)
    right = vector(expected), np.asarray(dense).T @ vector(w), np.asarray(dense) @ vector(u)
    _note(figures, name, "", found, right)
    if c.runs_on_numpy:
        x, u, w = map(trees.on_host, (x, u, w))
        with without_jax():
            values, pull, push = form(c.using(np), x, given)
            found = [values, pull(w), push(u)]
        _note(figures, name, ", NumPy", found, right)
        figures.require(f"{name}, NumPy, arrays", are_numpys(found, DOUBLE))
        figures.require(f"{name}, pullback, NumPy, order", are_contiguous(found[1]))


def _note(figures: Figures, name: str, where: str, found: list[Tree], right: tuple[np.ndarray, ...]) -> None:
    for part, value, expected in zip(("", ", pullback", ", push"), found, right, strict=True):
        figures.compare(f"{name}{part}{where}", vector(value), expected)
