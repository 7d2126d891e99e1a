"""Leading eigenvectors and singular vectors of what is known by its products alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gnpolyak.base.halting import rounds

# Up to this dimension one matrix (320 kB) is formed; above it, only products with a few columns.
_LARGEST_DENSE = 200
# Products with a block, and columns in a block beyond those asked for.
_DEPTH, _EXTRA = 10, 8

Action = Callable[[np.ndarray | None], np.ndarray]
"""The product of a symmetric or Hermitian matrix with columns, or of None the matrix itself."""


def leading(act: Action, d: int, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The `count` largest eigenvalues of a symmetric or Hermitian action, falling, with their vectors."""
    if d <= _LARGEST_DENSE:
        matrix = act(None)
        values, vectors = np.linalg.eigh((matrix + matrix.conj().T) / 2)
    else:
        values, vectors = _block_krylov(act, d, count, rng)
    return values[::-1][:count], vectors[:, ::-1][:, :count]


def leading_pair(matrix: Any, seed: int = 0) -> tuple[np.ndarray, float, np.ndarray]:
    """The largest singular value of a matrix, dense or sparse, between its vectors on the left and on the right."""
    wide = matrix.shape[0] < matrix.shape[1]
    tall = matrix.T if wide else matrix

    def act(z: np.ndarray | None) -> np.ndarray:
        if z is not None:
            return tall.T @ (tall @ z)
        square = tall.T @ tall
        return square if isinstance(square, np.ndarray) else square.toarray()

    right = leading(act, tall.shape[1], 1, np.random.default_rng(seed))[1][:, 0]
    image = tall @ right
    value = float(np.linalg.norm(image))
    left = image / (value or 1.0)
    return (right, value, left) if wide else (left, value, right)


def _block_krylov(act: Action, d: int, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rayleigh–Ritz on span(Z, BZ, B²Z, …), kept orthonormal throughout: memory d·(count + 8)·10, never d²."""
    block, _ = np.linalg.qr(rng.standard_normal((d, min(d, count + _EXTRA))))
    basis, image = block, act(block)
    for _ in rounds(_DEPTH - 1):
        fresh = image[:, -block.shape[1] :]
        # Twice is enough: one projection leaves the rounding of the large components it removed.
        for _ in range(2):
            fresh = fresh - basis @ (basis.conj().T @ fresh)
        if basis.shape[1] + fresh.shape[1] > d:
            break
        fresh, _ = np.linalg.qr(fresh)
        basis, image = np.hstack([basis, fresh]), np.hstack([image, act(fresh)])
    small = basis.conj().T @ image
    values, rotation = np.linalg.eigh((small + small.conj().T) / 2)
    return values, basis @ rotation
