"""The low-rank map c(U, V) = UVᵀ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from gnpolyak.base import small
from gnpolyak.base.errors import InputError
from gnpolyak.base.trees import Tree
from gnpolyak.problem import capabilities as can
from gnpolyak.problem.maps.base import Map

Pair = tuple[Array, Array]


class LowRank(Map):
    """Matrices of rank r, c(U, V) = UVᵀ for a pair of matrices of shapes (d₁, r) and (d₂, r).

    J(Z_U, Z_V) = Z_U Vᵀ + U Z_Vᵀ has rank r(d₁ + d₂ − r): U → UG, V → VG⁻ᵀ changes nothing. In the eigenbases of UᵀU
    and VᵀV its Gram is diagonal up to the r×r part that both factors share, so its pseudo-inverse costs O((d₁ + d₂)r²).
    """

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Map, Any]]:
        yield cls(), (rng.standard_normal((5, 2)), rng.standard_normal((4, 2)))
        yield cls(), (rng.standard_normal((4, 1)), rng.standard_normal((3, 1)))
        scales = np.array([1.0, 0.1, 0.01])
        yield cls(), tuple(np.linalg.qr(rng.standard_normal((d, 3)))[0] * scales for d in (6, 5))
        # A column that is zero in both factors: the rank of J falls.
        yield cls(), (np.eye(5, 2) @ np.diag([1.0, 0.0]), rng.standard_normal((4, 2)) @ np.diag([1.0, 0.0]))

    @property
    def offers(self) -> frozenset[can.Capability]:
        own = {can.IMAGE, can.GRAM, can.CURVATURE, can.DISTANCE, can.GRAM_PINV, can.GAUGE, can.COLUMNS}
        return frozenset(own | {can.ENTRIES, can.BILINEAR_FORMS})

    def check(self, x: Tree) -> None:
        shapes: list[Any] = [getattr(leaf, "shape", ()) for leaf in x] if isinstance(x, (tuple, list)) else []
        fits = len(shapes) == 2 and all(len(shape) == 2 and 0 not in shape for shape in shapes)
        if not fits or shapes[0][1] != shapes[1][1] or any(map(jnp.iscomplexobj, x)):
            raise InputError(
                given=f"a variable of shapes {shapes}" if shapes else f"a variable of type {type(x).__name__}",
                needed="for LowRank, a pair (U, V) of real matrices with as many columns each",
                missing="two matrices of one rank",
                advice="pass x0=(U, V) with UVᵀ the matrix that is meant",
            )

    def __call__(self, x: Pair) -> Array:
        u, v = x
        return u @ v.T

    def slab(self, x: Pair, places: Array) -> Array:
        return x[0][places] @ x[1].T

    def entries(self, x: Pair, indices: tuple[Array, ...]) -> Array:
        u, v = x
        return jnp.sum(u[indices[0]] * v[indices[1]], axis=1)

    def gram(self, x: Pair) -> Callable[[Pair], Pair]:
        u, v = x
        uu, vv = small.gram(u, u), small.gram(v, v)
        return lambda z: (
            small.times(z[0], vv) + small.times(u, small.gram(z[1], v)),
            small.times(z[1], uu) + small.times(v, small.gram(z[0], u)),
        )

    def gram_pinv(self, x: Pair, g: Pair, damping: Array | float = 0.0) -> Pair:
        return self.preconditioner(x, damping)(g)

    def preconditioner(self, x: Pair, damping: Array | float = 0.0) -> Callable[[Pair], Pair]:
        (a, e), (b, f) = map(_eigen, x)
        u, v = small.times(x[0], e), small.times(x[1], f)
        inverse_a, inverse_b = _reciprocal(a, u.shape[0]), _reciprocal(b, v.shape[0])
        damped_a, damped_b = _damped(a, damping, u.shape[0]), _damped(b, damping, v.shape[0])
        pairs = a[:, None] + b[None, :] + damping
        shared = jnp.where(pairs > 0, 1.0 / jnp.where(pairs > 0, pairs, 1.0), 0.0)

        def solve(g: Pair) -> Pair:
            gu, gv = small.times(g[0], f), small.times(g[1], e)
            # The parts of the gradient in range(U) and range(V), in the coordinates of their factors.
            cu, cv = inverse_a[:, None] * small.gram(u, gu), inverse_b[:, None] * small.gram(v, gv)
            zu = (gu - small.times(u, cu)) * damped_b + small.times(u, cu * shared)
            zv = (gv - small.times(v, cv)) * damped_a + small.times(v, cv * shared.T)
            return small.times(zu, f.T), small.times(zv, e.T)

        return solve

    def curvature(self, x: Pair, s: Pair) -> Array:
        return 2 * jnp.linalg.norm(s[0] @ s[1].T) if s[0].size * s[1].size <= 2**16 else 2 * _norm_of_product(s)

    def inner(self, x: Pair, y: Pair) -> Array:
        """⟨c(x), c(y)⟩ = Σ (UᵀU′) ⊙ (VᵀV′), at a cost of O(d r²)."""
        return jnp.sum((x[0].T @ y[0]) * (x[1].T @ y[1]))

    def distance(self, x: Pair, y: Pair) -> Array:
        """‖UVᵀ − U′V′ᵀ‖ from triangular factors of [U U′] and [V −V′]: no cancellation of squares."""
        left = jnp.linalg.qr(jnp.concatenate([x[0], y[0]], axis=1), mode="r")
        right = jnp.linalg.qr(jnp.concatenate([x[1], -jnp.asarray(y[1])], axis=1), mode="r")
        return jnp.linalg.norm(left @ right.T)

    def bilinear_forms(self, x: Pair, left: Array, right: Array) -> tuple[Array, Callable[[Array], Pair]]:
        """Σⱼ (pᵢᵀuⱼ)(qᵢᵀvⱼ), from the factors."""
        y, t = left @ x[0], right @ x[1]
        return jnp.sum(y * t, axis=1), lambda w: (left.T @ (w[:, None] * t), right.T @ (w[:, None] * y))

    def gauge(self, x: Pair, rng: np.random.Generator) -> Pair:
        g = np.linalg.qr(rng.standard_normal((x[0].shape[1],) * 2))[0]
        return x[0] @ g, x[1] @ g


def _eigen(factor: Array) -> tuple[Array, Array]:
    values, vectors = small.eigh(small.gram(factor, factor))
    return jnp.maximum(values, 0.0), vectors


def _reciprocal(values: Array, rows: int) -> Array:
    """1/λ, and 0 where λ is rounding beside the largest."""
    kept = values > max(rows, values.size) * float(jnp.finfo(values.dtype).eps) * jnp.max(values)
    return jnp.where(kept, 1.0 / jnp.where(kept, values, 1.0), 0.0)


def _damped(values: Array, damping: Array | float, rows: int) -> Array:
    """1/(λ + μ), and 0 where both are nothing."""
    return _reciprocal(values + damping, rows)


def _norm_of_product(s: Pair) -> Array:
    """‖S_U S_Vᵀ‖ from the r×r Grams."""
    return jnp.sqrt(jnp.maximum(jnp.sum((s[0].T @ s[0]) * (s[1].T @ s[1])), 0.0))
