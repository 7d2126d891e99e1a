"""The symmetric CP map c(X) = Σ xᵢ^⊗n."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from gnpolyak.base import small
from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.numbers import COUNTABLE, is_whole
from gnpolyak.problem import capabilities as can
from gnpolyak.problem.maps.base import Map
from gnpolyak.problem.maps.reductions import column_powers, intensities, matrix_preconditioner, tensor_pinv


class SymmetricCP(Map):
    """Sums of symmetric rank-one tensors, c(X) = Σᵢ xᵢ^⊗n for X of shape (d, r). For n = 2 this is XXᵀ.

    With S = XᵀX and ⊙ for entrywise products and powers, the Gram action is

        JᵀJ Z = n(n−1) X (S^⊙(n−2) ⊙ ZᵀX) + n Z S^⊙(n−1),

    which acts on range(X) and on its complement separately. So its pseudo-inverse needs only systems of r×r
    unknowns, and no array of the image's size dⁿ is formed by anything but `__call__`.

    Parameters
    ----------
    n : int
        The order of the tensor, at least 2.
    """

    n: int = eqx.field(static=True)

    def __init__(self, n: int = 2) -> None:
        if not is_whole(n, 2) or n > COUNTABLE:
            raise InputError(
                given=f"SymmetricCP(n={shown(n)})",
                needed="a whole order n of at least 2",
                missing="a valid n",
                advice="use n=2 for matrices XXᵀ and n>=3 for tensors",
            )
        self.n = int(n)

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Map, Any]]:
        for n in (2, 3, 4):
            yield cls(n), rng.standard_normal((5, 3))
        # A rank that falls short of the columns, which is a zero column for a tensor; a condition number of 100.
        for n in (2, 3):
            yield cls(n), rng.standard_normal((5, 2)) @ np.eye(2, 3)
        left, right = (np.linalg.qr(rng.standard_normal((d, 3)))[0] for d in (5, 3))
        yield cls(2), left * np.array([1.0, 0.1, 0.01]) @ right

    @property
    def offers(self) -> frozenset[can.Capability]:
        always = {can.IMAGE, can.GRAM, can.CURVATURE, can.DISTANCE, can.GRAM_PINV, can.POWER_FORMS, can.GAUGE}
        return frozenset(always | {can.RIGHT_GRAM, can.INTENSITIES} if self.n == 2 else always)

    @property
    def label(self) -> str:
        return f"SymmetricCP(n={self.n})"

    def check(self, x: Array) -> None:
        if any(map(jnp.iscomplexobj, jax.tree.leaves(x))):
            raise InputError(
                given=f"a complex variable for {self.label}",
                needed="a real matrix X",
                missing="a complex form of Σ xᵢ^⊗n: this map is the real one",
                advice="write the map you mean as a function of x, which may be complex",
            )
        shape = getattr(x, "shape", None)
        if shape is None or len(shape) != 2 or 0 in shape or shape[1] > shape[0]:
            raise InputError(
                given=f"a variable of {'shape ' + str(shape) if shape is not None else 'type ' + type(x).__name__}",
                needed=f"for {self.label}, one matrix X of shape (d, r) with 1 <= r <= d",
                missing="a valid shape",
                advice="stack the r factors as columns; if r > d, ask for a smaller rank",
            )

    def __call__(self, x: Array) -> Array:
        return jnp.sum(column_powers(self.n, x), axis=-1)

    def gram(self, x: Array) -> Callable[[Array], Array]:
        n, s = self.n, small.gram(x, x)
        e, d = s ** (n - 2), s ** (n - 1)
        return lambda z: small.times(n * (n - 1) * x, e * small.gram(z, x)) + small.times(n * z, d)

    def gram_pinv(self, x: Array, g: Array, damping: Array | float = 0.0) -> Array:
        return self.preconditioner(x, damping)(g)

    def preconditioner(self, x: Array, damping: Array | float = 0.0) -> Callable[[Array], Array]:
        return matrix_preconditioner(x, damping) if self.n == 2 else lambda g: tensor_pinv(self.n, x, g, damping)

    def curvature(self, x: Array, s: Array) -> Array:
        if self.n == 2:
            return 2 * jnp.linalg.norm(small.gram(s, s))
        sizes, steps = jnp.linalg.norm(x, axis=0), jnp.linalg.norm(s, axis=0)
        return self.n * (self.n - 1) * jnp.sum(sizes ** (self.n - 2) * steps**2)

    def right_gram(self, x: Array) -> Array:
        if self.n != 2:
            raise self.lacking(can.RIGHT_GRAM)
        return small.gram(x, x)

    def power_forms(self, x: Array, rows: Array) -> tuple[Array, Callable[[Array], Array]]:
        products = rows @ x

        def pullback(weights: Array) -> Array:
            # n goes with the small factor: n * rows.T @ … would form a scaled copy of all rows first.
            return rows.T @ (self.n * weights[:, None] * products ** (self.n - 1))

        return jnp.sum(products**self.n, axis=1), pullback

    def intensities(
        self, x: Array, forward: Callable[[Array], Array], adjoint: Callable[[Array], Array]
    ) -> tuple[Array, Callable[[Array], Array]]:
        if self.n != 2:
            raise self.lacking(can.INTENSITIES)
        return intensities(x, forward, adjoint)

    def gauge(self, x: Array, rng: np.random.Generator) -> Array:
        r = x.shape[1]
        if self.n == 2:
            return x @ np.linalg.qr(rng.standard_normal((r, r)))[0]
        signs = rng.choice([-1.0, 1.0], r) if self.n % 2 == 0 else np.ones(r)
        return x[:, rng.permutation(r)] * signs

    def inner(self, x: Array, y: Array) -> Array:
        """⟨c(x), c(y)⟩ = Σ (XᵀY)^⊙n, at a cost of O(d r²)."""
        return jnp.sum((x.T @ y) ** self.n)

    def distance(self, x: Array, y: Array) -> Array:
        """‖c(x) − c(y)‖ at a cost of O(d r²), accurate far below the square root of the rounding unit.

        Expanding the square, ⟨c(x), c(x)⟩ − 2⟨c(x), c(y)⟩ + ⟨c(y), c(y)⟩, loses half the digits to
        cancellation. Written with e = x − y instead, each term below already has the size of the result:

            ‖c(x) − c(y)‖² = Σ (EᵀE) ⊙ q(XᵀX, XᵀY) + (YᵀE) ⊙ [q(XᵀX, XᵀY) − q(YᵀX, YᵀY)],

        where aⁿ − bⁿ = (a − b) q(a, b), and the bracket is expanded the same way.
        """
        n = self.n
        x, y = _of_one_rank(x, y)
        y = _rotated(y, x) if n == 2 else _matched(n, y, x)
        e = x - y
        xx, xy, yx, yy = x.T @ x, x.T @ y, y.T @ x, y.T @ y
        ex, ey = e.T @ x, e.T @ y
        total = (e.T @ e) * _quotient(n, xx, xy)
        for k in range(n):
            # xx^k xy^(n−1−k) − yx^k yy^(n−1−k), with xx − yx = ex and xy − yy = ey taken without cancellation.
            first = ex * _quotient(k, xx, yx) * xy ** (n - 1 - k)
            second = yx**k * ey * _quotient(n - 1 - k, xy, yy)
            total = total + (y.T @ e) * (first + second)
        return jnp.sqrt(jnp.maximum(jnp.sum(total), 0.0))


def _quotient(n: int, a: Array, b: Array) -> Array:
    """(aⁿ − bⁿ)/(a − b) = Σ aᵏ bⁿ⁻¹⁻ᵏ; zero for n = 0."""
    return sum((a**k * b ** (n - 1 - k) for k in range(n)), start=jnp.zeros_like(a))


def _of_one_rank(x: Array, y: Array) -> tuple[Array, Array]:
    """Both factors with as many columns as the wider one; a zero column adds nothing to the image."""
    most = max(x.shape[1], y.shape[1])
    return tuple(jnp.pad(jnp.asarray(z), ((0, 0), (0, most - z.shape[1]))) for z in (x, y))  # type: ignore[return-value]


def _rotated(y: Array, x: Array) -> Array:
    """The rotation YQ nearest to X: the same image for n = 2, and so the smallest difference to expand in."""
    u, _, vt = jnp.linalg.svd(y.T @ x)
    return y @ (u @ vt)


def _matched(n: int, y: Array, x: Array) -> Array:
    """Y with its columns in the order of those of X they are nearest to, and their signs where n is even."""
    products = y.T @ x
    free = jnp.abs(products) if n % 2 == 0 else products
    order = jnp.zeros(x.shape[1], int)
    for _ in range(x.shape[1]):
        row, column = jnp.unravel_index(jnp.argmax(free), free.shape)
        order = order.at[column].set(row)
        free = free.at[row, :].set(-jnp.inf).at[:, column].set(-jnp.inf)
    signs = jnp.where(products[order, jnp.arange(x.shape[1])] < 0, -1.0, 1.0) if n % 2 == 0 else 1.0
    return y[:, order] * signs
