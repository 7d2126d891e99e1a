"""The low-rank map c(U, V) = UVᵀ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np

from gnpolyak.base import small
from gnpolyak.base.errors import InputError
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.problem import capabilities as can
from gnpolyak.problem.maps import scattering
from gnpolyak.problem.maps.base import Map
from gnpolyak.problem.maps.inverses import cutoff, inverted, reciprocal

Pair = tuple[Array, Array]


class LowRank(Map):
    """Matrices of rank r, c(U, V) = UVᵀ for a pair of matrices of shapes (d₁, r) and (d₂, r).

    J(Z_U, Z_V) = Z_U Vᵀ + U Z_Vᵀ has rank r(d₁ + d₂ − r): U → UG, V → VG⁻ᵀ changes nothing. In the eigenbases of UᵀU
    and VᵀV its Gram is diagonal up to the r×r part that both factors share, so its pseudo-inverse costs O((d₁ + d₂)r²).
    """

    over_xp: ClassVar[bool] = True

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
        if not fits or shapes[0][1] != shapes[1][1] or any(map(np.iscomplexobj, x)):
            raise InputError(
                given=f"a variable of shapes {shapes}" if shapes else f"a variable of type {type(x).__name__}",
                needed="for LowRank, a pair (U, V) of real matrices with as many columns each",
                missing="two matrices of one rank",
                advice="pass x0=(U, V) with UVᵀ the matrix that is meant",
            )

    def image(self, x: Pair) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((x[0].shape[0], x[1].shape[0]), np.result_type(x[0].dtype, x[1].dtype))

    def __call__(self, x: Pair) -> Array:
        u, v = x
        return u @ v.T

    def slab(self, x: Pair, places: Array) -> Array:
        return x[0][places] @ x[1].T

    def linearize(self, x: Pair) -> tuple[Callable[[Pair], Array], Callable[[Array], Pair]]:
        u, v = x
        return lambda z: z[0] @ v.T + u @ z[1].T, lambda w: (w @ v, w.T @ u)

    def entries(self, x: Pair, indices: tuple[Array, ...]) -> Array:
        return scattering.row_products(self.xp, *scattering.gathered(self.xp, x, indices))

    def entries_linearized(
        self, x: Pair, indices: tuple[Array, ...]
    ) -> tuple[Callable[[Pair], Array], Callable[[Array], Pair]]:
        u, v = scattering.gathered(self.xp, x, indices)
        return scattering.linearized(self.xp, x, (v, u), indices)

    def gram(self, x: Pair) -> Callable[[Pair], Pair]:
        xp, (u, v) = self.xp, x
        uu, vv = small.gram(xp, u, u), small.gram(xp, v, v)
        return lambda z: (
            small.times(xp, z[0], vv) + small.times(xp, u, small.gram(xp, z[1], v)),
            small.times(xp, z[1], uu) + small.times(xp, v, small.gram(xp, z[0], u)),
        )

    def preconditioner(self, x: Pair, damping: Array | float = 0.0) -> Callable[[Pair], Pair]:
        return preconditioner(self.xp, x, damping)

    def curvature(self, x: Pair, s: Pair) -> Array:
        formed = s[0].size * s[1].size <= 2**16
        return 2 * (self.xp.linalg.norm(s[0] @ s[1].T) if formed else _norm_of_product(self.xp, s))

    def inner(self, x: Pair, y: Pair) -> Array:
        """⟨c(x), c(y)⟩ = Σ (UᵀU′) ⊙ (VᵀV′), at a cost of O(d r²)."""
        return ((x[0].T @ y[0]) * (x[1].T @ y[1])).sum()

    def distance(self, x: Pair, y: Pair) -> Array:
        """‖UVᵀ − U′V′ᵀ‖ from triangular factors of [U U′] and [V −V′]: no cancellation of squares."""
        xp = self.xp
        left = xp.linalg.qr(xp.concatenate([x[0], y[0]], axis=1), mode="r")
        right = xp.linalg.qr(xp.concatenate([x[1], -y[1]], axis=1), mode="r")
        return xp.linalg.norm(left @ right.T)

    def bilinear_forms(self, x: Pair, left: Array, right: Array) -> tuple[Array, Callable[[Array], Pair]]:
        """Σⱼ (pᵢᵀuⱼ)(qᵢᵀvⱼ), from the factors."""
        y, t = left @ x[0], right @ x[1]
        return (y * t).sum(axis=1), lambda w: (left.T @ (w[:, None] * t), right.T @ (w[:, None] * y))

    def bilinear_push(self, x: Pair, left: Array, right: Array) -> Callable[[Pair], Array]:
        y, t = left @ x[0], right @ x[1]
        return lambda z: ((left @ z[0]) * t + y * (right @ z[1])).sum(axis=1)

    def gauge(self, x: Pair, rng: np.random.Generator) -> Pair:
        g = np.linalg.qr(rng.standard_normal((x[0].shape[1],) * 2))[0].astype(x[0].dtype)
        return x[0] @ g, x[1] @ g


def preconditioner(xp: Any, x: Pair, damping: Array | float) -> Callable[[Pair], Pair]:
    """The action of (JᵀJ + λI)† for c(U, V) = UVᵀ.

    In the eigenbases E of UᵀU = EaEᵀ and F of VᵀV = FbFᵀ the part of a gradient outside range(U) is divided by b + λ,
    and that inside by aᵢ + bⱼ + λ; with U and V exchanged for the other factor.
    """
    (a, e), (b, f) = _eigen(xp, x[0]), _eigen(xp, x[1])
    u, v = small.times(xp, x[0], e), small.times(xp, x[1], f)
    pairs = a[:, None] + b + damping
    shared = inverted(xp, pairs, pairs > 0)
    one = _Side(xp, u, _reciprocal(xp, a, u.shape[0]), _reciprocal(xp, b + damping, v.shape[0]), shared, f)
    other = _Side(xp, v, _reciprocal(xp, b, v.shape[0]), _reciprocal(xp, a + damping, u.shape[0]), shared.T, e)
    return lambda g: (one.solve(g[0]), other.solve(g[1]))


class _Side(NamedTuple):
    """What the pseudo-inverse needs for the gradient of one factor."""

    xp: Any
    factor: Array
    """U, in the eigenbasis of UᵀU."""
    inverse: Array
    """1/a."""
    outside: Array
    """1/(b + λ)."""
    inside: Array
    """1/(aᵢ + bⱼ + λ)."""
    basis: Array
    """F."""

    def solve(self, g: Array) -> Array:
        xp, u, f = self.xp, self.factor, self.basis
        g = small.times(xp, g, f)
        # The part of the gradient in range(U), in the coordinates of its factor.
        c = self.inverse[:, None] * small.gram(xp, u, g)
        # (g − Uc) ⊙ outside + U(c ⊙ inside), with one product.
        z = g * self.outside + small.times(xp, u, c * (self.inside - self.outside))
        return small.times(xp, z, f.T)


def _eigen(xp: Any, factor: Array) -> tuple[Array, Array]:
    values, vectors = small.eigh(xp, small.gram(xp, factor, factor))
    return xp.maximum(values, 0.0), vectors


def _reciprocal(xp: Any, values: Array, rows: int) -> Array:
    """1/λ, and 0 where λ is rounding beside the largest."""
    return reciprocal(xp, values, cutoff(max(rows, values.size), values.dtype))


def _norm_of_product(xp: Any, s: Pair) -> Array:
    """‖S_U S_Vᵀ‖ from the r×r Grams."""
    return xp.sqrt(xp.maximum(((s[0].T @ s[0]) * (s[1].T @ s[1])).sum(), 0.0))
