"""Multilinear maps of factors, brought to the small factors that are left when orthonormal bases are split off.

With Aₖ = QₖRₖ a multilinear map has c(…, QₖRₖ, …) = c(…, Rₖ, …) ×ₖ Qₖ. The columns of a variable Zₖ split into QₖBₖ
and a part outside, and JᵀJ acts on all B together as the Gram of the same map at the small factors, and on each outer
part by itself as Zₖ ↦ ZₖHₖ. So (JᵀJ + μI)† needs no system larger than the small factors, and keeps minimum norms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from gnpolyak.base import trees
from gnpolyak.base.krylov import conjugate_gradient
from gnpolyak.base.modules import Module
from gnpolyak.base.trees import Tree
from gnpolyak.problem.maps.base import Map
from gnpolyak.problem.maps.inverses import cutoff, gram_pinv, scaled_inverses, symmetric_pinv

# Up to this many unknowns (32 MB) the matrix of the small system is factorised; above, conjugate gradients solve it.
_LARGEST_DIRECT = 2000
# Up to this many numbers (8 MB) the small Jacobian may be formed, to find its null space.
_LARGEST_JACOBIAN = 2**20

Action = Callable[[Tree], Tree]


def split(factors: Sequence[Array]) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """The orthonormal Qₖ and the small Rₖ of every factor."""
    pairs = [jnp.linalg.qr(factor) for factor in factors]
    return tuple(q for q, _ in pairs), tuple(r for _, r in pairs)


def together(x: Sequence[Array], y: Sequence[Array]) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """Both tuples of factors in the coordinates of bases that hold them: distances of images stay as they are."""
    pairs = list(zip(x, y, strict=True))
    small = [jnp.linalg.qr(jnp.concatenate([a, b], axis=1), mode="r") for a, b in pairs]
    left = tuple(r[:, : a.shape[1]] for r, (a, _) in zip(small, pairs, strict=True))
    return left, tuple(r[:, a.shape[1] :] for r, (a, _) in zip(small, pairs, strict=True))


class Compressed(Module):
    """A multilinear map at small factors, and what is needed of the large ones."""

    map: Map
    x: Tree
    """The variable, with the small factors Rₖ in place of Aₖ."""
    outer: tuple[Array, ...]
    """The Hₖ."""
    symmetries: Array
    """Columns that span the directions in which c does not change: along them JᵀJ is filled up."""
    damping: Array | float
    rows: int = eqx.field(static=True)
    """The largest dₖ, which sets how far rounding reaches."""

    def inverses(self) -> tuple[Action, tuple[Array, ...]]:
        """The action of (JᵀJ + μI)† on the small variables, and the matrices (Hₖ + μI)†."""
        flat, unravel = trees.ravel(self.x)
        outer = [self._shifted(h) for h in self.outer]
        if flat.size > _LARGEST_DIRECT:
            return self._iterate, scaled_inverses(outer, lambda: tuple(symmetric_pinv(h, self.rows) for h in outer))
        jacobian, matrix = self._matrices()
        # Where these are not independent, Q has columns that are no symmetries.
        null, triangle = jnp.linalg.qr(self.symmetries)
        independent = jnp.min(jnp.abs(jnp.diag(triangle))) > 100 * cutoff(flat.size, flat.dtype)
        filled = matrix + null @ ((null.T * jnp.diag(matrix)) @ null) @ null.T

        def truncated() -> tuple[Array, ...]:
            # From J's singular values, where J was formed.
            rest = (symmetric_pinv(h, self.rows) for h in outer)
            if jacobian is None:
                return symmetric_pinv(matrix, self.rows), *rest
            return gram_pinv(jacobian, self.damping, self.rows), *rest

        inverse, *rest = scaled_inverses([filled, *outer], truncated, independent)

        def inside(u: Array) -> Array:
            return jnp.where(independent, u - null @ (null.T @ u), u)

        def solve(g: Tree) -> Tree:
            u = inside(trees.ravel(g)[0])
            z = inverse @ u
            return unravel(inside(z + inverse @ (u - matrix @ z)))

        return solve, tuple(rest)

    def _iterate(self, g: Tree) -> Tree:
        gram = self.map.gram(self.x)
        return conjugate_gradient(
            lambda z: trees.add_scaled(gram(z), self.damping, z), g, max_steps=4 * trees.size(g)
        ).solution

    def _matrices(self) -> tuple[Array | None, Array]:
        """J, where it is small enough, and JᵀJ + μI."""
        flat, unravel = trees.ravel(self.x)
        if jax.eval_shape(self.map, self.x).size * flat.size <= _LARGEST_JACOBIAN:
            jacobian = jax.jacfwd(lambda u: self.map(unravel(u)).ravel())(flat)
            return jacobian, self._shifted(jacobian.T @ jacobian)
        gram, unit = self.map.gram(self.x), jnp.eye(flat.size, dtype=flat.dtype)
        return None, self._shifted(jax.vmap(lambda u: trees.ravel(gram(unravel(u)))[0])(unit))

    def _shifted(self, h: Array) -> Array:
        return h + self.damping * jnp.eye(len(h), dtype=h.dtype)


def joined(bases: Sequence[Array], outer: Sequence[Array], g: Sequence[Array], inner: Sequence[Array]) -> list[Array]:
    """The factors QₖBₖ + (gₖ − QₖQₖᵀgₖ) Hₖ† from the small solutions Bₖ."""
    parts = zip(bases, outer, g, inner, strict=True)
    return [q @ b + (each - q @ (q.T @ each)) @ h for q, h, each, b in parts]


def unit_columns(directions: Array) -> Array:
    """The columns, each of length one; those that are zero stay so."""
    size = jnp.linalg.norm(directions, axis=0)
    return directions / jnp.where(size > 0, size, 1.0)
