"""Bounds of parameters, as SciPy's `curve_fit` writes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnpolyak.base.errors import InputError

Box = tuple[np.ndarray, np.ndarray]
"""Lower and upper bounds, infinite where there are none."""


def read_bounds(bounds: Any, n: int, start: np.ndarray | None) -> Box:
    """Lower and upper bounds of n parameters, of which a start must lie between."""
    lower, upper = (_side(side, n, bounds) for side in _sides(bounds))
    if not np.all(lower < upper):
        raise InputError(
            given=f"bounds={bounds!r}",
            needed="lower bounds that are below the upper ones",
            missing="room between them",
            advice="exchange the two; to hold a parameter fixed, use gnpolyak.fit",
        )
    if start is not None and not np.all((start >= lower) & (start <= upper)):
        place = int(np.flatnonzero((start < lower) | (start > upper))[0])
        raise InputError(
            given=f"p0 with {start[place]:g} for parameter {place}, bounded by {lower[place]:g} and {upper[place]:g}",
            needed="a start between the bounds",
            missing="one",
            advice="change p0 or the bounds, or leave p0 out",
        )
    return lower, upper


def _sides(bounds: Any) -> tuple[Any, Any]:
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        return bounds.lb, bounds.ub
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise _unreadable(bounds) from None
    return low, high


def _side(side: Any, n: int, bounds: Any) -> np.ndarray:
    try:
        numbers = np.array(np.broadcast_to(np.asarray(side, dtype=float), (n,)))
    except (TypeError, ValueError):
        raise _unreadable(bounds, n) from None
    if np.any(np.isnan(numbers)):
        raise _unreadable(bounds, n)
    return numbers


def _unreadable(bounds: Any, n: int | None = None) -> InputError:
    many = "each parameter" if n is None else f"each of {n} parameters"
    return InputError(
        given=f"bounds={bounds!r}",
        needed=f"(lower, upper), with one number for all or one for {many}",
        missing="bounds of that shape",
        advice="write bounds=(0, numpy.inf), or bounds=([0, 0, -1], [1, numpy.inf, 1])",
    )
