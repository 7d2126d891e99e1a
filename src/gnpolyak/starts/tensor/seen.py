"""The entries of a tensor that are data."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from types import EllipsisType

import numpy as np

from gnpolyak.base.errors import InputError
from gnpolyak.problem.capabilities import RESIDUALS
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.sensing import Entries

# The largest tensor that is formed: 1 GB.
_LARGEST = 2**27
# The most passes over few entries that stand for one over all of them.
_MOST_PASSES = 10


@dataclass(frozen=True)
class Seen:
    """Data and where they are in the tensor, in double precision."""

    data: np.ndarray
    shape: tuple[int, ...]
    """That of the tensor."""
    index: tuple[np.ndarray, ...] | EllipsisType
    """An array of indices for each axis; all of the tensor where it is an ellipsis."""
    dtype: np.dtype
    """The type that a start is wanted in."""

    @classmethod
    def of(cls, problem: Composite) -> Seen:
        """Those of a penalty of residuals of all or some entries; data of weight zero are none."""
        problem.penalty.require(RESIDUALS, "a start from the data", "pass x0")
        given = np.asarray(problem.penalty.b)  # type: ignore[attr-defined]
        dtype = given.dtype if given.dtype.kind == "f" else np.dtype(np.float64)
        some = isinstance(problem.sensing, Entries)
        shape = problem.sensing.shape if isinstance(problem.sensing, Entries) else given.shape
        _check_shape(shape)
        rows, places = problem.penalty.rows, getattr(problem.sensing, "indices", ())
        index: tuple[np.ndarray, ...] | EllipsisType = tuple(map(np.asarray, places)) if some else ...
        if rows is not None and rows.kept is not None:
            kept = np.asarray(rows.kept)
            index = tuple(axis[kept] for axis in index) if isinstance(index, tuple) else np.unravel_index(kept, shape)
            given = given.ravel()[kept]
        found = cls(given.astype(np.float64), shape, index, dtype)
        found._check_signal()
        return found

    @property
    def passes(self) -> int:
        """How many passes over the data see as many numbers as the tensor has."""
        return min(-(-prod(self.shape) // max(self.data.size, 1)), _MOST_PASSES)

    def left(self, low: np.ndarray) -> np.ndarray:
        """What a tensor leaves of the data, as they lie."""
        return self.data - low[self.index]

    def spread(self, r: np.ndarray) -> np.ndarray:
        """Numbers like the data as a tensor, zero where nothing was seen and divided by the share that was."""
        if isinstance(self.index, EllipsisType):
            return r
        found = np.zeros(self.shape)
        found[self.index] = r * (prod(self.shape) / r.size)
        return found

    def _check_signal(self) -> None:
        if not np.median(np.abs(self.data)) > 0:
            raise InputError(
                given=f"data of shape {self.data.shape}, half of which or more are zero",
                needed="a tensor of data that measure something",
                missing="a signal",
                advice="check how b was filled, or pass an x0 of your own",
            )


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) < 2 or prod(shape) > _LARGEST:
        raise InputError(
            given=f"data of a tensor of shape {shape}",
            needed=f"for a start from them, two axes or more, and at most {_LARGEST:,} entries, seen or not",
            missing="two axes" if len(shape) < 2 else "a tensor that can be formed",
            advice="pass an x0 of your own",
        )
