"""Rows of a table on a basis that is known, by least absolute deviations: minimise ‖x − Bᵀu‖₁ for each row x.

A row that was not seen in training may be ruined in some entries too, so least squares would not do. The problems are
linear, small and as many as there are rows: they are solved side by side on the host, and nothing is compiled. Weighted
least squares come near the minimum, edges lead from a vertex there to the one that is it, which a dual vector tells;
the few rows that do not come to that end are handed to a linear program.
"""

from __future__ import annotations

import numpy as np
from scipy import optimize, sparse

# Widths of the weights 1/max(|r|, width), beside the largest entry of a row: from all entries alike to the good alone.
_WIDTHS = np.geomspace(1.0, 1e-9, 20)
# Residuals below this share of a row's largest entry are zeros of the vertex.
_ZERO = 1e-8
# Vertices visited at most for each coordinate, before a row is given up.
_EDGES = 20
# Residuals that vanish together leave no edge to choose. Shifts of this share of a row, one a column, tell them apart,
# and what is dual to the shifted row is dual to the row itself: where a residual is zero, any sign will do.
_SHIFT = 1e-10
# Numbers in the normal matrices of one batch of rows.
_BATCH = 2**22


def project(x: np.ndarray, basis: np.ndarray, seen: np.ndarray | None = None) -> np.ndarray:
    """The coordinates u of each row of x in the rows of `basis`, by least absolute deviations over what was seen.

    Parameters
    ----------
    x : ndarray of shape (n, p)
        What was not seen may be NaN.
    basis : ndarray of shape (k, p)
        Orthonormal rows.
    seen : ndarray of bool of shape (n, p), optional
        Which entries count; all by default.

    Returns
    -------
    ndarray of shape (n, k)
        Of rows with fewer seen entries than coordinates, the shortest u.
    """
    seen = np.ones(x.shape, bool) if seen is None else seen
    x = np.where(seen, x, 0.0)
    step = max(_BATCH // max(basis.shape[0] ** 2, basis.shape[1]), 1)
    parts = [_batch(x[i : i + step], basis.T, seen[i : i + step]) for i in range(0, len(x), step)]
    return np.concatenate(parts) if parts else np.zeros((0, len(basis)))


def _batch(x: np.ndarray, b: np.ndarray, seen: np.ndarray) -> np.ndarray:
    scale = np.max(np.abs(x), axis=1, keepdims=True)
    scale[scale == 0] = 1.0
    x = x / scale
    weights = seen.astype(float)
    for width in _WIDTHS:
        u = _weighted(x, b, weights)
        weights = seen / np.maximum(np.abs(x - u @ b.T), width)
    zero = seen & (np.abs(x - u @ b.T) <= _ZERO)
    exact = _weighted(x, b, zero.astype(float))
    left = np.flatnonzero(~_is_least(x - exact @ b.T, b, seen, zero))
    exact[left], done = _walked(x[left], b, seen[left], u[left])
    for i in left[~done]:
        exact[i] = _program(x[i, seen[i]], b[seen[i]], exact[i])
    return exact * scale


def _weighted(x: np.ndarray, b: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """argmin Σ w (x − bu)² for each row, the shortest where there are many."""
    return (_inverses(b, weights) @ ((weights * x) @ b)[:, :, None])[:, :, 0]


def _inverses(b: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(Bᵀ diag(w) B)† for each row of weights."""
    products = (b[:, :, None] * b[:, None, :]).reshape(len(b), -1)
    gram = (weights @ products).reshape(len(weights), b.shape[1], b.shape[1])
    return np.linalg.pinv(gram, rcond=1e-14, hermitian=True)


def _is_least(r: np.ndarray, b: np.ndarray, seen: np.ndarray, zero: np.ndarray) -> np.ndarray:
    """Whether a dual vector, sign(r) off the zeros and of least norm on them, is within [−1, 1] and orthogonal to B."""
    signs = np.where(seen & ~zero, np.sign(r), 0.0)
    pulled = signs @ b
    dual = -np.where(zero, (_inverses(b, zero.astype(float)) @ pulled[:, :, None])[:, :, 0] @ b.T, 0.0)
    orthogonal = np.max(np.abs((signs + dual) @ b), axis=1, initial=0.0) <= 1e-8 * (1 + np.sum(np.abs(signs), axis=1))
    kept = np.max(np.where(zero, np.abs(r), 0.0), axis=1, initial=0.0) <= _ZERO
    return orthogonal & kept & (np.max(np.abs(dual), axis=1, initial=0.0) <= 1 + 1e-9)


def _walked(x: np.ndarray, b: np.ndarray, seen: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From the vertex of the smallest residuals along edges to the one where no edge leads down; and who got there.

    At a vertex the residuals of as many entries as there are coordinates are zero. An edge lets go of one of them.
    """
    k, rows = b.shape[1], np.arange(len(x))
    shifted = x + _SHIFT * np.random.default_rng(0).uniform(-1, 1, len(b))
    sizes = np.where(seen, np.abs(x - u @ b.T), np.inf)
    held = np.argsort(sizes, axis=1)[:, :k]
    u, done = u.copy(), np.zeros(len(x), bool)
    for _ in range(_EDGES * k):
        inverse, regular = _inverted(b[held[rows]])
        rows, inverse = rows[regular], inverse[regular]
        if not rows.size:
            break
        u[rows], at = (
            (inverse @ np.take_along_axis(each[rows], held[rows], 1)[:, :, None])[:, :, 0] for each in (x, shifted)
        )
        r = np.where(seen[rows], shifted[rows] - at @ b.T, 0.0)
        np.put_along_axis(r, held[rows], 0.0, 1)
        dual = ((np.sign(r) @ b)[:, None, :] @ inverse)[:, 0, :]
        worst = np.argmax(np.abs(dual), axis=1)
        slope = np.take_along_axis(dual, worst[:, None], 1)[:, 0]
        down = np.abs(slope) > 1 + 1e-10
        done[rows[~down]] = True
        rows, worst = rows[down], worst[down]
        way = inverse[down, :, worst] * np.sign(slope[down])[:, None]
        held[rows, worst] = _end_of_edge(r[down], np.where(seen[rows], way @ b.T, 0.0))
    return u, done


def _inverted(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The inverses, and which of the matrices have one."""
    sizes = np.linalg.svd(matrices, compute_uv=False)
    regular = sizes[:, -1] > 1e-12
    matrices = np.where(regular[:, None, None], matrices, np.eye(matrices.shape[1]))
    return np.linalg.inv(matrices), regular


def _end_of_edge(r: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """The entry whose residual is zero at the minimum of Σ |r − t a| over t > 0: a weighted median of r/a."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(r * slopes > 0, r / slopes, np.inf)
    order = np.argsort(t, axis=1)
    weights = np.abs(np.take_along_axis(slopes, order, 1))
    # Beyond each kink the slope grows by twice its weight; before the first it is what all of them add up to.
    ahead = np.where(r == 0, np.abs(slopes), -slopes * np.sign(r)).sum(axis=1, keepdims=True)
    last = np.argmax(ahead + 2 * np.cumsum(weights, axis=1) >= 0, axis=1)
    return np.take_along_axis(order, last[:, None], 1)[:, 0]


def _program(x: np.ndarray, b: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """The row's linear program, x = bu + s − t with the least sum of s, t ≥ 0."""
    m, k = b.shape
    one = sparse.eye_array(m)
    found = optimize.linprog(  # type: ignore[attr-defined]
        np.r_[np.zeros(k), np.ones(2 * m)],
        A_eq=sparse.hstack([sparse.csr_array(b), one, -one], format="csr"),
        b_eq=x,
        bounds=[(None, None)] * k + [(0, None)] * (2 * m),
        method="highs",
    )
    better = found.x is not None and np.sum(np.abs(x - b @ found.x[:k])) < np.sum(np.abs(x - b @ otherwise))
    return found.x[:k] if better else otherwise
