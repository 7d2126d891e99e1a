"""Derivatives of functions that nothing but values is known of, by differences with steps that are judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

Values = Callable[[np.ndarray], np.ndarray]
"""A function of a flat vector with a flat vector for its image, NaN where it is not defined."""

_EPS = float(np.finfo(np.float64).eps)
# Central differences at h and h/2, extrapolated, are off by h⁴ and eps/h: they balance here. On one side it is h³.
_CENTRAL, _ONE_SIDED = _EPS**0.2, _EPS**0.25
# A column that is right to this share, as far as its differences tell, is right enough.
_ENOUGH = 1e-9
# Steps that are tried, in units of the first: the scale of a parameter may have been misjudged either way.
_FACTORS = (1.0, 1e-2, 1e-4, 1e-6, 1e2, 1e4)
# A parameter that came close to zero still has a scale: this share of its typical size.
_SMALLEST = 1e-3


@dataclass(frozen=True)
class Range:
    """Where a function may be called, and the size that its parameters typically have."""

    lower: np.ndarray
    upper: np.ndarray
    typical: np.ndarray

    @classmethod
    def around(cls, x: np.ndarray, lower: np.ndarray | None = None, upper: np.ndarray | None = None) -> Range:
        """The range with these ends, all numbers by default, and the sizes of x, 1 where it is zero."""
        free = np.full(x.shape, np.inf)
        size = np.abs(x)
        return cls(-free if lower is None else lower, free if upper is None else upper, np.where(size > 0, size, 1.0))

    def inside(self, x: np.ndarray) -> np.ndarray:
        """The nearest point that is in the range."""
        return np.clip(x, self.lower, self.upper)


class _Estimate(NamedTuple):
    column: np.ndarray
    error: float


@np.errstate(all="ignore")
def jacobian(f: Values, x: np.ndarray, image: np.ndarray, within: Range) -> np.ndarray:
    """The derivative of f at x, where its image is known, a column for each parameter.

    Four values a column as a rule: two central differences, extrapolated. f is never called outside the range; at its
    ends, and at those of its domain, differences are one-sided. A step whose two differences disagree is replaced.
    """
    if not np.all(np.isfinite(image)):
        return np.full((image.size, x.size), np.nan)
    columns = [_column(f, x, i, image, within) for i in range(x.size)]
    return np.stack(columns, axis=1) if columns else np.zeros((image.size, 0))


def _column(f: Values, x: np.ndarray, place: int, image: np.ndarray, within: Range) -> np.ndarray:
    low, high = x[place] - within.lower[place], within.upper[place] - x[place]
    if not max(low, high) > 0:
        # A parameter that cannot move has no say in any step.
        return np.zeros_like(image)

    def moved(step: float) -> tuple[np.ndarray, float]:
        there = x.copy()
        there[place] = np.clip(x[place] + step, within.lower[place], within.upper[place])
        # The step that the arithmetic has taken, rather than the one that was asked for.
        return f(there), float(there[place] - x[place])

    scale = max(abs(x[place]), _SMALLEST * within.typical[place])
    best = _Estimate(np.full_like(image, np.nan), np.inf)
    for factor in _FACTORS:
        for found in _estimates(moved, image, factor * scale, low, high):
            best = min(best, found, key=lambda each: each.error)
        if best.error <= _ENOUGH * float(np.linalg.norm(best.column)):
            break
    return best.column


def _estimates(
    moved: Callable[[float], tuple[np.ndarray, float]], image: np.ndarray, scale: float, low: float, high: float
) -> Iterator[_Estimate]:
    """The central difference where there is room for it and f is defined; else one on each side that has room."""
    step = _CENTRAL * scale
    if min(low, high) >= step:
        found = _central(moved, step)
        if np.isfinite(found.error):
            yield found
            return
    for sign, room in ((1.0, high), (-1.0, low)):
        if room > 0:
            yield _one_sided(moved, image, sign * min(_ONE_SIDED * scale, room))


def _central(moved: Callable[[float], tuple[np.ndarray, float]], step: float) -> _Estimate:
    slopes = []
    for h in (step, step / 2):
        (above, up), (below, down) = moved(h), moved(-h)
        slopes.append(_quotient(above - below, up - down))
    return _judged(slopes[1] + (slopes[1] - slopes[0]) / 3, slopes[1] - slopes[0], above, step)


def _one_sided(moved: Callable[[float], tuple[np.ndarray, float]], image: np.ndarray, step: float) -> _Estimate:
    slopes = []
    for h in (step, step / 2, step / 4):
        there, taken = moved(h)
        slopes.append(_quotient(there - image, taken))
    once = [2 * slopes[1] - slopes[0], 2 * slopes[2] - slopes[1]]
    return _judged(once[1] + (once[1] - once[0]) / 3, once[1] - once[0], image, abs(step) / 8)


def _quotient(change: np.ndarray, step: float) -> np.ndarray:
    return change / step if step else np.full_like(change, np.nan)


def _judged(column: np.ndarray, change: np.ndarray, image: np.ndarray, step: float) -> _Estimate:
    """What extrapolation leaves of two differences' disagreement is its square; of rounding, it leaves all."""
    size, apart = float(np.linalg.norm(column)), float(np.linalg.norm(change))
    error = _EPS * float(np.linalg.norm(image)) / step + (apart * apart / size if size else 0.0)
    return _Estimate(column, (error if size else apart) if np.isfinite(error) and np.isfinite(size) else np.inf)
