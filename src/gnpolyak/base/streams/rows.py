"""Rows that are elsewhere, in the place of an array of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import jax
import numpy as np

from gnpolyak.base import arrays, memory
from gnpolyak.base.errors import InputError
from gnpolyak.base.modules import field
from gnpolyak.base.namespace import Array, Portable
from gnpolyak.base.streams import reading
from gnpolyak.base.streams.sources import InFile, InMemory, Source
from gnpolyak.base.trees import Tree

# The share of free memory that the system's cache can be trusted to hold of files; what is more is read past it.
_CACHED = 0.5


class Streamed(Portable):
    """A matrix whose rows are read when they are needed: it has a shape and a type, and no numbers."""

    like: Array
    """No rows, but of their shape and type: what a problem is computed in depends on it."""
    source: Source = field(static=True)
    name: str = field(static=True)

    @classmethod
    def of(cls, source: Source, name: str) -> Streamed:
        """The rows of a source."""
        return cls(arrays.placed(np.empty((0, *source.shape[1:]), source.dtype)), source, name)

    @property
    def shape(self) -> tuple[int, ...]:
        """That of all rows."""
        return self.source.shape[0], *self.like.shape[1:]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype:
        """That of the numbers as they are stored."""
        return self.source.dtype

    @property
    def outline(self) -> jax.ShapeDtypeStruct:
        """Shape and type alone, to trace with."""
        return jax.ShapeDtypeStruct(self.shape, self.like.dtype)

    def flat(self) -> Streamed:
        """The same with rows of one axis."""
        width = int(np.prod(self.shape[1:]))
        return Streamed(arrays.placed(np.empty((0, width), self.like.dtype)), self.source, self.name)

    def take(self, places: np.ndarray) -> np.ndarray:
        """The rows at these places, which rise, in memory."""
        return self.source.take(places).reshape(len(places), *self.shape[1:])

    def __getitem__(self, rows: slice) -> np.ndarray:
        return self.take(np.arange(*rows.indices(self.shape[0])))

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise self.refused()

    def astype(self, dtype: Any, *, copy: bool = True) -> NoReturn:
        """Refused: it would be an array of all rows."""
        raise self.refused()

    def refused(self) -> InputError:
        """The error of whoever needs all rows at once."""
        return InputError(
            given=f"{self.name}, {self.shape[0]:,} rows that are streamed",
            needed="all of them at once",
            missing="the memory that streaming is to save: this goes over arrays, or is compiled as a whole",
            advice=f"use gnpolyak.minimize, which reads block by block, or pass numpy.asarray({self.name}) if it fits",
        )


def is_streamed(tree: Tree) -> bool:
    """Whether any rows in the tree are elsewhere."""
    return any(True for _ in rows_in(tree))


def rows_in(tree: Tree) -> Iterable[Streamed]:
    """The rows in a tree that are elsewhere."""
    return (leaf for leaf in jax.tree.leaves(tree, is_leaf=_is_rows) if _is_rows(leaf))


def outlined(tree: Tree) -> Tree:
    """The tree with shapes and types in the place of rows that are elsewhere."""
    return jax.tree.map(lambda leaf: leaf.outline if _is_rows(leaf) else leaf, tree, is_leaf=_is_rows)


def filled(tree: Tree, blocks: Sequence[Array]) -> Tree:
    """The tree with these arrays in the place of rows that are elsewhere, in their order."""
    left = iter(blocks)
    return jax.tree.map(lambda leaf: next(left) if _is_rows(leaf) else leaf, tree, is_leaf=_is_rows)


def _is_rows(leaf: Any) -> bool:
    return isinstance(leaf, Streamed)


def together(given: dict[str, Any], *, real: bool = False, spare: str = "") -> list[Any]:
    """Matrices of one sensing, by name: all in memory or, where one is elsewhere and they are too many, all streamed.

    Those that fit a block are read, since streaming would save nothing. The one called `spare` may be None.
    """
    as_array = arrays.as_real_array if real else arrays.as_array
    missing = {spare} if given.get(spare) is None else set()
    if not any(isinstance(each, (np.memmap, Source)) for each in given.values()):
        return [None if name in missing else as_array(each, name) for name, each in given.items()]
    if sum(_bytes(each) for each in given.values()) <= reading.BLOCK_BYTES:
        return [None if name in missing else as_array(_read(each), name) for name, each in given.items()]
    found = {name: None if name in missing else _source(each, name) for name, each in given.items()}
    sources = [source for source in found.values() if source is not None]
    _require_fit(sources, real)
    for source in sources:
        if isinstance(source, InFile):
            source.direct = sum(map(_bytes, sources)) > _CACHED * memory.available()
    return [source if source is None else Streamed.of(source, name) for name, source in found.items()]


def _bytes(given: Any) -> int:
    return given.shape[0] * given.row_bytes if isinstance(given, Source) else int(getattr(given, "nbytes", 0))


def _read(given: Any) -> Any:
    return given.rows(0, given.shape[0]) if isinstance(given, Source) else given


def _source(given: Any, name: str) -> Source:
    if isinstance(given, Source):
        return given
    return (
        InFile(given, name)
        if isinstance(given, np.memmap)
        else InMemory(np.asarray(arrays.as_array(given, name)), name)
    )


def _require_fit(sources: list[Source], real: bool) -> None:
    """Raise InputError where these cannot be read together; what else they have to be is for the sensing to say."""
    if len({source.shape[0] for source in sources}) > 1:
        raise InputError(
            given=" and ".join(f"{source.label} with {source.shape[0]:,} rows" for source in sources),
            needed="as many rows in each",
            missing="equal numbers of rows",
            advice="give one row of each to a measurement",
        )
    if real and any(source.dtype.kind == "c" for source in sources):
        raise InputError(
            given="complex rows where real ones are measured with",
            needed="real numbers",
            missing="a real representation",
            advice="save the real and imaginary parts as real rows",
        )
