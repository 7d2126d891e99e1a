"""Whether rows are isotropic, and Σ^½ of those that are not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gnpolyak.base.arrays import at_hand
from gnpolyak.base.namespace import Array

# Rows looked at, for each entry of a row, and those that Σ is made of. Isotropic ones give condition numbers of 9, 2.
_LOOKED_AT, _USED = 4, 32
# Steps of Lanczos' method, which tell the condition number of a spectrum without gaps to a fifth.
_STEPS = 20
# How many times the condition number may exceed that of isotropic rows; beyond, unwhitened solves take half as many
# calls again and more.
_ALLOWED = 2.0
# Condition numbers that are computed for many at once may differ by rounding: near the limit each is looked at again.
_SURELY = 0.999
# Up to this dimension a condition number is told by eigenvalues, of many at once.
_TOGETHER = 64
# Up to this dimension Σ is formed (128 MB) and factorised (half a minute).
_LARGEST = 4000
# Rows that are looked at together.
_PIECE = 4096
# Directions that the rows do not see are left as they are: below this share of the largest variance.
_UNSEEN = 1e-12


def roots(stored: Sequence[Any]) -> tuple[np.ndarray, np.ndarray] | None:
    """Σ^½ and its inverse for the covariance Σ of these rows; None where they are isotropic, or too few to tell."""
    m, d = stored[0].shape
    if d == 1 or d > _LARGEST or len(stored) * m < _LOOKED_AT * d:
        return None
    # Slices of JAX's arrays would be programs to compile.
    stored = [at_hand(each) for each in stored]
    few = _few(stored)
    if not _condition(few) > _most(*few.shape):
        return None
    values, vectors = np.linalg.eigh(_covariance(stored))
    # In the units of the rows' own variance, so that Y has the size of X.
    values = values / np.mean(values)
    seen = values > _UNSEEN * values[-1]
    root = np.sqrt(np.where(seen, values, 1.0))
    adjoint = vectors.conj().T
    return vectors * root @ adjoint, vectors / root @ adjoint


def alike(each: Sequence[Sequence[Array | np.ndarray]]) -> np.ndarray:
    """Tell of several problems' rows, all of one shape, which are isotropic beyond doubt: `roots` is for the others."""
    m, d = each[0][0].shape
    if d == 1 or d > _LARGEST or len(each[0]) * m < _LOOKED_AT * d:
        return np.ones(len(each), bool)
    if d > _TOGETHER:
        return np.zeros(len(each), bool)
    few = _few_of_each(each)
    return _conditions(few) <= _SURELY * _most(*few.shape[1:])


def _few(stored: Sequence[Array | np.ndarray]) -> np.ndarray:
    """The rows that are looked at, in single precision."""
    narrow = np.complex64 if any(np.dtype(each.dtype).kind == "c" for each in stored) else np.float32
    return np.concatenate([some.astype(narrow) for some in _directions(stored, _LOOKED_AT)])


def _few_of_each(each: Sequence[Sequence[Array | np.ndarray]]) -> np.ndarray:
    """`_few` of several problems."""
    step = _step(each[0], _LOOKED_AT)
    parts = (np.stack([np.asarray(part)[::step] for part in some]) for some in zip(*each, strict=True))
    rows = np.concatenate(list(parts), axis=1)
    length = np.linalg.norm(rows, axis=2, keepdims=True)
    return rows / np.where(length > 0, length, 1.0)


def _step(stored: Sequence[Array | np.ndarray], share: int) -> int:
    """How far apart rows are taken, for `share` of them for each entry of a row."""
    m, d = stored[0].shape
    return max(1, len(stored) * m // (share * d))


def _most(n: int, d: int) -> float:
    """The condition number up to which n rows of d entries count as isotropic."""
    share = d / n
    return _ALLOWED * ((1 + share**0.5) / (1 - share**0.5)) ** 2


def _covariance(stored: Sequence[Any]) -> np.ndarray:
    total: Any = 0.0
    for some in _directions(stored, _USED):
        total = total + some.conj().T @ some
    return np.asarray(total)


def _directions(stored: Sequence[Any], share: int) -> Iterator[np.ndarray]:
    """Some rows, evenly taken, each of length 1: one that is a thousand times too long then says no more than others.

    `share` is how many, for each entry of a row. They come in pieces: rows may be many, and need not be in memory.
    """
    m, step = stored[0].shape[0], _step(stored, share)
    for each in stored:
        for start in range(0, m, step * _PIECE):
            rows = _wide(each[start : start + step * _PIECE : step])
            length = np.linalg.norm(rows, axis=1, keepdims=True)
            # Rows that are no numbers, which those in memory cannot be, are for the first pass to name.
            yield np.where(np.isfinite(length), rows / np.where(length > 0, length, 1.0), 0.0)


def _wide(rows: Array | np.ndarray) -> np.ndarray:
    return np.asarray(rows, np.result_type(rows.dtype, np.float64))


def _condition(rows: np.ndarray) -> float:
    """The condition number of Σ p̄ᵢpᵢᵀ from below, by Lanczos' method."""
    rng = np.random.default_rng(0)
    d = rows.shape[1]
    v = np.asarray(rng.standard_normal(d), np.result_type(rows.dtype, np.float64))
    basis = np.empty((d, 0), v.dtype)
    for _ in range(min(_STEPS, d)):
        # Twice is enough to keep the basis orthonormal.
        for _ in range(2):
            v = v - basis @ (basis.conj().T @ v)
        length = np.linalg.norm(v)
        if not length > 0:
            break
        basis = np.column_stack([basis, v / length])
        v = rows.conj().T @ (rows @ basis[:, -1])
    values = np.linalg.svd(rows @ basis, compute_uv=False) ** 2
    return float(values[0] / max(values[-1], np.finfo(float).eps * values[0]))


def _conditions(rows: np.ndarray) -> np.ndarray:
    """The condition numbers of a stack of Σ p̄ᵢpᵢᵀ: `_condition` tells of each no more, and of small ones as much."""
    wide = rows.astype(np.result_type(rows.dtype, np.float64))
    values = np.linalg.eigvalsh(np.conj(np.swapaxes(wide, 1, 2)) @ wide)
    largest = values[:, -1]
    return largest / np.maximum(values[:, 0], np.finfo(float).eps * largest)
