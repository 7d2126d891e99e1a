"""What the estimators share: arrays in and out, a table as low rank and garbage, and how a solve is reported."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

import gnpolyak as gnp
from gnpolyak.base import foreign
from gnpolyak.base.errors import InputError
from gnpolyak.base.numbers import is_whole


@dataclass(frozen=True)
class Split:
    """A table as low rank and garbage."""

    left: np.ndarray
    """U, of shape (n, r)."""
    right: np.ndarray
    """V, of shape (p, r): the table is UVᵀ where it is right."""
    result: gnp.Result | None
    """What `minimize` returned; None where the rank allows for any table, and nothing was to be solved."""

    def outliers(self, seen: np.ndarray) -> np.ndarray | None:
        """Which entries are wrong, as a mask; None where good and bad were not told apart."""
        if self.result is None or self.result.outliers is None:
            return None
        mask = np.zeros(seen.shape, bool)
        mask[tuple(index[self.result.outliers] for index in np.nonzero(seen))] = True
        return mask


class Reporting:
    """An estimator that says how its solve ended, in attributes and, where it should be known, in a warning."""

    def _report(self, res: gnp.Result | None) -> None:
        # Noise is how a solve of measured data ends, and a robust fit of them: no success, and nothing to be warned of.
        self.status_ = "TARGET_REACHED" if res is None else res.status.name
        self.success_ = res is None or res.success
        self.noise_ = None if res is None else res.noise
        self.n_calls_ = 0 if res is None else res.calls
        if res is not None and not res.success and res.status is not gnp.Status.NOISE:
            warnings.warn(f"{type(self).__name__}: {res.message}", ConvergenceWarning, stacklevel=3)

    def _unjudged(self, why: str) -> None:
        warnings.warn(f"{type(self).__name__}: {why}", UserWarning, stacklevel=3)

    def _require_signal(self, largest: float, edge: float) -> None:
        if edge and largest <= edge:
            self._unjudged("nothing stands out of the noise: no singular value is larger than noise alone would have")


def validated(estimator: Any, x: Any, y: Any = "no_validation", **checks: Any) -> Any:
    """The data as float64, checked as scikit-learn does; tensors by DLPack, tables with the names of their columns."""
    x, y = (foreign.plain(each, name) if foreign.is_torch(each) else each for each, name in ((x, "X"), (y, "y")))
    return validate_data(estimator, x, y, dtype=np.float64, **checks)


def returned(given: Any, array: np.ndarray) -> Any:
    """An array as a tensor, where one was given."""
    return foreign.like(given, array) if foreign.is_torch(given) else array


def split(x: np.ndarray, seen: np.ndarray, rank: int | str, max_calls: int | None) -> Split:
    """Minimise Σ |(UVᵀ)ᵢⱼ − xᵢⱼ| over what was seen."""
    smallest = min(x.shape)
    if np.all(seen) and (rank if isinstance(rank, int) else 1) >= smallest:
        return Split(x, np.eye(x.shape[1]), None) if x.shape[1] == smallest else Split(np.eye(len(x)), x.T, None)
    _require_entries(x[seen])
    sensing = None if np.all(seen) else gnp.Entries(seen)
    problem = gnp.composite(gnp.LowRank(), gnp.L1(x if sensing is None else x[seen]), sensing=sensing)
    res = gnp.minimize(problem, rank=rank, max_calls=max_calls, polish=True)
    left, right = res.x
    return Split(left, right, res)


def _require_entries(values: np.ndarray) -> None:
    zero = float(np.mean(values == 0))
    if zero >= 0.5:
        raise InputError(
            given=f"a table of which {zero:.0%} of the entries are exactly zero",
            needed="mostly other entries",
            missing="a signal: by least absolute deviations the zero table explains this one",
            advice="mark what was not measured as NaN for RobustCompletion; counts are sklearn.decomposition.NMF's",
        )


def noise_edge(noise: float | None, seen: np.ndarray) -> float:
    """σ (√n + √p)/√share, the largest singular value of nothing but noise in a table of which a share was seen."""
    n, p = seen.shape
    return (noise or 0.0) * (np.sqrt(n) + np.sqrt(p)) / np.sqrt(np.mean(seen))


def checked_components(given: Any, most: int) -> int | str:
    """n_components as a number between 1 and the smaller side of the table, or "auto"."""
    if isinstance(given, str) and given == "auto":
        return "auto"
    if not is_whole(given, 1) or given > most:
        raise InputError(
            given=f"n_components={given!r} for a table whose smaller side is {most}",
            needed=f"a whole number between 1 and {most}, or 'auto'",
            missing="a valid number of components",
            advice="leave n_components at 'auto' if it is not known",
        )
    return int(given)


def checked_flag(name: str, given: Any) -> bool:
    """A True or False that is one."""
    if not isinstance(given, (bool, np.bool_)):
        raise InputError(
            given=f"{name}={given!r}", needed="True or False", missing=f"a valid {name}", advice=f"leave {name} out"
        )
    return bool(given)
