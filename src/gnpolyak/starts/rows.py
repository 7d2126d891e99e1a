"""Rows of measurements, in memory or streamed, as what is computed with on the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from gnpolyak.base.halting import go_on
from gnpolyak.base.streams import Streamed, reading
from gnpolyak.problem import streams
from gnpolyak.starts.host import cores, on_threads, wide

_T = TypeVar("_T")

# Numbers in a piece of the rows that is worth a thread of its own.
_PIECE = 2**20


@dataclass(frozen=True)
class Rows:
    """Matrices with a row for each measurement: P, or P and Q."""

    stored: tuple[Any, ...]
    """Each as a NumPy array of the type that is computed in, or streamed."""
    dtype: np.dtype
    """That type."""

    @classmethod
    def of(cls, matrices: list[Any], dtype: np.dtype) -> Rows:
        """Those in memory in this type; no copy of them is made where they are in it, on the host."""
        return cls(tuple(each if isinstance(each, Streamed) else np.asarray(each, dtype) for each in matrices), dtype)

    @property
    def count(self) -> int:
        """The number of rows."""
        return int(self.stored[0].shape[0])

    def blocks(self) -> Iterator[tuple[int, list[np.ndarray]]]:
        """All rows where they are in memory, else a block of them at a time; and where each begins."""
        if not isinstance(self.stored[0], Streamed):
            yield 0, list(self.stored)
            return
        for block in streams.blocks(self.stored):
            yield block.start, [np.asarray(each, self.dtype) for each in block.rows.values()]

    def require_finite(self) -> None:
        """Raise InputError for the first streamed rows that are no numbers, which those in memory cannot be."""
        for block in streams.blocks(self.stored) if isinstance(self.stored[0], Streamed) else ():
            block.require_finite(*block.rows.values())

    def each(self, function: Callable[..., _T], along: np.ndarray | None = None) -> Iterator[_T]:
        """What a function gives of some rows, and of the numbers along them, piece after piece of all rows."""
        go_on()
        for start, rows in self.blocks():
            length = len(rows[0])
            pieces = min(cores(), 1 + sum(each.size for each in rows) // _PIECE)
            cuts = [(length * k // pieces, length * (k + 1) // pieces) for k in range(pieces)]

            def job(cut: tuple[int, int], start: int = start, rows: list[np.ndarray] = rows) -> _T:
                some = [each[cut[0] : cut[1]] for each in rows]
                return function(*some) if along is None else function(*some, along[start + cut[0] : start + cut[1]])

            yield from on_threads(job, cuts)

    def joined(self, function: Callable[..., np.ndarray]) -> np.ndarray:
        """A number for each row, or some; rows that are no numbers are named."""
        found = np.concatenate(list(self.each(function)))
        if not np.all(np.isfinite(found)):
            self.require_finite()
        return found

    def summed(self, function: Callable[..., np.ndarray], along: np.ndarray) -> np.ndarray:
        """The sum over pieces of the rows, in double precision."""
        return wide(sum(self.each(function, along)))

    def projected(self, columns: np.ndarray, places: np.ndarray) -> list[np.ndarray]:
        """The rows at some places times columns, matrix after matrix, in double precision."""
        return [wide(_taken(each, places, columns.astype(self.dtype))) for each in self.stored]


def _taken(rows: Any, places: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Some rows times columns; of streamed ones no more than a block at a time."""
    if not isinstance(rows, Streamed):
        return rows[places] @ columns
    order = np.argsort(places)
    length = max(reading.BLOCK_BYTES // rows.source.row_bytes, 1)
    risen = [rows.take(places[order[at : at + length]]) @ columns for at in range(0, len(places), length)]
    found = np.empty((len(places), columns.shape[1]), columns.dtype)
    found[order] = np.concatenate(risen)
    return found
