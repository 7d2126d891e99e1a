"""The symmetric CP map c(X) = Σ xᵢ^⊗n and the r×r reductions of its Gauss–Newton system."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array, lax

from gnpolyak.errors import InputError
from gnpolyak.krylov import conjugate_gradient
from gnpolyak.maps.base import Map

# Up to this rank the r²×r² matrix of the reduced system (at most 8 MB) is factorised; above it CG runs on r×r unknowns.
_LARGEST_DIRECT_RANK = 32
# Up to this many numbers (8 MB) the reduced map's image may be formed to refine the solution.
_LARGEST_REFINED_IMAGE = 2**20


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
        if not isinstance(n, int) or isinstance(n, bool) or n < 2:
            raise InputError(
                given=f"SymmetricCP(n={n!r})",
                needed="a whole order n of at least 2",
                missing="a valid n",
                advice="use n=2 for matrices XXᵀ and n>=3 for tensors",
            )
        self.n = n

    @property
    def offers(self) -> frozenset[str]:
        always = {"image", "gram_pinv", "power_forms"}
        return frozenset(always | {"right_gram"} if self.n == 2 else always)

    @property
    def label(self) -> str:
        return f"SymmetricCP(n={self.n})"

    def check(self, x: Array) -> None:
        shape = getattr(x, "shape", None)
        if shape is None or len(shape) != 2 or 0 in shape or shape[1] > shape[0]:
            raise InputError(
                given=f"a variable of {'shape ' + str(shape) if shape is not None else 'type ' + type(x).__name__}",
                needed=f"for {self.label}, one matrix X of shape (d, r) with 1 <= r <= d",
                missing="a valid shape",
                advice="stack the r factors as columns; if r > d, ask for a smaller rank",
            )

    def __call__(self, x: Array) -> Array:
        return jnp.sum(self.terms(x), axis=-1)

    def terms(self, x: Array) -> Array:
        """The rank-one tensors xᵢ^⊗n, stacked along the last axis."""
        tensor = x
        for _ in range(self.n - 1):
            tensor = tensor[..., None, :] * x
        return tensor

    def gram(self, x: Array) -> Callable[[Array], Array]:
        n, s = self.n, x.T @ x
        e, d = s ** (n - 2), s ** (n - 1)
        return lambda z: n * (n - 1) * x @ (e * (z.T @ x)) + n * z @ d

    def gram_pinv(self, x: Array, g: Array) -> Array:
        return _matrix_pinv(x, g) if self.n == 2 else _tensor_pinv(self.n, x, g)

    def right_gram(self, x: Array) -> Array:
        if self.n != 2:
            raise self.lacking("right_gram")
        return x.T @ x

    def power_forms(self, x: Array, rows: Array) -> tuple[Array, Callable[[Array], Array]]:
        products = rows @ x

        def pullback(weights: Array) -> Array:
            # n goes with the small factor: n * rows.T @ … would form a scaled copy of all rows first.
            return rows.T @ (self.n * weights[:, None] * products ** (self.n - 1))

        return jnp.sum(products**self.n, axis=1), pullback

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
        y = _aligned(y, x) if n == 2 else y
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


def _aligned(y: Array, x: Array) -> Array:
    """The rotation YQ nearest to X: the same image for n = 2, and so the smallest difference to expand in."""
    u, _, vt = jnp.linalg.svd(y.T @ x)
    return y @ (u @ vt)


def _cutoff(size: int, dtype: jnp.dtype) -> float:
    """Eigenvalues below this fraction of the largest are rounding, not rank."""
    return size * float(jnp.finfo(dtype).eps)


def _reciprocal(values: Array, cutoff: float) -> Array:
    """1/λ where λ is above the cutoff relative to the largest, else 0."""
    kept = values > cutoff * jnp.max(values)
    return jnp.where(kept, 1.0 / jnp.where(kept, values, 1.0), 0.0)


def _matrix_pinv(x: Array, g: Array) -> Array:
    """(JᵀJ)†G for c(X) = XXᵀ.

    In the eigenbasis of S = XᵀX, B = sym(XᵀG/2)ᵢⱼ/(λᵢ + λⱼ) solves SB + BS = XᵀG/2 and Z = (G/2 − XB)S†. The
    symmetric B is what takes the gauge directions X·(skew S⁻¹) out, and so makes Z minimum-norm. Where X has lost
    rank, the columns of a vanishing λ carry nothing of G and stay zero.
    """
    eigenvalues, v = jnp.linalg.eigh(x.T @ x)
    eigenvalues = jnp.maximum(eigenvalues, 0.0)
    inverse = _reciprocal(eigenvalues, _cutoff(x.shape[0], x.dtype))
    xv, half = x @ v, g @ v / 2
    moment = xv.T @ half
    pairs = eigenvalues[:, None] + eigenvalues[None, :]
    b = (moment + moment.T) / 2 / jnp.where(pairs > 0, pairs, 1.0)
    return ((half - xv @ b) * inverse) @ v.T


def _tensor_pinv(n: int, x: Array, g: Array) -> Array:
    """(JᵀJ)†G for n ≥ 3: with X = QR, the part of Z in range(Q) and the part outside solve separate systems.

    Outside, n Z D = G with D = S^⊙(n−1). Inside, Z = QA with n(n−1) R(E ⊙ AᵀR) + n A D = QᵀG, E = S^⊙(n−2).
    """
    q, r = jnp.linalg.qr(x)
    s = r.T @ r
    e, d = s ** (n - 2), s ** (n - 1)
    inside = q.T @ g
    outside = g - q @ inside
    if x.shape[1] > _LARGEST_DIRECT_RANK:
        z_inside, z_outside = _iterate(n, r, e, d, inside, outside)
    else:
        z_inside, z_outside = _factorise(n, r, e, d, inside, outside)
    return q @ z_inside + z_outside


def _iterate(n: int, r: Array, e: Array, d: Array, inside: Array, outside: Array) -> tuple[Array, Array]:
    """Both systems for a rank too large to factorise r² unknowns."""

    def action(a: Array) -> Array:
        return n * (n - 1) * r @ (e * (a.T @ r)) + n * a @ d

    z_inside = conjugate_gradient(action, inside, max_steps=4 * inside.size).solution
    return z_inside, outside @ _pinv(d, outside.shape[0]) / n


def _factorise(n: int, r: Array, e: Array, d: Array, inside: Array, outside: Array) -> tuple[Array, Array]:
    """Both systems by Cholesky after scaling the columns, or by truncated eigenvalues where rank was lost.

    The factors' norms enter to the power 2(n−1), so the unscaled matrices look singular long before they are.
    Scaling changes the minimum-norm solution of a singular system, so there the unscaled one is truncated.
    """
    size = r.shape[0]
    matrix = n * (n - 1) * jnp.einsum("al,lj,bj->ajbl", r, e, r) + n * jnp.einsum("ab,lj->ajbl", jnp.eye(size), d)
    matrix = matrix.reshape(size**2, size**2)
    column = jnp.sqrt(jnp.diag(d))
    column = jnp.where(column > 0, column, 1.0)
    scale = jnp.tile(column, size)
    inner_factor = jnp.linalg.cholesky(matrix / jnp.outer(scale, scale))
    outer_factor = jnp.linalg.cholesky(d / jnp.outer(column, column))

    def solve_inside(rhs: Array) -> Array:
        return jax.scipy.linalg.cho_solve((inner_factor, True), rhs.ravel() / scale).reshape(size, size) / column

    def solve_outside(rhs: Array) -> Array:
        return jax.scipy.linalg.cho_solve((outer_factor, True), (rhs / column).T).T / (n * column)

    def regular() -> tuple[Array, Array]:
        a, z = solve_inside(inside), solve_outside(outside)
        if size ** (n + 1) > _LARGEST_REFINED_IMAGE:
            return a, z
        inner_residual, outer_residual = _residuals(n, r, a, z, inside, outside)
        return a + solve_inside(inner_residual), z + solve_outside(outer_residual)

    def deficient() -> tuple[Array, Array]:
        a = _pinv(matrix, outside.shape[0]) @ inside.ravel()
        return a.reshape(size, size), outside @ _pinv(d, outside.shape[0]) / n

    full_rank = _is_regular(inner_factor) & _is_regular(outer_factor)
    return lax.cond(full_rank, regular, deficient)


def _residuals(n: int, r: Array, a: Array, z: Array, inside: Array, outside: Array) -> tuple[Array, Array]:
    """What is left to solve, from products with J rather than with JᵀJ.

    Forming JᵀJ rounds away cond(J)² units, and no refinement on JᵀJ itself gets them back. J and Jᵀ applied one
    after the other lose only cond(J).
    """
    push, pull = SymmetricCP(n).linearize(r)
    power = SymmetricCP(n - 1).terms(r).reshape(-1, r.shape[1])
    return inside - pull(push(a)), outside - n * (z @ power.T) @ power


def _is_regular(factor: Array) -> Array:
    """Tell from the Cholesky factor of a scaled matrix whether it has full rank to working precision."""
    pivots = jnp.diag(factor) ** 2
    # NaN pivots of a failed factorisation compare false.
    return jnp.min(pivots) > 100 * _cutoff(factor.shape[0], factor.dtype) * jnp.max(pivots)


def _pinv(matrix: Array, size: int) -> Array:
    """The pseudo-inverse of a symmetric positive semidefinite matrix."""
    eigenvalues, v = jnp.linalg.eigh(matrix)
    return (v * _reciprocal(eigenvalues, _cutoff(max(size, matrix.shape[0]), matrix.dtype))) @ v.T
