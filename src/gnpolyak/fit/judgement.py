"""How good a fit is: a scale that outliers have no say in, the covariance, and whether it looks poor."""

from __future__ import annotations

import numpy as np

from gnpolyak.solve.finish import noise_scale
from gnpolyak.solve.uncertainty import covariance_of, gram_inverse
from gnpolyak.steps.weights import MAD, TUKEY

# Tukey's ρ with this end has the mean ½ at the normal law: half of the data may be anything.
_HALF = 1.547
# Where Tukey's weights end when a fit does, in units of the noise, and their efficiency at the normal law.
_END, _EFFICIENCY = 5.92, 0.98
# Of normal noise one in two thousand lies beyond this; and how often the rest is looked for.
_WITHIN, _ROUNDS = 3.5, 50
# A fit whose residuals are half as wide as those of a constant explains little; more outliers than this are no few.
_LITTLE, _MANY = 0.5, 0.4
# Fewer changes of sign than chance allows, by this many of its standard deviations: there is a shape in the residuals.
_CHANGES = 4.0
# A step that would move the fit by half of its own standard error is no end.
_MOVED = 0.5


def scale(r: np.ndarray, variables: int = 0) -> float:
    """An M-scale of the residuals r: the s at which Tukey's ρ(r/s) has the mean (1 − n/m)/2, and 0 for exact fits."""
    size = np.abs(np.where(np.isfinite(r), r, np.inf))
    wanted = 0.5 * (1 - min(variables / size.size, 0.5))
    s = MAD * float(np.median(size)) or float(np.min(size, where=size > 0, initial=np.inf))
    if not 0 < s < np.inf:
        return 0.0 if s == 0 or np.all(size == 0) else np.inf
    for _ in range(60):
        u = np.minimum(size / (_HALF * s), 1.0) ** 2
        share = float(np.mean(u * (3 - 3 * u + u * u))) / wanted
        if abs(share - 1) < 1e-6:
            break
        # Newton's step for log s, within a factor of two. Where too few residuals are not zero, s falls to nothing.
        slope = 6 * float(np.mean(u * (1 - u) ** 2)) / wanted
        s *= float(np.clip(np.exp((share - 1) / slope), 0.5, 2.0)) if slope > 0 else share**0.5
    return s


def noise(r: np.ndarray, variables: int) -> float:
    """The standard deviation of the residuals that are no outliers.

    Medians begin, since nothing bad has a say in them; but of few data they are often too small by half. From there the
    standard deviation of what lies within 3.5 of itself is taken until it stays, which of normal noise loses nothing.
    """
    size = np.abs(r)
    s, half = noise_scale(r, variables), float(np.median(size))
    for _ in range(_ROUNDS):
        good = size <= max(_WITHIN * s, half)
        spread = float(np.sqrt(np.sum(size[good] ** 2) / max(int(np.sum(good)) - variables, 1)))
        if abs(spread - s) <= 1e-6 * s:
            break
        s = spread
    return s


def covariance(r: np.ndarray, matrix: np.ndarray, sigma: float, absolute: bool, free: np.ndarray) -> np.ndarray:
    """The covariance of a fit from its residuals and their derivative, both in units of the data's sigma.

    It is infinite where the data do not determine all parameters, or leave nothing over to tell the noise by. Those
    that are held by a bound are not free: they have no variance, and add none to that of the others.
    """
    if not np.all(free):
        whole = np.zeros((free.size, free.size))
        whole[np.ix_(free, free)] = covariance(r, matrix[:, free], sigma, absolute, free[free])
        return whole
    n = matrix.shape[1]
    if not n:
        return np.zeros((0, 0))
    good = np.abs(r) <= max(TUKEY * sigma, 0.0)
    inverse, rank = gram_inverse(matrix[good])
    if rank < n or (not absolute and int(np.sum(good)) <= n) or not np.all(np.isfinite(inverse)):
        return np.full((n, n), np.inf)
    if absolute:
        return inverse / _EFFICIENCY
    # Residuals that are zero, one and all, have no spread.
    return covariance_of(r, matrix, sigma) if sigma > 0 else 0.0 * inverse


def has_ended(r: np.ndarray, matrix: np.ndarray, sigma: float, free: np.ndarray) -> bool:
    """Whether a step with Tukey's weights at the noise would move the fit by less than its standard error.

    Only parameters that are not held by a bound are free to move.
    """
    u = np.minimum(np.abs(r) / (_END * sigma), 1.0)
    root = (1 - u * u)[:, None] * matrix[:, free]
    step, *_ = np.linalg.lstsq(root, (1 - u * u) * r, rcond=None)
    return bool(np.linalg.norm(root @ step) <= _MOVED * sigma * max(free.sum(), 1) ** 0.5)


def is_poor(r: np.ndarray, y: np.ndarray, points: np.ndarray | None, sigma: float) -> bool:
    """Whether a fit looks as if there were a better one: little is explained, or there is a shape in what is left."""
    spread = scale(y - np.median(y))
    if not np.all(np.isfinite(r)) or scale(r) > _LITTLE * spread > 0:
        return True
    good = np.abs(r) <= TUKEY * sigma
    if 1 - np.mean(good) > _MANY:
        return True
    return points is not None and _changes(r[np.argsort(points, kind="stable")]) < -_CHANGES


def _changes(r: np.ndarray) -> float:
    """How many more changes of sign there are than chance would make, in standard deviations."""
    sign = np.sign(r[r != 0])
    if sign.size < 8:
        return 0.0
    chances = sign.size - 1
    return float((np.sum(sign[1:] != sign[:-1]) - chances / 2) / (chances / 4) ** 0.5)
