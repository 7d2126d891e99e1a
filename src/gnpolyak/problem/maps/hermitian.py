"""The Hermitian map c(X) = XXᴴ of complex factors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import jax
import numpy as np

from gnpolyak.base import small
from gnpolyak.base.errors import InputError
from gnpolyak.base.namespace import Array
from gnpolyak.problem import capabilities as can
from gnpolyak.problem.maps.base import Map
from gnpolyak.problem.maps.reductions import intensities, intensities_push, matrix_preconditioner


class Hermitian(Map):
    """Positive semidefinite Hermitian matrices of rank r, c(X) = XXᴴ for a complex X of shape (d, r).

    Phase retrieval (r = 1) and quantum states, ρ = XXᴴ. With S = XᴴX and the real inner product Re⟨·, ·⟩,

        J Z = Z Xᴴ + X Zᴴ,   JᵀJ Z = 2 (Z S + X ZᴴX),

    has rank 2dr − r², counted in real numbers: X → XU changes nothing for a unitary U. Its pseudo-inverse is that of
    XXᵀ with ᴴ for ᵀ, at a cost of O(dr²).
    """

    over_xp: ClassVar[bool] = True
    n: ClassVar[int] = 2
    """The order: measurements of power are squares."""

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Map, Any]]:
        yield cls(), _complex(rng, (5, 3))
        # A condition number of 100, and a rank that falls short of the columns.
        left, right = (np.linalg.qr(_complex(rng, (d, 3)))[0] for d in (5, 3))
        yield cls(), left * np.array([1.0, 0.1, 0.01]) @ right
        yield cls(), _complex(rng, (5, 2)) @ np.eye(2, 3)

    @property
    def offers(self) -> frozenset[can.Capability]:
        first = {can.IMAGE, can.GRAM, can.CURVATURE, can.DISTANCE, can.GRAM_PINV}
        return frozenset(first | {can.POWER_FORMS, can.INTENSITIES, can.GAUGE, can.RIGHT_GRAM})

    def check(self, x: Array) -> None:
        leaves = jax.tree.leaves(x)
        shape: tuple[int, ...] = getattr(x, "shape", ())
        if len(shape) != 2 or 0 in shape or shape[1] > shape[0] or not all(map(np.iscomplexobj, leaves)):
            said = f"shape {shape} and dtype {x.dtype}" if hasattr(x, "dtype") else f"type {type(x).__name__}"
            raise InputError(
                given=f"a variable of {said}",
                needed="for Hermitian, one complex matrix X of shape (d, r) with 1 <= r <= d",
                missing="a complex matrix of a valid shape",
                advice="pass x0.astype(complex), with the r factors as columns; for real factors take SymmetricCP(2)",
            )

    def image(self, x: Array) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((x.shape[0],) * 2, x.dtype)

    def __call__(self, x: Array) -> Array:
        return x @ _adjoint(x)

    def linearize(self, x: Array) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        def push(z: Array) -> Array:
            half = z @ _adjoint(x)
            return half + _adjoint(half)

        return push, lambda v: (v + _adjoint(v)) @ x

    def gram(self, x: Array) -> Callable[[Array], Array]:
        xp, s = self.xp, small.gram(self.xp, x, x)
        return lambda z: 2 * (small.times(xp, z, s) + small.times(xp, x, small.gram(xp, z, x)))

    def preconditioner(self, x: Array, damping: Array | float = 0.0) -> Callable[[Array], Array]:
        return matrix_preconditioner(self.xp, x, damping)

    def curvature(self, x: Array, s: Array) -> Array:
        return 2 * self.xp.linalg.norm(small.gram(self.xp, s, s))

    def right_gram(self, x: Array) -> Array:
        return small.gram(self.xp, x, x)

    def power_forms(self, x: Array, rows: Array) -> tuple[Array, Callable[[Array], Array]]:
        """Σⱼ |pᵀxⱼ|² for each row p, which is what multiplying by the matrix of rows gives, and the pullback."""
        products = rows @ x

        def pullback(weights: Array) -> Array:
            # Pᴴ(w ⊙ PX) with the small factors conjugated and transposed instead of the rows: on a CPU ten times
            # faster for one column.
            return _adjoint(((2 * weights)[:, None] * products.conj()).T @ rows).copy()

        return (products.real**2 + products.imag**2).sum(axis=1), pullback

    def power_push(self, x: Array, rows: Array) -> Callable[[Array], Array]:
        slopes = 2 * (rows @ x).conj()
        return lambda z: (slopes * (rows @ z)).real.sum(axis=1)

    def intensities(
        self, x: Array, forward: Callable[[Array], Array], adjoint: Callable[[Array], Array]
    ) -> tuple[Array, Callable[[Array], Array]]:
        return intensities(x, forward, adjoint)

    def intensities_push(self, x: Array, forward: Callable[[Array], Array]) -> Callable[[Array], Array]:
        return intensities_push(x, forward)

    def inner(self, x: Array, y: Array) -> Array:
        """⟨c(x), c(y)⟩ = ‖XᴴY‖², at a cost of O(d r²)."""
        return (abs(_adjoint(x) @ y) ** 2).sum()

    def distance(self, x: Array, y: Array) -> Array:
        """‖XXᴴ − YYᴴ‖ from the triangular factor of [X Y]: no cancellation of squares, and ranks may differ."""
        triangle = self.xp.linalg.qr(self.xp.concatenate([x, y], axis=1), mode="r")
        r = x.shape[1]
        return self.xp.linalg.norm(self(triangle[:, :r]) - self(triangle[:, r:]))

    def gauge(self, x: Array, rng: np.random.Generator) -> Array:
        return x @ np.linalg.qr(_complex(rng, (x.shape[1],) * 2))[0].astype(x.dtype)


def _adjoint(matrix: Array) -> Array:
    return matrix.conj().T


def _complex(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
