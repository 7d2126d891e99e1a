"""What a file of each problem class holds, how it becomes a problem, and how its answer is written down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import gnpolyak as gnp
from gnpolyak.base.tables import Table

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Built:
    """A problem that was made of arrays, and what is to be said about it."""

    problem: gnp.Composite
    found: str
    """What an answer is, with {rank} for the number of factors."""
    data: np.ndarray
    """The data as they should be drawn: a matrix for a class of matrices."""
    places: np.ndarray | None = None
    """Where in `data` each measurement stands, flat; None where in the same order."""
    one: str = "data"
    """What the rows of the data are, in the plural: "data" for numbers that are right or wrong one by one."""


@dataclass(frozen=True)
class Kind:
    """One problem class, as files of it are."""

    holds: str
    """What is in its file, in words."""
    names: tuple[frozenset[str], ...]
    """Sets of arrays any of which will do; those after the first are other ways to say the same."""
    build: Callable[[Arrays], Built]
    answer: Callable[[Any], Arrays]
    """Arrays by name, of the solution x."""
    example: Callable[[], Arrays]
    rank: int | str | None = "auto"
    """The rank to ask for unless another is given; None where there is none to choose."""
    optional: frozenset[str] = frozenset()

    def fits(self, names: set[str]) -> bool:
        """Whether arrays of these names make a problem of this class."""
        return any(each <= names <= each | self.optional for each in self.names)


KINDS: Table[Kind] = Table("kinds of files")
"""The kinds by the names of their classes, which are those of `gnpolyak.instances`."""


def wrong(kind: str, missing: str, advice: str) -> gnp.InputError:
    """The error for arrays that make no problem of a kind."""
    return gnp.InputError(given=f"a file for {kind}", needed=KINDS[kind].holds, missing=missing, advice=advice)


def numbers(kind: str, arrays: Arrays, name: str, dimensions: int) -> Any:
    """A named array in float64, or InputError unless it is real, finite and of that many dimensions."""
    array = arrays[name]
    if array.dtype.kind == "c" or array.ndim != dimensions:
        what = "complex" if array.dtype.kind == "c" else f"of shape {array.shape}"
        raise wrong(kind, f"{name} is {what}", f"save {name} as a real array of {dimensions} dimensions")
    array = np.asarray(array, dtype=np.float64)
    bad = int(np.sum(~np.isfinite(array)))
    if bad:
        raise wrong(kind, f"{bad:,} of the {array.size:,} numbers in {name} are NaN or infinite", "leave them out")
    return array


def indices(kind: str, arrays: Arrays, name: str) -> np.ndarray:
    """A named vector of whole numbers from 0, or InputError."""
    array = numbers(kind, arrays, name, 1)
    if np.any(array != np.floor(array)) or array.min() < 0 or array.max() > 2**31 - 2:
        raise wrong(kind, f"{name} has numbers that are no indices from 0", "count from 0, in whole numbers")
    return array.astype(np.int64)


def alike(kind: str, arrays: Arrays, *names: str) -> None:
    """Raise InputError unless these arrays have as many rows each."""
    rows = {name: len(arrays[name]) for name in names}
    if len(set(rows.values())) > 1:
        told = ", ".join(f"{name} has {count:,}" for name, count in rows.items())
        raise wrong(kind, f"as many rows in each: {told}", "save one row for each datum")
