"""What a file of each problem class holds, how it becomes a problem, and how its answer is written down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import numpy as np
from matplotlib.figure import Figure

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
    x0: Any = None
    """The start, for a class that has none from the data alone."""
    rank: Any = None
    """The rank that the file itself states."""
    room: int = 0
    """Bytes that a solve takes beyond a few copies of the file."""


class Solved(Protocol):
    """What a picture is drawn of."""

    @property
    def built(self) -> Built:
        """The problem."""

    @property
    def parts(self) -> Arrays:
        """The solution's arrays by name."""

    @property
    def residuals(self) -> np.ndarray:
        """Data less model, in the shape of the data."""

    @property
    def marked(self) -> np.ndarray:
        """True for each number in the data that is wrong."""


Picture = Callable[[Solved], tuple[Figure, str]]
"""A figure and what is to be said under it."""


def columns(x: Any) -> str:
    """How many columns the first factor has: the rank."""
    return str(np.asarray(jax.tree.leaves(x)[0]).shape[-1])


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
    picture: Picture
    rank: int | str | None = "auto"
    """The rank to ask for unless another is given; None where there is none to choose."""
    optional: frozenset[str] = frozenset()
    size: Callable[[Any], str] = columns
    """What {rank} stands for in `Built.found`, of the solution x."""

    def fits(self, names: set[str]) -> bool:
        """Whether arrays of these names make a problem of this class."""
        return any(each <= names <= each | self.optional for each in self.names)


KINDS: Table[Kind] = Table("kinds of files")
"""The kinds by the names of their classes, which are those of `gnpolyak.instances`."""


def wrong(kind: str, missing: str, advice: str) -> gnp.InputError:
    """The error for arrays that make no problem of a kind."""
    return gnp.InputError(given=f"a file for {kind}", needed=KINDS[kind].holds, missing=missing, advice=advice)


def numbers(kind: str, arrays: Arrays, name: str, dimensions: int, *, may_be_complex: bool = False) -> Any:
    """A named array in float64, or complex128 where it may be, or InputError unless finite and of that many axes."""
    array = arrays[name]
    kept = "biufc" if may_be_complex else "biuf"
    if array.dtype.kind not in kept or array.ndim != dimensions:
        types = {"c": "complex", "U": "text"}
        what = f"of shape {array.shape}" if array.dtype.kind in kept else types.get(array.dtype.kind, "no number")
        sort = "an" if may_be_complex else "a real"
        raise wrong(kind, f"{name} is {what}", f"save {name} as {sort} array of {dimensions} dimensions")
    array = np.asarray(array, dtype=np.complex128 if array.dtype.kind == "c" else np.float64)
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


def whole(kind: str, arrays: Arrays, name: str, least: int, most: int) -> int:
    """A named number, or InputError unless it is a whole one in these bounds."""
    array = arrays[name]
    if array.size == 1 and array.dtype.kind in "iuf" and least <= array.item() <= most and array.item() % 1 == 0:
        return int(array.item())
    told = str(array.item()) if array.size == 1 else f"of shape {array.shape}"
    raise wrong(kind, f"{name} is {told[:40]}", f"save {name} as one whole number from {least} to {most}")


def alike(kind: str, arrays: Arrays, *names: str) -> None:
    """Raise InputError unless these arrays have as many rows each."""
    rows = {name: len(arrays[name]) for name in names}
    if len(set(rows.values())) > 1:
        told = ", ".join(f"{name} has {count:,}" for name, count in rows.items())
        raise wrong(kind, f"as many rows in each: {told}", "save one row for each datum")


def enough(kind: str, data: int, unknowns: int) -> None:
    """Raise InputError unless there are at least as many data as unknowns."""
    if data < unknowns:
        raise wrong(kind, f"{data:,} rows for {unknowns:,} unknowns", "give at least as many rows")


def example(name: str, **settings: Any) -> Any:
    """A small instance of a class, to write a file from."""
    return gnp.instances.INSTANCES[name](**settings)
