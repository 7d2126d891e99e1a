"""The Lanczos process with full reorthogonalisation, in a given inner product."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Action = Callable[[np.ndarray], np.ndarray]


def _same(u: np.ndarray) -> np.ndarray:
    return u


@dataclass(frozen=True)
class Ritz:
    """What a Krylov space knows of the eigenvalues of an operator."""

    values: np.ndarray
    """In ascending order."""
    weights: np.ndarray
    """The share of the start that belongs to each."""
    errors: np.ndarray
    """Bounds on their errors."""
    vectors: np.ndarray
    """Approximate eigenvectors, one a row."""


def lanczos(action: Action, start: np.ndarray, steps: int, gram: Action = _same, project: Action = _same) -> Ritz:
    """Ritz values of an action that is self-adjoint in ⟨a, gram(b)⟩, from at most `steps` applications.

    It ends early once the Krylov space is invariant. A start of size zero is not allowed. Where `gram` is singular,
    `project` has to take its null space out: the inner product does not see what rounding puts there, and each
    division by a size makes it larger.
    """
    basis: list[np.ndarray] = []
    duals: list[np.ndarray] = []
    diagonal: list[float] = []
    beside: list[float] = []
    w, size, largest = start, _size(start, gram(start)), 0.0
    while len(basis) < steps and size > 1e-12 * largest:
        basis.append(w / size)
        duals.append(gram(basis[-1]))
        w = action(basis[-1])
        diagonal.append(float(duals[-1] @ w))
        for _ in range(2):  # once is not enough when w is nearly in the span
            w = project(w - (np.array(duals) @ w) @ np.array(basis))
        size = _size(w, gram(w))
        beside.append(size)
        largest = max(largest, abs(diagonal[-1]))
    values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside[:-1], 1) + np.diag(beside[:-1], -1))
    return Ritz(values, vectors[0] ** 2, beside[-1] * np.abs(vectors[-1]), vectors.T @ np.array(basis))


def _size(w: np.ndarray, dual: np.ndarray) -> float:
    return float(np.sqrt(max(w @ dual, 0.0)))
