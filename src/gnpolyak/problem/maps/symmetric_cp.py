"""The symmetric CP map c(X) = Σ xᵢ^⊗n."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from operator import add, mul
from typing import Any, ClassVar

import jax
import numpy as np

from gnpolyak.base import small
from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.modules import field
from gnpolyak.base.namespace import Array, svd
from gnpolyak.base.numbers import COUNTABLE, is_whole
from gnpolyak.problem import capabilities as can
from gnpolyak.problem.maps import scattering
from gnpolyak.problem.maps.base import Map
from gnpolyak.problem.maps.reductions import (
    column_powers,
    intensities,
    intensities_push,
    linearized,
    matrix_preconditioner,
    power,
    tensor_preconditioner,
)


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

    over_xp: ClassVar[bool] = True
    n: int = field(static=True)

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
        if any(map(np.iscomplexobj, jax.tree.leaves(x))):
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

    def image(self, x: Array) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((x.shape[0],) * self.n, x.dtype)

    def __call__(self, x: Array) -> Array:
        return (column_powers(self.n - 1, x) @ x.T).reshape((x.shape[0],) * self.n)

    def linearize(self, x: Array) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        return linearized(self.xp, self.n, x)

    def entries(self, x: Array, indices: tuple[Array, ...]) -> Array:
        *rows, last = scattering.gathered(self.xp, [x] * self.n, indices)
        return scattering.row_products(self.xp, reduce(mul, rows), last)

    def entries_linearized(
        self, x: Array, indices: tuple[Array, ...]
    ) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        slopes = scattering.products_but_one(scattering.gathered(self.xp, [x] * self.n, indices))
        push, pull = scattering.linearized(self.xp, [x] * self.n, slopes, indices)
        return lambda z: push([z] * self.n), lambda w: reduce(add, pull(w))

    def gram(self, x: Array) -> Callable[[Array], Array]:
        xp, n, s = self.xp, self.n, small.gram(self.xp, x, x)
        e, d = n * (n - 1) * power(s, n - 2), n * power(s, n - 1)
        return lambda z: small.times(xp, x, e * small.gram(xp, z, x)) + small.times(xp, z, d)

    def preconditioner(self, x: Array, damping: Array | float = 0.0) -> Callable[[Array], Array]:
        if self.n == 2:
            return matrix_preconditioner(self.xp, x, damping)
        return tensor_preconditioner(self.xp, self.n, x, damping)

    def curvature(self, x: Array, s: Array) -> Array:
        norm = self.xp.linalg.norm
        if self.n == 2:
            return 2 * norm(small.gram(self.xp, s, s))
        return self.n * (self.n - 1) * (power(norm(x, axis=0), self.n - 2) * norm(s, axis=0) ** 2).sum()

    def right_gram(self, x: Array) -> Array:
        if self.n != 2:
            raise self.lacking(can.RIGHT_GRAM)
        return small.gram(self.xp, x, x)

    def power_forms(self, x: Array, rows: Array) -> tuple[Array, Callable[[Array], Array]]:
        products = rows @ x
        lower = power(products, self.n - 1)
        # n goes with the small factor: n * rows.T @ … would form a scaled copy of all rows first.
        return (lower * products).sum(axis=1), lambda weights: rows.T @ ((self.n * weights)[:, None] * lower)

    def power_push(self, x: Array, rows: Array) -> Callable[[Array], Array]:
        slopes = self.n * power(rows @ x, self.n - 1)
        return lambda z: (slopes * (rows @ z)).sum(axis=1)

    def intensities(
        self, x: Array, forward: Callable[[Array], Array], adjoint: Callable[[Array], Array]
    ) -> tuple[Array, Callable[[Array], Array]]:
        if self.n != 2:
            raise self.lacking(can.INTENSITIES)
        return intensities(x, forward, adjoint)

    def intensities_push(self, x: Array, forward: Callable[[Array], Array]) -> Callable[[Array], Array]:
        if self.n != 2:
            raise self.lacking(can.INTENSITIES)
        return intensities_push(x, forward)

    def gauge(self, x: Array, rng: np.random.Generator) -> Array:
        r = x.shape[1]
        if self.n == 2:
            return x @ np.linalg.qr(rng.standard_normal((r, r)))[0].astype(x.dtype)
        signs = rng.choice([-1.0, 1.0], r) if self.n % 2 == 0 else np.ones(r)
        return x[:, rng.permutation(r)] * signs.astype(x.dtype)

    def inner(self, x: Array, y: Array) -> Array:
        """⟨c(x), c(y)⟩ = Σ (XᵀY)^⊙n, at a cost of O(d r²)."""
        return power(x.T @ y, self.n).sum()

    def distance(self, x: Array, y: Array) -> Array:
        """‖c(x) − c(y)‖ at a cost of O(d r²), accurate far below the square root of the rounding unit.

        Expanding the square, ⟨c(x), c(x)⟩ − 2⟨c(x), c(y)⟩ + ⟨c(y), c(y)⟩, loses half the digits to
        cancellation. Written with e = x − y instead, each term below already has the size of the result:

            ‖c(x) − c(y)‖² = Σ (EᵀE) ⊙ q(XᵀX, XᵀY) + (YᵀE) ⊙ [q(XᵀX, XᵀY) − q(YᵀX, YᵀY)],

        where aⁿ − bⁿ = (a − b) q(a, b), and the bracket is expanded the same way.
        """
        n, xp = self.n, self.xp
        x, y = _of_one_rank(xp, x, y)
        y = _rotated(xp, y, x) if n == 2 else _matched(xp, n, y, x)
        e = x - y
        xx, xy, yx, yy = x.T @ x, x.T @ y, y.T @ x, y.T @ y
        ex, ey = e.T @ x, e.T @ y
        total = (e.T @ e) * _quotient(n, xx, xy)
        for k in range(n):
            # xx^k xy^(n−1−k) − yx^k yy^(n−1−k), with xx − yx = ex and xy − yy = ey taken without cancellation.
            first = ex * _quotient(k, xx, yx) * power(xy, n - 1 - k)
            second = power(yx, k) * ey * _quotient(n - 1 - k, xy, yy)
            total = total + (y.T @ e) * (first + second)
        return xp.sqrt(xp.maximum(total.sum(), 0.0))


def _quotient(n: int, a: Array, b: Array) -> Array:
    """(aⁿ − bⁿ)/(a − b) = Σ aᵏ bⁿ⁻¹⁻ᵏ; zero for n = 0."""
    return sum((power(a, k) * power(b, n - 1 - k) for k in range(n)), start=0 * a)


def _of_one_rank(xp: Any, x: Array, y: Array) -> tuple[Array, Array]:
    """Both factors with as many columns as the wider one; a zero column adds nothing to the image."""
    most = max(x.shape[1], y.shape[1])
    return tuple(xp.pad(xp.asarray(z), ((0, 0), (0, most - z.shape[1]))) for z in (x, y))


def _rotated(xp: Any, y: Array, x: Array) -> Array:
    """The rotation YQ nearest to X: the same image for n = 2, and so the smallest difference to expand in."""
    u, _, vt = svd(xp, y.T @ x)
    return y @ (u @ vt)


def _matched(xp: Any, n: int, y: Array, x: Array) -> Array:
    """Y with its columns in the order of those of X they are nearest to, and their signs where n is even."""
    products, places = y.T @ x, xp.arange(x.shape[1])
    free = abs(products) if n % 2 == 0 else products
    order = 0 * places
    for _ in range(x.shape[1]):
        row, column = xp.divmod(free.argmax(), x.shape[1])
        order = xp.where(places == column, row, order)
        free = xp.where((places[:, None] == row) | (places == column), -xp.inf, free)
    signs = xp.where(products[order, places] < 0, -1, 1).astype(y.dtype) if n % 2 == 0 else 1
    return y[:, order] * signs
