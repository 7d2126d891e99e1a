"""Some entries of an image: completion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

import jax
import numpy as np

from gnpolyak.base import arrays, trees
from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.modules import Module, field
from gnpolyak.base.namespace import Array, sums
from gnpolyak.base.numbers import COUNTABLE, is_whole
from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import ENTRIES, Capability
from gnpolyak.problem.maps import LowRank, Map, SymmetricCP
from gnpolyak.problem.sensing.base import Sensing, prepared


class Entries(Sensing):
    """A(M)ₖ = M[iₖ, jₖ, …]: the entries that were seen, one a datum; nothing else of M is formed.

    With the L1 penalty, on a CPU, what is needed of the entries of a `LowRank` matrix is one pass over them in compiled
    C++ (`gnpolyak.native`), where that is installed.

    Parameters
    ----------
    indices : array_like of int
        ``Entries(rows, cols)`` for a matrix, one array of whole numbers for each axis of a tensor; in any order,
        which is that of the data. Or ``Entries(mask)``: True where an entry was seen; the data are then those that
        ``M[mask]`` gives.
    shape : tuple of int, optional
        The shape of M; by default that of the mask, or the smallest that has all these entries.

    Examples
    --------
    >>> import numpy as np, gnpolyak as gnp
    >>> table = np.outer([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    >>> table[1, 2] = np.nan
    >>> seen = ~np.isnan(table)
    >>> problem = gnp.composite(gnp.LowRank(), gnp.L1(table[seen]), sensing=gnp.Entries(seen))
    >>> u, v = gnp.minimize(problem, rank=1).x
    >>> float(np.round((u @ v.T)[1, 2], 6))
    12.0
    """

    over_xp: ClassVar[bool] = True
    needs: ClassVar[Capability] = ENTRIES
    indices: tuple[Array, ...]
    sweep: Sweep | None
    """The order in which a pass goes over the entries of a matrix."""
    shape: tuple[int, ...] = field(static=True)
    used: Array | None
    """How many of the entries count, from the first on; None for all. The others are zero of every image."""

    def __init__(self, *indices: Any, shape: tuple[int, ...] | None = None) -> None:
        given, least = _axes(indices)
        self.shape = _shape(least, shape)
        self.indices = tuple(arrays.on_device(axis, np.int32) for axis in given)
        self.sweep = Sweep.of(*given) if len(given) == 2 else None
        self.used = None

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Sensing, Map, Any]]:
        yield cls([0, 3, 3, 1], [2, 0, 2, 2]), LowRank(), (rng.standard_normal((4, 2)), rng.standard_normal((3, 2)))
        yield cls(rng.random((4, 5)) < 0.5), LowRank(), (rng.standard_normal((4, 2)), rng.standard_normal((5, 2)))
        yield cls([0, 2], [1, 1], [2, 0]), SymmetricCP(3), rng.standard_normal((3, 2))

    def apply(self, image: Array) -> Array:
        return self.counted(image[self.indices])

    def adjoint(self, image: Array, v: Array) -> Array:
        places: Any = 0
        for index, size in zip(self.indices, image.shape, strict=True):
            places = places * size + index
        return sums(self.xp, self.counted(v), places, image.size).reshape(image.shape)

    def counted(self, z: Array) -> Array:
        """The measurements, with zeros for those that do not count."""
        return z if self.used is None else self.xp.where(self.xp.arange(len(z)) < self.used, z, 0)

    def block(self, start: int, stop: int, size: int | None = None) -> Self:
        indices = tuple(arrays.part(axis, start, stop, size) for axis in self.indices)
        some = self._with(indices=indices)
        if self.sweep is not None:
            sweep = self.sweep.like(indices[0], indices[1], stop - start, self.shape)
            some = some._with(sweep=sweep)
        if size is None:
            return some
        used = np.asarray(stop - start, np.int32)
        return some._with(used=used, is_leaf=lambda each: each is None)

    def like(self, rows: Callable[[Any], Any]) -> Entries:
        return Entries(*(rows(axis) for axis in self.indices), shape=self.shape)

    def measure(self, c: Map, x: Tree) -> tuple[Array, Callable[[Array], Tree]]:
        z, pull = self._seen(c, x)
        return self.counted(z), lambda v: pull(self.counted(v))

    def push(self, c: Map, x: Tree) -> Callable[[Tree], Array]:
        along = c.entries_linearized(x, self.indices)[0]
        return lambda z: self.counted(along(z))

    def _seen(self, c: Map, x: Tree) -> tuple[Array, Callable[[Array], Tree]]:
        """The entries and their pullback; in JAX, of a map that does not write it, by one pass of autodiff."""
        if c.xp is np or type(c).entries_linearized is not Map.entries_linearized:
            back = prepared(c.xp, lambda: c.entries_linearized(x, self.indices)[1])
            return c.entries(x, self.indices), back
        z, pull = jax.vjp(lambda x: c.entries(x, self.indices), x)
        return z, trees.adjoint(lambda v: pull(v)[0])

    def check_image(self, c: Map, x: Tree) -> None:
        image = c.image(x).shape
        if len(image) != len(self.shape) or any(a > b for a, b in zip(self.shape, image, strict=True)):
            raise InputError(
                given=f"entries of an array of shape {self.shape} and an image of shape {image}",
                needed="an index for each axis of the image, counted from 0",
                missing="an image that has these entries",
                advice="check the shape of x0, and that rows and columns are in the image's order",
            )


class Sweep(Module):
    """The entries of a matrix sorted by the longer axis, so that each of its rows is read and written once.

    They are cut into parts of whole rows by their number alone: sums are the same whoever computes which part.
    """

    major: Array
    minor: Array
    order: Array
    """Where each of the sorted entries lies among the data; empty where they lie in this order."""
    bounds: Array
    """The first entry of each part, and the end."""
    transposed: bool = field(static=True)
    """Whether the longer axis is that of the columns."""

    @classmethod
    def of(cls, rows: np.ndarray, columns: np.ndarray) -> Sweep:
        """The sweep over these entries."""
        transposed = bool(columns.max() > rows.max())
        major, minor = (columns, rows) if transposed else (rows, columns)
        width = int(minor.max()) + 1
        order = _order(major, minor, width)
        if np.all(order[1:] > order[:-1]):
            order = order[:0]
        else:
            major, minor = major[order], minor[order]
        parts = [arrays.on_device(each, np.int32) for each in (major, minor, order, _bounds(major, width))]
        return cls(parts[0], parts[1], parts[2], parts[3], transposed)

    def like(self, rows: np.ndarray, columns: np.ndarray, used: int, shape: tuple[int, ...]) -> Sweep:
        """The sweep over the first `used` of some entries of the same matrix; its arrays have sizes that do not vary.

        Of all blocks of one size, so that one program serves them.
        """
        major, minor = (columns, rows) if self.transposed else (rows, columns)
        width = shape[0] if self.transposed else shape[1]
        order = np.arange(len(major))
        order[:used] = _order(major[:used], minor[:used], width)
        major, minor = major[order], minor[order]
        bounds = _bounds(major[:used], width, _parts(len(major), width))
        parts: Any = [np.asarray(each, np.int32) for each in (major, minor, order, bounds)]
        return Sweep(parts[0], parts[1], parts[2], parts[3], self.transposed)


def _order(major: np.ndarray, minor: np.ndarray, width: int) -> np.ndarray:
    """The entries row by row."""
    key = major.astype(np.int64) * width + minor
    return np.arange(len(key)) if np.all(key[1:] >= key[:-1]) else np.argsort(key, kind="stable")


# A part has a sum of its own for the shorter axis: with this many entries for each row of it, the sums are small beside
# the entries. More parts than this share no better.
_ENTRIES_A_ROW, _MOST_PARTS = 4, 32


def _parts(entries: int, width: int) -> int:
    """How many parts so many entries are cut into."""
    return int(np.clip(entries // (_ENTRIES_A_ROW * width), 1, _MOST_PARTS))


def _bounds(major: np.ndarray, width: int, parts: int | None = None) -> np.ndarray:
    """Where parts of about the same size begin, each with a row, and the end; some may be empty."""
    count = _parts(len(major), width) if parts is None else parts
    if not len(major):
        return np.zeros(count + 1, np.int64)
    rows = major[len(major) * np.arange(1, count) // count]
    return np.concatenate([[0], np.searchsorted(major, rows), [len(major)]])


def _axes(indices: tuple[Any, ...]) -> tuple[tuple[np.ndarray, ...], tuple[int, ...]]:
    """Whole numbers, one array an axis, all of one length; and the least shape of what they are indices of."""
    axes = tuple(arrays.as_indices(axis, "an index of Entries") for axis in indices)
    shape = None
    if len(axes) == 1 and axes[0].dtype == bool:
        axes, shape = np.nonzero(axes[0]), axes[0].shape
    whole = all(np.issubdtype(axis.dtype, np.integer) and axis.ndim == 1 for axis in axes)
    if not axes or not whole or len({axis.size for axis in axes}) != 1:
        raise InputError(
            given="Entries of " + (", ".join(f"{axis.dtype} of shape {axis.shape}" for axis in axes) or "nothing"),
            needed="an array of whole numbers for each axis, all of one length, or one mask of True and False",
            missing="one index an axis for each datum",
            advice="pass Entries(rows, cols), or Entries(~np.isnan(table))",
        )
    if not axes[0].size or any(axis.min() < 0 or axis.max() > COUNTABLE for axis in axes):
        raise InputError(
            given="no entry at all" if not axes[0].size else "an index below 0 or beyond 32 bits",
            needed="at least one entry, each with indices from 0 on",
            missing="entries that were seen",
            advice="check the mask, or where the indices come from",
        )
    return axes, shape or tuple(int(axis.max()) + 1 for axis in axes)


def _shape(least: tuple[int, ...], given: Any) -> tuple[int, ...]:
    """The shape that was given, if it has all the entries, else the least that has."""
    if given is None:
        return least
    shape = tuple(given) if isinstance(given, (tuple, list)) else ()
    whole = len(shape) == len(least) and all(is_whole(size, 1) for size in shape)
    if not whole or any(a > b for a, b in zip(least, shape, strict=True)):
        raise InputError(
            given=f"shape={shown(given)} for entries of an array of shape {least} or more",
            needed="a whole number for each axis, larger than every index along it",
            missing="a shape that has these entries",
            advice="leave out shape, or count the indices from 0",
        )
    return tuple(int(size) for size in shape)
