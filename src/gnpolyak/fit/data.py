"""What is fitted: the data as they were given, checked and brought to float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from gnpolyak.base.errors import InputError
from gnpolyak.base.numbers import counted

_POLICIES = (None, "raise", "omit")


@dataclass(frozen=True)
class Data:
    """Points and their values."""

    x: Any
    """What the model is called with: float64 where these are numbers, else what was given."""
    y: np.ndarray
    sigma: np.ndarray | None
    """The noise of each value, or its relative size; None where all are alike."""
    kept: np.ndarray | None = None
    """Which of the values that were given these are, where some were left out."""
    given: Any = None
    """The points as they were given, where the model may know them by more than their numbers: a table has columns."""

    @classmethod
    def of(cls, x: Any, y: Any, sigma: Any, nan_policy: Any = None, check_finite: bool | None = None) -> Data:
        """The data of a caller, without those that are not numbers where `nan_policy` is "omit"."""
        if nan_policy not in _POLICIES:
            raise InputError(
                given=f"nan_policy={nan_policy!r}",
                needed="one of None, 'raise' and 'omit'",
                missing="a known policy",
                advice="leave nan_policy out to be told of NaN, or pass 'omit' to leave such points out",
            )
        omit = nan_policy == "omit"
        values = numbers(y, "ydata")
        points = numeric(x)
        deviations = _sigma(sigma, values)
        kept = None
        if omit:
            kept = ~_nan(points, values, deviations)
            points, values = _taken(points, kept, values.shape), values[kept]
            deviations = None if deviations is None else deviations[kept]
        if not values.size:
            raise InputError(
                given="ydata without any number",
                needed="data to fit",
                missing="at least one value",
                advice="look at what was read, and at what nan_policy='omit' has left out",
            )
        _require_finite(values, "ydata")
        if isinstance(points, np.ndarray) and check_finite is not False:
            _require_finite(points, "xdata")
        plain = isinstance(x, (list, tuple, np.ndarray, jax.Array)) or not (kept is None or np.all(kept))
        return cls(points, values, deviations, None if kept is None else np.flatnonzero(kept), points if plain else x)

    @property
    def line(self) -> np.ndarray | None:
        """The points where they are numbers on a line, one for each value; None elsewhere."""
        plain = numeric(self.x)
        return plain if isinstance(plain, np.ndarray) and plain.shape == self.y.shape and plain.ndim == 1 else None


def numbers(value: Any, name: str) -> np.ndarray:
    """Real numbers as a float64 array."""
    if np.ma.isMaskedArray(value) and np.ma.count_masked(value):
        raise InputError(
            given=f"{name} with {counted(int(np.ma.count_masked(value)), 'masked entry', 'masked entries')}",
            needed="a number in each entry",
            missing="those under the mask",
            advice=f"pass {name}.filled(numpy.nan) with nan_policy='omit'",
        )
    try:
        array = np.asarray(value)
        if array.dtype.kind in "iufb" or array.dtype == object:
            return np.atleast_1d(np.array(array, dtype=np.float64))
    except (TypeError, ValueError):
        pass
    raise InputError(
        given=f"{name} of type {type(value).__name__} that is not a rectangular array of real numbers",
        needed="real numbers in an array",
        missing="a numeric type",
        advice=f"convert {name} with numpy.asarray(..., dtype=float) and look at what fails",
    )


def numeric(x: Any) -> Any:
    """The points as a float64 array, where they are numbers; anything else as it is."""
    if isinstance(x, (dict, str)):
        return x
    try:
        array = np.asarray(x)
        return np.asarray(array, dtype=np.float64) if array.dtype.kind in "iuf" else x
    except (TypeError, ValueError):
        return x


def _sigma(sigma: Any, y: np.ndarray) -> np.ndarray | None:
    if sigma is None:
        return None
    given = numbers(sigma, "sigma")
    if given.shape == (y.size, y.size) and y.ndim == 1 and y.size > 1:
        given = _deviations(given)
    if given.shape not in (y.shape, (1,)):
        raise InputError(
            given=f"sigma of shape {given.shape} for ydata of shape {y.shape}",
            needed="one standard deviation for each value, or one for all",
            missing="as many of them",
            advice="pass sigma like ydata",
        )
    spread = np.array(np.broadcast_to(given, y.shape))
    known = ~np.isnan(spread)
    if not np.all((spread[known] > 0) & np.isfinite(spread[known])):
        raise InputError(
            given=f"sigma of which the smallest is {np.min(spread[known]):g} and the largest {np.max(spread[known]):g}",
            needed="positive, finite standard deviations",
            missing="a size for the noise of each value",
            advice="leave out points that carry no information instead of giving them an infinite sigma",
        )
    return spread


def _deviations(covariance: np.ndarray) -> np.ndarray:
    """The standard deviations of a covariance that is diagonal."""
    if np.any(covariance != np.diag(np.diag(covariance))):
        raise InputError(
            given="sigma as a covariance with correlations",
            needed="standard deviations of data that are wrong, or not, one by one",
            missing="independence: decorrelated, one outlier would be spread over all of the data",
            advice="pass sigma=numpy.sqrt(numpy.diag(covariance)) for a robust fit, or scipy.optimize.curve_fit with "
            "the covariance if there are no outliers",
        )
    return np.sqrt(np.diag(covariance))


def _nan(x: Any, y: np.ndarray, sigma: np.ndarray | None) -> np.ndarray:
    bad = np.isnan(y)
    if sigma is not None:
        bad = bad | np.isnan(sigma)
    if isinstance(x, np.ndarray) and x.ndim and x.shape[-1:] == y.shape:
        bad = bad | np.isnan(x).any(axis=tuple(range(x.ndim - 1)))
    return bad


def _taken(x: Any, kept: np.ndarray, shape: tuple[int, ...]) -> Any:
    if isinstance(x, np.ndarray) and x.shape[-1:] == shape:
        return x[..., kept]
    if np.all(kept):
        return x
    raise InputError(
        given=f"nan_policy='omit' with xdata of type {type(x).__name__} and ydata of shape {shape}",
        needed="xdata whose last axis is that of ydata",
        missing="a way to leave out the same points",
        advice="leave them out before the call",
    )


def _require_finite(array: np.ndarray, name: str) -> None:
    bad = int(np.sum(~np.isfinite(array)))
    if bad:
        raise InputError(
            given=f"{name} with {bad} of {array.size} entries NaN or infinite",
            needed="finite numbers",
            missing="a finite value in each of those entries",
            advice="pass nan_policy='omit' to leave points out that are NaN, or remove them",
        )
