"""(JᵀJ)†G and (JᵀJ + μI)⁻¹G for the symmetric CP map, by systems of r×r unknowns.

JᵀJ Z = n(n−1) X (E ⊙ ZᵀX) + n Z D with S = XᵀX, E = S^⊙(n−2), D = S^⊙(n−1). Everything here has the minimum norm.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from gnpolyak.base import small
from gnpolyak.base.krylov import conjugate_gradient
from gnpolyak.base.namespace import Array, each
from gnpolyak.problem.maps.inverses import cutoff, gram_pinv, reciprocal, scaled_inverses, symmetric_pinv
from gnpolyak.problem.maps.khatri_rao import khatri_rao
from gnpolyak.problem.maps.khatri_rao import linearized as multilinear

# Up to this rank the r²×r² matrix of the reduced system (at most 8 MB) is factorised; above it CG runs on r×r unknowns.
_LARGEST_DIRECT_RANK = 32
# Up to this many numbers (8 MB) the reduced Jacobian may be formed, to refine a solution or to find its null space.
_LARGEST_REDUCED_JACOBIAN = 2**20


def power(base: Array, exponent: int) -> Array:
    """The entrywise power by products: for an exponent above two NumPy calls a function for each entry."""
    if exponent <= 2:
        return base**exponent
    half = power(base, exponent // 2)
    return half * half * base if exponent % 2 else half * half


def column_powers(n: int, x: Array) -> Array:
    """The rank-one tensors xᵢ^⊗n of the columns as columns of a matrix of dⁿ rows."""
    return reduce(khatri_rao, [x] * n)


def linearized(xp: Any, n: int, x: Array) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    """The derivative of c(X) = Σ xᵢ^⊗n and its adjoint, both of arrays with any number of leading axes."""
    push, pull = multilinear(xp, (x,) * n)
    return lambda z: push((z,) * n), lambda v: reduce(add, pull(v))


def intensities(
    x: Array, forward: Callable[[Array], Array], adjoint: Callable[[Array], Array]
) -> tuple[Array, Callable[[Array], Array]]:
    """Σⱼ |Bxⱼ|² and its pullback v ↦ 2Bᴴ(v ⊙ Bx), of which a real x can follow the real part."""
    seen = forward(x)

    def pullback(weights: Array) -> Array:
        back = adjoint(2 * weights * seen)
        return back if np.iscomplexobj(x) else back.real.copy()

    return (seen.real**2 + seen.imag**2).sum(axis=0), pullback


def intensities_push(x: Array, forward: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """The derivative z ↦ 2 Σⱼ Re(conj(Bxⱼ) ⊙ Bzⱼ) of the intensities."""
    slopes = 2 * forward(x).conj()
    return lambda z: (slopes * forward(z)).real.sum(axis=0)


def matrix_preconditioner(xp: Any, x: Array, damping: Array | float) -> Callable[[Array], Array]:
    """The solution for c(X) = XXᵀ, and for XXᴴ where X is complex, as a function of G: then ᵀ is ᴴ and B Hermitian.

    In the eigenbasis of S = XᵀX, B = sym(XᵀG/2)ᵢⱼ/(λᵢ + λⱼ) solves SB + BS = XᵀG/2 and Z = (G/2 − XB)S†; damping adds
    μ/2 to both denominators. The symmetric B is what takes the gauge directions X·(skew S⁻¹) out, and so makes Z
    minimum-norm. Where X has lost rank, the columns of a vanishing λ carry nothing of G and stay zero.
    """
    eigenvalues, v = small.eigh(xp, small.gram(xp, x, x))
    eigenvalues = xp.maximum(eigenvalues, 0.0)
    inverse = reciprocal(xp, eigenvalues + damping / 2, cutoff(x.shape[0], x.dtype))
    xv, half_v, back = small.times(xp, x, v), v / 2, inverse[:, None] * v.conj().T
    pairs = eigenvalues[:, None] + eigenvalues + damping / 2
    shares = 0.5 / xp.where(pairs > 0, pairs, 1.0)

    def solve(g: Array) -> Array:
        half = small.times(xp, g, half_v)
        moment = small.gram(xp, xv, half)
        b = (moment + moment.conj().swapaxes(-1, -2)) * shares
        return small.times(xp, half - small.times(xp, xv, b), back)

    return solve


def tensor_preconditioner(xp: Any, n: int, x: Array, damping: Array | float) -> Callable[[Array], Array]:
    """The solution for n ≥ 3: with X = QR, the part of Z in range(Q) and the part outside solve separate systems.

    Outside, Z (nD + μ) = G. Inside, Z = QA with n(n−1) R(E ⊙ AᵀR) + A (nD + μ) = QᵀG.
    """
    q, r = xp.linalg.qr(x)
    system = _Reduced(xp, n, r, xp.asarray(damping, x.dtype), x.shape[0])
    inverse = system.iterated() if x.shape[1] > _LARGEST_DIRECT_RANK else system.factorised()

    def solve(g: Array) -> Array:
        inside = q.T @ g
        z_inside, z_outside = inverse(inside, g - q @ inside)
        return q @ z_inside + z_outside

    return solve


_Solve = Callable[[Array, Array], tuple[Array, Array]]


class _Reduced(NamedTuple):
    """The two systems of `tensor_preconditioner` for one triangular factor R."""

    xp: Any
    n: int
    r: Array
    damping: Array
    rows: int
    """d, which sets how far rounding reaches into the eigenvalues."""

    def blocks(self) -> tuple[Array, Array]:
        """n(n−1)E and nD + μI."""
        n, s = self.n, self.r.T @ self.r
        return n * (n - 1) * power(s, n - 2), n * power(s, n - 1) + self.damping * self.xp.eye(len(s), dtype=s.dtype)

    def matrices(self) -> tuple[Array, Array]:
        """The r²×r² matrix of the inner system, and the r×r matrix of the outer one, nD + μI."""
        r, size = self.r, self.r.shape[0]
        e, outer = self.blocks()
        unit = self.xp.eye(size, dtype=r.dtype)
        inner = r[:, None, None, :] * (r.T[:, :, None] * e[:, None, :]) + unit[:, None, :, None] * outer[:, None, :]
        return inner.reshape(size**2, size**2), outer

    def iterated(self) -> _Solve:
        """Solve for a rank too large to factorise r² unknowns."""
        xp, r = self.xp, self.r
        e, outer = self.blocks()
        outer_inverse = symmetric_pinv(xp, outer, self.rows)

        def iterate(inside: Array) -> Array:
            if inside.ndim > 2:
                return each(xp, iterate, inside)
            action = lambda a: r @ (e * (a.T @ r)) + a @ outer  # noqa: E731
            return conjugate_gradient(xp, action, inside, max_steps=4 * inside.size).solution

        return lambda inside, outside: (iterate(inside), outside @ outer_inverse)

    def factorised(self) -> _Solve:
        """Solve by inverses that are found by Cholesky, or by truncated singular values where rank was lost.

        What is left to solve is found once more, from products with J rather than with JᵀJ: forming JᵀJ rounds away
        cond(J)² units, which no refinement on JᵀJ itself gets back. J and Jᵀ one after the other lose only cond(J).
        """
        matrices = self.matrices()
        inner, outer = scaled_inverses(self.xp, matrices, lambda: self.truncated(*matrices))

        def solve(inside: Array, outside: Array) -> tuple[Array, Array]:
            # One r×r inverse and a product: triangular solves with d right-hand sides cost as much as an oracle call.
            return (inside.reshape(*inside.shape[:-2], -1) @ inner).reshape(inside.shape), outside @ outer

        if not self._forms_its_jacobian:
            return solve
        push, pull = linearized(self.xp, self.n, self.r)
        powers = column_powers(self.n - 1, self.r)

        def refined(inside: Array, outside: Array) -> tuple[Array, Array]:
            a, z = solve(inside, outside)
            rest = outside - self.n * ((z @ powers.T) @ powers) - self.damping * z
            more_a, more_z = solve(inside - pull(push(a)) - self.damping * a, rest)
            return a + more_a, z + more_z

        return refined

    def truncated(self, inner: Array, outer: Array) -> tuple[Array, Array]:
        """The pseudo-inverses of both matrices, from J's singular values where J is small enough to form."""
        xp, n, r = self.xp, self.n, self.r
        if not self._forms_its_jacobian:
            return symmetric_pinv(xp, inner, self.rows), symmetric_pinv(xp, outer, self.rows)
        units = xp.eye(r.size, dtype=r.dtype).reshape(-1, *r.shape)
        jacobian = linearized(xp, n, r)[0](units).reshape(r.size, -1).T
        powers = n**0.5 * column_powers(n - 1, r)
        return gram_pinv(xp, jacobian, self.damping, self.rows), gram_pinv(xp, powers, self.damping, self.rows)

    @property
    def _forms_its_jacobian(self) -> bool:
        return bool(self.r.shape[0] ** (self.n + 2) <= _LARGEST_REDUCED_JACOBIAN)
