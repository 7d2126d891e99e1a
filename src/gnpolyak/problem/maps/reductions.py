"""(JᵀJ)†G and (JᵀJ + μI)⁻¹G for the symmetric CP map, by systems of r×r unknowns.

JᵀJ Z = n(n−1) X (E ⊙ ZᵀX) + n Z D with S = XᵀX, E = S^⊙(n−2), D = S^⊙(n−1). Everything here has the minimum norm.
"""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array, lax

from gnpolyak.base import small
from gnpolyak.base.krylov import conjugate_gradient
from gnpolyak.base.modules import Module
from gnpolyak.problem.maps.inverses import cutoff, gram_pinv, is_regular, reciprocal, symmetric_pinv

# Up to this rank the r²×r² matrix of the reduced system (at most 8 MB) is factorised; above it CG runs on r×r unknowns.
_LARGEST_DIRECT_RANK = 32
# Up to this many numbers (8 MB) the reduced Jacobian may be formed, to refine a solution or to find its null space.
_LARGEST_REDUCED_JACOBIAN = 2**20


def column_powers(n: int, x: Array) -> Array:
    """The rank-one tensors xᵢ^⊗n of the columns, stacked along the last axis."""
    tensor = x
    for _ in range(n - 1):
        tensor = tensor[..., None, :] * x
    return tensor


def intensities(
    x: Array, forward: Callable[[Array], Array], adjoint: Callable[[Array], Array]
) -> tuple[Array, Callable[[Array], Array]]:
    """Σⱼ |Bxⱼ|² and its pullback v ↦ 2Bᴴ(v ⊙ Bx), of which a real x can follow the real part."""
    products = forward(x)

    def pullback(weights: Array) -> Array:
        back = adjoint(2 * weights * products)
        return back if jnp.iscomplexobj(x) else back.real

    return jnp.sum(jnp.square(products.real) + jnp.square(products.imag), axis=0), pullback


def matrix_preconditioner(x: Array, damping: Array | float) -> Callable[[Array], Array]:
    """The solution for c(X) = XXᵀ, and for XXᴴ where X is complex, as a function of G: then ᵀ is ᴴ and B Hermitian.

    In the eigenbasis of S = XᵀX, B = sym(XᵀG/2)ᵢⱼ/(λᵢ + λⱼ) solves SB + BS = XᵀG/2 and Z = (G/2 − XB)S†; damping adds
    μ/2 to both denominators. The symmetric B is what takes the gauge directions X·(skew S⁻¹) out, and so makes Z
    minimum-norm. Where X has lost rank, the columns of a vanishing λ carry nothing of G and stay zero.
    """
    eigenvalues, v = small.eigh(small.gram(x, x))
    eigenvalues = jnp.maximum(eigenvalues, 0.0)
    inverse = reciprocal(eigenvalues + damping / 2, cutoff(x.shape[0], x.dtype))
    xv = small.times(x, v)
    pairs = eigenvalues[:, None] + eigenvalues[None, :] + damping / 2

    def solve(g: Array) -> Array:
        half = small.times(g, v) / 2
        moment = small.gram(xv, half)
        b = (moment + jnp.conj(moment).T) / 2 / jnp.where(pairs > 0, pairs, 1.0)
        return small.times((half - small.times(xv, b)) * inverse, jnp.conj(v).T)

    return solve


def tensor_pinv(n: int, x: Array, g: Array, damping: Array | float) -> Array:
    """The solution for n ≥ 3: with X = QR, the part of Z in range(Q) and the part outside solve separate systems.

    Outside, Z (nD + μ) = G. Inside, Z = QA with n(n−1) R(E ⊙ AᵀR) + A (nD + μ) = QᵀG.
    """
    q, r = jnp.linalg.qr(x)
    system = _Reduced(n, r, jnp.asarray(damping, x.dtype), x.shape[0])
    inside = q.T @ g
    solve = system.iterate if x.shape[1] > _LARGEST_DIRECT_RANK else system.factorise
    z_inside, z_outside = solve(inside, g - q @ inside)
    return q @ z_inside + z_outside


class _Reduced(Module):
    """The two systems of `tensor_pinv` for one triangular factor R."""

    n: int = eqx.field(static=True)
    r: Array
    damping: Array
    rows: int = eqx.field(static=True)
    """d, which sets how far rounding reaches into the eigenvalues."""

    def blocks(self) -> tuple[Array, Array]:
        """E and nD + μI."""
        s = self.r.T @ self.r
        return s ** (self.n - 2), self.n * s ** (self.n - 1) + self.damping * jnp.eye(len(s), dtype=s.dtype)

    def matrices(self) -> tuple[Array, Array]:
        """The r×r matrix of the outer system, nD + μI, and the r²×r² matrix of the inner one."""
        n, r, size = self.n, self.r, self.r.shape[0]
        e, outer = self.blocks()
        unit = jnp.eye(size, dtype=r.dtype)
        inner = n * (n - 1) * jnp.einsum("al,lj,bj->ajbl", r, e, r) + jnp.einsum("ab,lj->ajbl", unit, outer)
        return outer, inner.reshape(size**2, size**2)

    def iterate(self, inside: Array, outside: Array) -> tuple[Array, Array]:
        """Solve for a rank too large to factorise r² unknowns."""
        n, r = self.n, self.r
        e, outer = self.blocks()

        def action(a: Array) -> Array:
            return n * (n - 1) * r @ (e * (a.T @ r)) + a @ outer

        a = conjugate_gradient(action, inside, max_steps=4 * inside.size).solution
        return a, outside @ symmetric_pinv(outer, self.rows)

    def factorise(self, inside: Array, outside: Array) -> tuple[Array, Array]:
        """Solve by Cholesky after scaling the columns, or by truncated eigenvalues where rank was lost.

        The factors' norms enter to the power 2(n−1), so the unscaled matrices look singular long before they are.
        Scaling changes the minimum-norm solution of a singular system, so there the unscaled one is truncated.
        """
        outer, inner = self.matrices()
        column = jnp.sqrt(jnp.diag(outer))
        column = jnp.where(column > 0, column, 1.0)
        scale = jnp.tile(column, len(column))
        inner_factor = jnp.linalg.cholesky(inner / jnp.outer(scale, scale))
        outer_factor = jnp.linalg.cholesky(outer / jnp.outer(column, column))

        # One r×r inverse and a product: triangular solves with d right-hand sides cost as much as an oracle call.
        outer_inverse = jax.scipy.linalg.cho_solve((outer_factor, True), jnp.eye(len(outer), dtype=outer.dtype))

        def solve(inside: Array, outside: Array) -> tuple[Array, Array]:
            a = jax.scipy.linalg.cho_solve((inner_factor, True), inside.ravel() / scale).reshape(inside.shape) / column
            return a, (outside / column) @ outer_inverse / column

        def regular() -> tuple[Array, Array]:
            a, z = solve(inside, outside)
            if not self._forms_its_jacobian:
                return a, z
            more_a, more_z = solve(*self.residuals(a, z, inside, outside))
            return a + more_a, z + more_z

        full_rank = is_regular(inner_factor) & is_regular(outer_factor)
        return lax.cond(full_rank, regular, lambda: self.truncate(inside, outside))

    @property
    def _forms_its_jacobian(self) -> bool:
        return self.r.shape[0] ** (self.n + 2) <= _LARGEST_REDUCED_JACOBIAN

    def residuals(self, a: Array, z: Array, inside: Array, outside: Array) -> tuple[Array, Array]:
        """What is left to solve, from products with J rather than with JᵀJ.

        Forming JᵀJ rounds away cond(J)² units, and no refinement on JᵀJ itself gets them back. J and Jᵀ applied one
        after the other lose only cond(J).
        """
        _, push = jax.linearize(self._image, self.r)
        pull = jax.linear_transpose(push, self.r)
        power = self._power()
        inner = inside - pull(push(a))[0] - self.damping * a
        return inner, outside - self.n * (z @ power.T) @ power - self.damping * z

    def truncate(self, inside: Array, outside: Array) -> tuple[Array, Array]:
        """Solve on what is left of the rank, found from J's singular values where J is small enough to form."""
        if self._forms_its_jacobian:
            jacobian = jax.jacfwd(self._image)(self.r).reshape(-1, self.r.size)
            inner = gram_pinv(jacobian, self.damping, self.rows)
            outer = gram_pinv(jnp.sqrt(self.n) * self._power(), self.damping, self.rows)
        else:
            outer_matrix, inner_matrix = self.matrices()
            inner, outer = symmetric_pinv(inner_matrix, self.rows), symmetric_pinv(outer_matrix, self.rows)
        return (inner @ inside.ravel()).reshape(inside.shape), outside @ outer

    def _image(self, r: Array) -> Array:
        return jnp.sum(column_powers(self.n, r), axis=-1)

    def _power(self) -> Array:
        """The matrix K of columns rᵢ^⊗(n−1), so that D = KᵀK."""
        return column_powers(self.n - 1, self.r).reshape(-1, self.r.shape[1])
