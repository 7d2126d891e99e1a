"""The small tensor: a robust fit of T in Sym^n(R^s) to measurements projected on s directions, and its r factors.

In a space of s directions the model y ≈ T(z, …, z), z = Vᵀp, is linear in the C(s+n−1, n) entries of T, so a least
absolute deviations fit finds them, at their true scale and whatever the outliers; no d^n array is formed.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations_with_replacement, permutations
from math import comb, factorial, prod

import numpy as np

# Reweighted least-squares passes of one fit. Fits follow each other with ever better weights, so each may stop early.
_PASSES = 4
# Residuals are small, and weighted alike, below 0.3 medians. Above 50 they are outliers, which reweighting alone would
# silence too, but only after many passes.
_SMALL, _GROSS = 0.3, 50.0
# Pairs of random contractions tried by the simultaneous diagonalisation; the best fit is kept.
_PAIRS = 100
# A column is never shorter than this share of the longest, in image size: a zero column would be a critical point.
_LEAST = 1e-4


def unknowns(s: int, n: int) -> int:
    """dim Sym^n(R^s)."""
    return comb(s + n - 1, n)


def fit(p: np.ndarray, q: np.ndarray | None, b: np.ndarray, residual: np.ndarray, n: int) -> np.ndarray:
    """The symmetric T that minimises Σ |T(pᵢ, …) − T(qᵢ, …) − bᵢ|, nearly, by reweighting from known residuals."""
    s = p.shape[1]
    index, root = _basis(s, n)
    features = _monomials(p, index) if q is None else _monomials(p, index) - _monomials(q, index)
    features *= root
    entries = _fitted(features, b, residual)
    tensor = np.zeros((s,) * n)
    for order in permutations(range(n)):
        tensor[tuple(index[:, order].T)] = entries / root
    return tensor


def fit_hermitian(p: np.ndarray, q: np.ndarray | None, b: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """The same for a Hermitian T and Σ |pᵢᵀ T p̄ᵢ − qᵢᵀ T q̄ᵢ − bᵢ|, with complex p: s² real numbers are fitted."""
    s = p.shape[1]
    features = _products(p) if q is None else _products(p) - _products(q)
    entries = _fitted(features, b, residual)
    above = np.triu_indices(s, 1)
    real, imag = np.split(entries[s:] / np.sqrt(2), 2)
    matrix = np.zeros((s, s), complex)
    matrix[above] = real + 1j * imag
    return matrix + matrix.conj().T + np.diag(entries[:s])


def _products(z: np.ndarray) -> np.ndarray:
    """zᵀ T z̄ in an orthonormal basis of Hermitian matrices: diagonal, √2 Re and √2 Im of what is above it."""
    first, second = np.triu_indices(z.shape[1], 1)
    mixed = np.sqrt(2) * z[:, first] * z[:, second].conj()
    return np.hstack([np.abs(z) ** 2, mixed.real, -mixed.imag])


@cache
def _basis(s: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The entries that a symmetric tensor has once, and √(multiplicity).

    With it these are coordinates in an orthonormal basis of Sym^n, which keeps the normal equations well scaled.
    """
    index = np.array(list(combinations_with_replacement(range(s), n)))
    return index, np.sqrt([_multiplicity(row) for row in index.tolist()])


def _multiplicity(row: list[int]) -> int:
    """How many orders the indices of an entry can be written in."""
    return factorial(len(row)) // prod(factorial(row.count(k)) for k in set(row))


def _monomials(z: np.ndarray, index: np.ndarray) -> np.ndarray:
    product = z[:, index[:, 0]]
    for column in index.T[1:]:
        product = product * z[:, column]
    return product


def _fitted(features: np.ndarray, b: np.ndarray, residual: np.ndarray) -> np.ndarray:
    entries = np.zeros(features.shape[1])
    for _ in range(_PASSES):
        entries = _reweighted(features, b, residual)
        residual = b - features @ entries
    return entries


def _reweighted(features: np.ndarray, b: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """One weighted least-squares fit, with weight 1/|residual| but for the small and the gross ones."""
    size = np.abs(residual)
    size = size / max(float(np.median(size)), np.finfo(float).tiny)
    weight = np.where(size < _GROSS, 1.0 / np.maximum(size, _SMALL), 0.0)
    rooted = np.sqrt(weight)[:, None] * features
    normal = rooted.T @ rooted
    normal[np.diag_indices_from(normal)] += 1e-10 * np.trace(normal) / len(normal)
    return np.linalg.solve(normal, features.T @ (weight * b))


def spectrum(tensor: np.ndarray) -> np.ndarray:
    """The eigenvalues of a matrix, or the singular values of a tensor's unfolding, falling."""
    if tensor.ndim == 2:
        return np.linalg.eigvalsh(tensor)[::-1]
    return np.linalg.svd(tensor.reshape(len(tensor), -1), compute_uv=False)


def factors(tensor: np.ndarray, rank: int, rng: np.random.Generator) -> np.ndarray:
    """X of shape (s, rank) with Σ xⱼ^⊗n near the tensor."""
    if tensor.ndim == 2:
        values, vectors = np.linalg.eigh(tensor)
        return matrix_factors(values[::-1][:rank], vectors[:, ::-1][:, :rank])
    basis = np.linalg.svd(tensor.reshape(len(tensor), -1), full_matrices=False)[0][:, :rank]
    small = tensor
    for _ in range(tensor.ndim):
        small = np.tensordot(small, basis, axes=(0, 0))
    return basis @ _diagonalise(small, rng)


def _diagonalise(tensor: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """r factors of an r×…×r tensor by simultaneous diagonalisation of two of its contractions, the best of many.

    Contracted with random numbers, T = Σ xⱼ^⊗n gives A = X D Xᵀ and B = X E Xᵀ with diagonal D and E, and the
    eigenvectors of A B⁻¹ = X D E⁻¹ X⁻¹ are the factors' directions, orthogonal or not.
    """
    n, r = tensor.ndim, len(tensor)
    draws = rng.standard_normal((2, _PAIRS) + (r,) * (n - 2)).reshape(2, _PAIRS, -1)
    a, b = (draws @ tensor.reshape(-1, r * r)).reshape(2, _PAIRS, r, r)
    directions = np.real(np.linalg.eig(a @ np.linalg.pinv(b))[1])
    # A complex pair, which noise can make, leaves two equal real parts: the fit below discards it.
    directions /= np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), np.finfo(float).tiny)
    values = _contract(tensor, directions)
    grams = (directions.transpose(0, 2, 1) @ directions) ** n
    shares = (np.linalg.pinv(grams, rcond=1e-6, hermitian=True) @ values[..., None])[..., 0]
    best = int(np.argmax(np.sum(shares * values, axis=1)))
    return directions[best] * _lengths(shares[best], n)


def _contract(tensor: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """T(u, …, u) for every column u of every matrix in the stack."""
    stack, r, columns = directions.shape
    u = directions.transpose(1, 0, 2).reshape(r, -1)
    value = tensor.reshape(r, -1).T @ u
    for _ in range(tensor.ndim - 1):
        value = np.einsum("rkc,rc->kc", value.reshape(r, -1, u.shape[1]), u)
    return value.reshape(stack, columns)


def matrix_factors(values: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """X with XXᵀ = V diag(λ) Vᵀ, negative and vanishing λ replaced by small ones."""
    return vectors * _lengths(values, 2)


def _lengths(shares: np.ndarray, n: int) -> np.ndarray:
    """The length of a factor whose image has this share: an n-th root, signed for odd n, never exactly zero."""
    least = _LEAST * max(float(np.max(np.abs(shares))), np.finfo(float).tiny ** 0.5)
    if n % 2:
        return np.where(shares < 0, -1.0, 1.0) * np.maximum(np.abs(shares), least) ** (1 / n)
    return np.maximum(shares, least) ** (1 / n)
