"""Rows that are made when they are needed, and never stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.numbers import is_whole, require_seed
from gnpolyak.base.streams.sources import DTYPES, Source

# Numbers of one draw from a seed: enough that setting up its generator is nothing beside it.
_DRAWN = 2**16


class GeneratedRows(Source):
    """Rows that a function makes, again in every pass: for `PowerSensing`, `BilinearSensing` and `LinearSensing`.

    Parameters
    ----------
    make : callable
        ``make(start, stop)`` returns the rows start:stop, an array of shape (stop − start, …), and always the same
        ones, however the rows are cut into blocks. It is called from a thread of its own, one call at a time.
    shape : tuple of int
        Of all rows, (m, d).
    dtype : dtype
        float32, float64, or complex numbers of these.

    Examples
    --------
    >>> import numpy as np, gnpolyak as gnp
    >>> rows = gnp.GeneratedRows(lambda start, stop: np.vander(np.arange(start, stop) / 100, 3), (100, 3))
    >>> rows[10:12]
    array([[0.01  , 0.1   , 1.    ],
           [0.0121, 0.11  , 1.    ]])
    """

    workers = 1

    def __init__(self, make: Callable[[int, int], Any], shape: tuple[int, ...], dtype: Any = np.float64) -> None:
        if not callable(make):
            raise InputError(
                given=f"make of type {type(make).__name__}",
                needed="a function make(start, stop) of two row numbers",
                missing="something to call",
                advice="pass arrays as they are; for random rows there is GeneratedRows.gaussian(seed, shape)",
            )
        self.shape, self.dtype = _shape(shape), _dtype(dtype)
        self._make = make

    @classmethod
    def gaussian(cls, seed: int, shape: tuple[int, ...], dtype: Any = np.float64) -> GeneratedRows:
        """Independent standard normal numbers from a seed; of a complex dtype, each with E|p|² = 1.

        The same seed, shape and dtype give the same rows, whichever of them are asked for.

        Parameters
        ----------
        seed : int
            Another one for each matrix.
        shape : tuple of int
        dtype : dtype
        """
        require_seed(seed)
        return _Gaussian(seed, shape, dtype)

    @property
    def label(self) -> str:
        return f"rows made by {getattr(self._make, '__name__', type(self._make).__name__)}"

    def __getitem__(self, rows: slice) -> np.ndarray:
        start, stop, step = rows.indices(self.shape[0])
        places = np.arange(start, stop, step)
        return self.take(places) if step > 0 and len(places) else np.empty((0, *self.shape[1:]), self.dtype)

    def read(self, start: int, stop: int, out: np.ndarray) -> None:
        made = np.asarray(self._make(start, stop))
        if made.shape != out.shape or made.dtype.kind not in ("biuf" if self.dtype.kind == "f" else "biufc"):
            raise InputError(
                given=f"make({start}, {stop}) that returned shape {made.shape} and dtype {made.dtype}",
                needed=f"an array of shape {out.shape} that {self.dtype} can hold",
                missing="the rows that were asked for",
                advice="return rows start to stop − 1, all of their entries; the last block may be shorter",
            )
        out[...] = made


class _Gaussian(GeneratedRows):
    workers = 2

    def __init__(self, seed: int, shape: tuple[int, ...], dtype: Any) -> None:
        super().__init__(self._rows_of, shape, dtype)
        self._seed = int(seed)
        width = int(np.prod(self.shape[1:]))
        # A power of two, so that the grains of two matrices of one problem fit each other.
        self.grain = 2 ** int(np.clip(np.log2(max(_DRAWN // width, 1)), 0, 10))

    @property
    def label(self) -> str:
        return f"Gaussian rows of seed {self._seed}"

    def read(self, start: int, stop: int, out: np.ndarray) -> None:
        for first in range(start - start % self.grain, stop, self.grain):
            begin, end = max(first, start), min(first + self.grain, stop)
            whole = end - begin == self.grain
            drawn = self._drawn(first, out[begin - start : end - start] if whole else None)
            if not whole:
                out[begin - start : end - start] = drawn[begin - first : end - first]

    def take(self, places: np.ndarray) -> np.ndarray:
        out = np.empty((len(places), *self.shape[1:]), self.dtype)
        firsts = places - places % self.grain
        for first in np.unique(firsts):
            ours = firsts == first
            out[ours] = self._drawn(int(first))[places[ours] - first]
        return out

    def _drawn(self, first: int, out: np.ndarray | None = None) -> np.ndarray:
        """The rows from `first` on that come from one generator, a whole grain also at the end."""
        out = np.empty((self.grain, *self.shape[1:]), self.dtype) if out is None else out
        rng = np.random.Generator(np.random.Philox(key=np.array([self._seed % 2**64, first // self.grain], np.uint64)))
        numbers = out.view(out.real.dtype) if self.dtype.kind == "c" else out
        rng.standard_normal(out=numbers, dtype=numbers.dtype.type)
        if self.dtype.kind == "c":
            numbers *= numbers.dtype.type(0.5**0.5)
        return out

    def _rows_of(self, start: int, stop: int) -> np.ndarray:
        return self.rows(start, stop)


def _shape(shape: Any) -> tuple[int, ...]:
    sides = tuple(shape) if isinstance(shape, (tuple, list)) else ()
    if len(sides) < 2 or not all(is_whole(side, 1) for side in sides):
        raise InputError(
            given=f"shape={shown(shape)}",
            needed="the shape (m, d) of all rows, whole numbers of at least 1",
            missing="a valid shape",
            advice="pass the number of rows and the length of one",
        )
    return tuple(int(side) for side in sides)


def _dtype(given: Any) -> np.dtype:
    try:
        dtype = np.dtype(given)
    except TypeError:
        dtype = np.dtype(object)
    if dtype not in DTYPES:
        raise InputError(
            given=f"dtype={shown(given)}",
            needed="float32, float64, complex64 or complex128",
            missing="a precision that the linear algebra is done in",
            advice="leave dtype out for float64",
        )
    return dtype
