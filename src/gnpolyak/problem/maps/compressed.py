"""Multilinear maps of factors, brought to the small factors that are left when orthonormal bases are split off.

With Aₖ = QₖRₖ a multilinear map has c(…, QₖRₖ, …) = c(…, Rₖ, …) ×ₖ Qₖ. The columns of a variable Zₖ split into QₖBₖ
and a part outside, and JᵀJ acts on all B together as the Gram of the same map at the small factors, and on each outer
part by itself as Zₖ ↦ ZₖHₖ. So (JᵀJ + μI)† needs no system larger than the small factors, and keeps minimum norms.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax

from gnpolyak.base import trees
from gnpolyak.base.krylov import conjugate_gradient
from gnpolyak.base.namespace import Array, each
from gnpolyak.base.trees import Tree
from gnpolyak.problem.maps.base import Map
from gnpolyak.problem.maps.inverses import cutoff, gram_pinv, scaled_inverses, symmetric_pinv

# Up to this many unknowns (32 MB) the matrix of the small system is factorised; above, conjugate gradients solve it.
_LARGEST_DIRECT = 2000
# Up to this many numbers (8 MB) the small Jacobian may be formed, to find its null space.
_LARGEST_JACOBIAN = 2**20

Action = Callable[[Tree], Tree]


def split(xp: Any, factors: Sequence[Array]) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """The orthonormal Qₖ and the small Rₖ of every factor."""
    pairs = [xp.linalg.qr(factor) for factor in factors]
    return tuple(q for q, _ in pairs), tuple(r for _, r in pairs)


def together(xp: Any, x: Sequence[Array], y: Sequence[Array]) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """Both tuples of factors in the coordinates of bases that hold them: distances of images stay as they are."""
    pairs = list(zip(x, y, strict=True))
    small = [xp.linalg.qr(xp.concatenate([a, b], axis=1), mode="r") for a, b in pairs]
    left = tuple(r[:, : a.shape[1]] for r, (a, _) in zip(small, pairs, strict=True))
    return left, tuple(r[:, a.shape[1] :] for r, (a, _) in zip(small, pairs, strict=True))


class Multilinear(Map):
    """A map that is linear in each of its factors, with what the system at its small factors is made of."""

    @abc.abstractmethod
    def outer(self, x: Tree) -> tuple[Array, ...]:
        """The Hₖ."""

    @abc.abstractmethod
    def gram_matrix(self, x: Tree) -> Array:
        """JᵀJ as a matrix over all entries of x, one leaf after the other."""

    def jacobian(self, x: Tree) -> Array:
        """J as a matrix."""
        flat, unravel = trees.ravel(x, self.xp)
        push, _ = self.linearize(x)
        units = self.xp.eye(flat.size, dtype=flat.dtype)
        return each(self.xp, lambda u: push(unravel(u)).ravel(), units).T

    @abc.abstractmethod
    def symmetries(self, x: Tree) -> Array:
        """Columns that span the directions in which c does not change."""


def inverses(c: Multilinear, x: Tree, damping: Array | float, rows: int) -> tuple[Action, tuple[Array, ...]]:
    """The action of (JᵀJ + μI)† on the small variables, and the matrices (Hₖ + μI)†, at the small factors.

    `rows` is the largest dₖ, which sets how far rounding reaches.
    """
    xp, unknowns = c.xp, trees.size(x)
    outer = [_shifted(xp, h, damping) for h in c.outer(x)]
    if unknowns > _LARGEST_DIRECT:
        pinvs = scaled_inverses(xp, outer, lambda: tuple(symmetric_pinv(xp, h, rows) for h in outer))
        return _iterated(c, x, damping), pinvs
    matrix = _shifted(xp, c.gram_matrix(x), damping)
    # Along the symmetries JᵀJ is filled up. Where these are not independent, Q has columns that are none.
    null, triangle = xp.linalg.qr(c.symmetries(x))
    independent = abs(triangle.diagonal()).min() > 100 * cutoff(unknowns, matrix.dtype)
    filled = matrix + null @ ((null.T * matrix.diagonal()) @ null) @ null.T

    def truncated() -> tuple[Array, ...]:
        formed = c.image(x).size * unknowns <= _LARGEST_JACOBIAN
        inner = gram_pinv(xp, c.jacobian(x), damping, rows) if formed else symmetric_pinv(xp, matrix, rows)
        return inner, *(symmetric_pinv(xp, h, rows) for h in outer)

    inverse, *rest = scaled_inverses(xp, [filled, *outer], truncated, independent)
    # Nothing is taken out where the symmetries are not independent.
    null = xp.where(independent, null, 0.0)

    def inside(u: Array) -> Array:
        return u - (u @ null) @ null.T

    def solve(g: Tree) -> Tree:
        flat, unravel = _ravel(xp, g, x)
        u = inside(flat)
        z = u @ inverse
        return unravel(inside(z + (u - z @ matrix) @ inverse))

    return solve, tuple(rest)


def _iterated(c: Map, x: Tree, damping: Array | float) -> Action:
    gram = c.gram(x)

    def action(z: Tree) -> Tree:
        return trees.add_scaled(gram(z), damping, z)

    def solve(g: Tree) -> Tree:
        if jax.tree.leaves(g)[0].ndim > jax.tree.leaves(x)[0].ndim:
            return each(c.xp, solve, g)
        return conjugate_gradient(c.xp, action, g, max_steps=4 * trees.size(g)).solution

    return solve


def _shifted(xp: Any, h: Array, damping: Array | float) -> Array:
    return h + damping * xp.eye(len(h), dtype=h.dtype)


def _ravel(xp: Any, g: Tree, x: Tree) -> tuple[Array, Callable[[Array], Tree]]:
    """A tree like x, with any number of leading axes, as vectors along the last axis, and the way back."""
    leaves, structure = jax.tree.flatten(g)
    shapes = [leaf.shape for leaf in jax.tree.leaves(x)]
    lead = leaves[0].shape[: leaves[0].ndim - len(shapes[0])]
    flat = xp.concatenate([leaf.reshape(*lead, -1) for leaf in leaves], axis=-1)

    def back(u: Array) -> Tree:
        found, start = [], 0
        for shape in shapes:
            stop = start + math.prod(shape)
            found.append(u[..., start:stop].reshape(*lead, *shape))
            start = stop
        return jax.tree.unflatten(structure, found)

    return flat, back


def joined(bases: Sequence[Array], outer: Sequence[Array], g: Sequence[Array], inner: Sequence[Array]) -> list[Array]:
    """The factors QₖBₖ + (gₖ − QₖQₖᵀgₖ) Hₖ† from the small solutions Bₖ."""
    parts = zip(bases, outer, g, inner, strict=True)
    return [q @ b + (gk - q @ (q.T @ gk)) @ h for q, h, gk, b in parts]


def unit_columns(xp: Any, directions: Array) -> Array:
    """The columns, each of length one; those that are zero stay so."""
    size = xp.linalg.norm(directions, axis=0)
    return directions / xp.where(size > 0, size, 1.0)
