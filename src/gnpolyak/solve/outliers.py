"""Which measurements are corrupted, by the sizes of their residuals at a sharp solution."""

from __future__ import annotations

import numpy as np

from gnpolyak.problem.composite import Composite

# At a sharp solution good residuals are at rounding level and bad ones are not. A factor of 1,000 between two
# neighbours in size is no accident; without one, nothing is judged.
_GAP = 1e3
# Residuals below this share of the data's median size are those of an exact fit.
_EXACT = 1e-6


def corrupted(residuals: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """The indices of corrupted measurements, or None when good and bad do not separate.

    Sorted by size, the residuals of a sharp solution fall into two groups with a wide gap between them. At least half
    of the measurements must be good.

    Parameters
    ----------
    residuals : ndarray
        A(c(x)) − b.
    b : ndarray
        The data, which set the scale below which a residual is rounding.
    """
    return corrupted_of_each(residuals.reshape(1, -1), b.reshape(1, -1))[0]


def corrupted_of_each(residuals: np.ndarray, b: np.ndarray) -> list[np.ndarray | None]:
    """`corrupted` of each row."""
    sizes = np.abs(residuals)
    if not sizes.shape[1]:
        return [np.array([], dtype=int) for _ in sizes]
    scale = np.median(np.abs(b), axis=1)
    scale = np.where(scale > 0, scale, np.max(np.abs(b), axis=1))
    eps = np.finfo(sizes.dtype).eps
    fitted = sizes.max(axis=1) <= max(_EXACT, 1e3 * eps) * scale
    apart, threshold = _gaps(sizes, eps * scale)
    # Data that are all zero set no scale by which a residual could be called small.
    judged = (scale > 0) & (fitted | apart)
    threshold = np.where(fitted, np.inf, threshold)
    return [
        np.flatnonzero(row > most) if told else None for row, most, told in zip(sizes, threshold, judged, strict=True)
    ]


def _gaps(sizes: np.ndarray, floor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether there is a gap in the upper half of each row, and the last size below it."""
    half = (sizes.shape[1] - 1) // 2
    ordered = np.sort(sizes, axis=1)[:, half:]
    good = np.maximum(ordered[:, :-1], floor[:, None])
    if not good.shape[1]:
        return np.zeros(len(sizes), bool), np.zeros(len(sizes))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = ordered[:, 1:] / good
    widest = np.argmax(ratios, axis=1)
    every = np.arange(len(sizes))
    return ratios[every, widest] >= _GAP, good[every, widest]


def places(problem: Composite, residuals: np.ndarray) -> np.ndarray:
    """Which measurements these residuals are of: data of weight zero have none."""
    rows = problem.penalty.rows
    return residuals if rows is None or rows.kept is None else np.asarray(rows.kept)[residuals]
