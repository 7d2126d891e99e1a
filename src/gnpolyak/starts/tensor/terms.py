"""The rank-one terms of a small tensor."""

from __future__ import annotations

import numpy as np

from gnpolyak.starts.tensor.cleaned import times, unfolded

# Pairs of random contractions tried by the simultaneous diagonalisation; the best fit is kept.
_PAIRS = 100
# Rounds of the power method for one term, and sweeps of alternating least squares after each term.
_POWERS, _SWEEPS = 20, 10
# A vector is never shorter than this share of the longest of its factor: a zero column would be a critical point.
_LEAST = 1e-4


def diagonalised(core: np.ndarray, rank: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Factors of a tensor of that many terms, two of whose dimensions are that number.

    Contracted along all other axes with random numbers it gives matrices M = A D Bᵀ and N = A E Bᵀ with diagonal D and
    E, so the eigenvectors of M N⁻¹ = A D E⁻¹ A⁻¹ are the columns of A. A⁻¹ times the tensor has one term a slice.
    """
    first, second = [k for k, d in enumerate(core.shape) if d == rank][:2]
    order = (first, second, *(k for k in range(core.ndim) if k not in {first, second}))
    arranged = core.transpose(order)
    flat = arranged.reshape(rank, rank, -1)
    m, n = np.moveaxis(flat @ rng.standard_normal((flat.shape[2], 2 * _PAIRS)), 2, 0).reshape(2, _PAIRS, rank, rank)
    directions = np.real(np.linalg.eig(m @ np.linalg.pinv(n))[1])
    directions = directions[np.linalg.cond(directions) < 1 / np.finfo(float).eps ** 0.5]
    if not len(directions):
        return greedy(core, rank, rng)
    found = _from_first(arranged, directions)
    best = int(np.argmin(np.linalg.norm((composed(found) - arranged).reshape(len(directions), -1), axis=1)))
    return tuple(found[order.index(k)][best] for k in range(core.ndim))


def _from_first(tensor: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, ...]:
    """All factors, for a stack of first ones that are square: each slice of A⁻¹ times the tensor is one term."""
    slices = np.linalg.inv(a) @ tensor.reshape(len(tensor), -1)
    terms = _nearest_terms(slices.reshape(-1, *tensor.shape[1:]))
    return a, *(each.reshape(*a.shape[:2], -1).swapaxes(1, 2) for each in terms)


def _nearest_terms(tensors: np.ndarray) -> list[np.ndarray]:
    """Vectors whose outer products are near each of some tensors: the leading singular pair, axis after axis."""
    vectors, left = [], tensors
    while left.ndim > 2:
        u, s, vt = np.linalg.svd(left.reshape(*left.shape[:2], -1), full_matrices=False)
        vectors.append(u[:, :, 0])
        left = (s[:, :1] * vt[:, 0]).reshape(len(left), *left.shape[2:])
    return [*vectors, left]


def leading_term(tensor: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """The vectors of one large rank-one term: the power method from the leading singular vectors and from chance."""
    unfoldings = [unfolded(tensor, k) for k in range(tensor.ndim)]
    guesses = [[np.linalg.eigh(u @ u.T)[1][:, -1] for u in unfoldings]]
    guesses += [[np.asarray(rng.standard_normal(d)) for d in tensor.shape] for _ in range(4)]
    found = [_powered(tensor, guess) for guess in guesses]
    vectors, size = max(found, key=lambda each: abs(each[1]))
    length = abs(size) ** (1 / tensor.ndim)
    return vectors[0] * length * np.sign(size), *(vector * length for vector in vectors[1:])


def _powered(tensor: np.ndarray, vectors: list[np.ndarray]) -> tuple[list[np.ndarray], float]:
    size = 0.0
    for _ in range(_POWERS):
        for k in range(tensor.ndim):
            image = times(tensor, [np.eye(len(v)) if j == k else v[None] for j, v in enumerate(vectors)]).ravel()
            size = float(np.linalg.norm(image))
            vectors[k] = image / (size or 1.0)
    return vectors, size


def greedy(tensor: np.ndarray, rank: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Term after term of what the others leave, all of them refitted by alternating least squares."""
    factors = tuple(np.zeros((d, 0)) for d in tensor.shape)
    for _ in range(rank):
        term = leading_term(tensor - composed(factors), rng)
        factors = tuple(np.column_stack([a, v]) for a, v in zip(factors, term, strict=True))
        for _ in range(_SWEEPS):
            factors = _swept(tensor, factors)
    return factors


def _swept(tensor: np.ndarray, factors: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """One sweep of alternating least squares."""
    new = list(factors)
    for k in range(tensor.ndim):
        rest = _products([a for j, a in enumerate(new) if j != k])
        new[k] = np.linalg.lstsq(rest, unfolded(tensor, k).T, rcond=1e-10)[0].T
    return balanced(tuple(new))


def balanced(factors: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """The same terms, with the size of each shared evenly by its vectors."""
    lengths = [np.linalg.norm(a, axis=0) for a in factors]
    sizes = np.prod(lengths, axis=0)
    least = _LEAST * max(float(np.max(sizes, initial=0.0)), np.finfo(float).tiny ** 0.5)
    even = np.maximum(sizes, least) ** (1 / len(factors))
    return tuple(a / np.where(s > 0, s, 1.0) * even for a, s in zip(factors, lengths, strict=True))


def composed(factors: tuple[np.ndarray, ...]) -> np.ndarray:
    """The tensor of these factors, or of each of a stack of them."""
    stack, shape = factors[0].shape[:-2], [a.shape[-2] for a in factors]
    return (_products(list(factors[:-1])) @ factors[-1].swapaxes(-1, -2)).reshape(*stack, *shape)


def _products(factors: list[np.ndarray]) -> np.ndarray:
    """All products of entries of the factors' rows, term by term."""
    rows = factors[0]
    for a in factors[1:]:
        pairs = rows[..., :, None, :] * a[..., None, :, :]
        rows = pairs.reshape(*pairs.shape[:-3], pairs.shape[-3] * pairs.shape[-2], pairs.shape[-1])
    return rows
