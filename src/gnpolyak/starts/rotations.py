"""A start from the data alone for relative rotations."""

from __future__ import annotations

import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.halting import rounds
from gnpolyak.problem.capabilities import RESIDUALS
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import RelativeRotations
from gnpolyak.problem.sensing import Identity
from gnpolyak.starts.host import on_host
from gnpolyak.starts.low_rank import unweighted
from gnpolyak.starts.table import STARTS

# Rounds of weights: wrong pairs are told from good ones after a few, and more sharpen the answer little.
_ROUNDS = 10
# The median error of pairs that no further round can make smaller.
_AGREED = 1e-12
# Up to this many rows the eigenvectors come from the whole matrix, beyond from powers of it.
_LARGEST_DENSE, _POWERS = 1500, 200


@STARTS.register(RelativeRotations, Identity)
@on_host
def synchronised(problem: Composite, *, seed: int = 0) -> np.ndarray:
    """Quaternions of n rotations from the relative rotations of pairs, of which a part may be any rotation.

    The symmetric matrix M of the 3×3 blocks w R_ij, each divided by the square roots of its two degrees, has the
    rotations as its leading three eigenvectors if all pairs are right. Each block of these is rounded to the nearest
    rotation. Wrong pairs disagree with what they are rounded to, and in the next round weigh less: w = 1/(1 + (e/s)²)
    for an error e of a pair, and s the median of these. No share of wrong pairs need be known.

    Parameters
    ----------
    problem : Composite
        L1 of `RelativeRotations`, with data of shape (m, 3, 3).
    seed : int
        Seed of the numbers that the powers of a large matrix begin with.

    Returns
    -------
    numpy.ndarray
        Unit quaternions, shape (n, 4).
    """
    c = problem.map
    assert isinstance(c, RelativeRotations)
    i, j = np.asarray(c.i), np.asarray(c.j)
    b, counted = _data(problem, (len(i), 3, 3))
    weights = counted
    for _ in rounds(_ROUNDS):
        found = _rounded(_leading(i, j, weights, b, c.n, seed))
        error = np.linalg.norm(b - found[i] @ found[j].transpose(0, 2, 1), axis=(1, 2))
        scale = float(np.median(error[counted > 0]))
        # Pairs that agree to rounding have told all they know.
        if scale <= _AGREED:
            break
        weights = counted / (1.0 + (error / scale) ** 2)
    return _quaternions(found).astype(arrays.working_dtype(problem))


def _data(problem: Composite, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The relative rotations, and 0 for pairs without weight, 1 for all others."""
    problem.penalty.require(RESIDUALS, "a start from relative rotations", "pass x0")
    problem.penalty.check(shape)
    (b, _), counted = unweighted(problem, np.zeros(shape))
    return b, np.ones(len(b)) if counted is None else counted.all(axis=(1, 2)).astype(float)


def _leading(i: np.ndarray, j: np.ndarray, w: np.ndarray, b: np.ndarray, n: int, seed: int) -> np.ndarray:
    """The three leading eigenvectors of the normalised block matrix, as n blocks."""
    degree = np.maximum(np.bincount(i, w, n) + np.bincount(j, w, n), np.finfo(float).tiny)
    blocks = (w / np.sqrt(degree[i] * degree[j]))[:, None, None] * b
    if 3 * n <= _LARGEST_DENSE:
        axis = np.arange(3)
        rows, columns = 3 * i[:, None, None] + axis[:, None], 3 * j[:, None, None] + axis
        half = np.bincount((3 * n * rows + columns).ravel(), blocks.ravel(), 9 * n * n).reshape(3 * n, 3 * n)
        vectors = np.linalg.eigh(half + half.T)[1][:, -3:]
    else:
        vectors = _powers(i, j, blocks, n, seed)
    # The normalisation has multiplied each rotation by the root of its degree; only its direction is asked for.
    return vectors.reshape(n, 3, 3)


def _powers(i: np.ndarray, j: np.ndarray, blocks: np.ndarray, n: int, seed: int) -> np.ndarray:
    """The same by powers of (M + I)/2, whose eigenvalues are between 0 and 1."""
    v = np.linalg.qr(np.random.default_rng(seed).standard_normal((3 * n, 3)))[0]
    back = blocks.transpose(0, 2, 1)
    for _ in range(_POWERS):
        parts = v.reshape(n, 3, 3)
        image = parts.copy()
        np.add.at(image, i, blocks @ parts[j])
        np.add.at(image, j, back @ parts[i])
        v = np.linalg.qr(image.reshape(3 * n, 3))[0]
    return v


def _rounded(blocks: np.ndarray) -> np.ndarray:
    """The rotation nearest to each block; eigenvectors of the other handedness are turned over first."""
    if np.sum(np.linalg.det(blocks) < 0) * 2 > len(blocks):
        blocks = -blocks
    left, _, right = np.linalg.svd(blocks)
    left[:, :, 2] *= np.sign(np.linalg.det(left @ right))[:, None]
    return left @ right


def _quaternions(r: np.ndarray) -> np.ndarray:
    """The unit quaternion of each rotation: the leading eigenvector of a symmetric 4×4 matrix, well defined for all."""
    k = np.empty((len(r), 4, 4))
    k[:, 1:, 1:] = r + r.transpose(0, 2, 1)
    trace = np.trace(r, axis1=1, axis2=2)
    k[:, 1:, 1:] -= trace[:, None, None] * np.eye(3)
    k[:, 0, 0] = trace
    axis = np.stack([r[:, 2, 1] - r[:, 1, 2], r[:, 0, 2] - r[:, 2, 0], r[:, 1, 0] - r[:, 0, 1]], axis=1)
    k[:, 0, 1:] = k[:, 1:, 0] = axis
    return np.linalg.eigh(k)[1][:, :, -1]
