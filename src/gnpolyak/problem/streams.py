"""Blocks of rows that are not in memory, one after the other, and what a problem of them needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

from gnpolyak.base import memory
from gnpolyak.base.errors import InputError
from gnpolyak.base.streams import reading
from gnpolyak.base.streams.rows import filled, rows_in

# What products can use of an evaluation, some m·r numbers, is kept where so many bytes hold a few copies of it.
KEPT_BYTES = 512 * 2**20
# Numbers for each measurement that a solve holds at once: data, residuals, weights, products, of a few points.
_VECTORS = 32


class Block(NamedTuple):
    """A part of a problem, in memory until the next one is asked for."""

    place: int
    start: int
    stop: int
    rows: dict[str, np.ndarray]

    def of(self, along: Any) -> Any:
        """What belongs to this block of numbers along the measurements."""
        return along[self.start : self.stop]

    def require_finite(self, *results: Any) -> None:
        """Raise InputError where a result is no number because a row is none; other reasons are for others to judge."""
        if all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(results)):
            return
        for name, rows in self.rows.items():
            bad = self.start + np.flatnonzero(~np.isfinite(rows).all(axis=tuple(range(1, rows.ndim))))
            if bad.size:
                more = f" and in {bad.size - 1:,} more up to {bad[-1]:,}" if bad.size > 1 else ""
                raise InputError(
                    given=f"{name} with entries NaN or infinite in row {bad[0]:,}{more}",
                    needed="finite numbers",
                    missing="a finite value in each of those entries",
                    advice="leave those rows and their data out, or make them zeros whose data have weight 0",
                )


def blocks(whole: Any) -> Iterator[Block]:
    """The rows of what has streamed rows in it, one block after the other."""
    rows = list(rows_in(whole))
    for place, (start, stop, found) in enumerate(reading.blocks([each.source for each in rows])):
        shaped = [part.reshape(len(part), *each.shape[1:]) for part, each in zip(found, rows, strict=True)]
        yield Block(place, start, stop, dict(zip((each.name for each in rows), shaped, strict=True)))


def outline(sensing: Any) -> Any:
    """The sensing with no rows in the place of those that are streamed: what it can do, it can do with blocks."""
    return filled(sensing, [np.zeros((0, *each.shape[1:]), each.dtype) for each in rows_in(sensing)])


def count(problem: Any) -> int:
    """How many rows there are."""
    return next(iter(rows_in(problem))).shape[0]


def refused(problem: Any) -> InputError:
    """The error of whoever needs all rows at once."""
    return next(iter(rows_in(problem))).refused()


def require_room(problem: Any) -> None:
    """Raise InputError unless there is memory for what is not streamed: blocks, and numbers for each measurement."""
    rows = list(rows_in(problem))
    workers = min(each.source.workers for each in rows)
    count, size = rows[0].shape[0], sum(each.source.row_bytes for each in rows)
    block = min(max(reading.BLOCK_BYTES, size), count * size)
    number = max(np.dtype(each.like.dtype).itemsize for each in rows)
    memory.require_room(
        (workers + 1) * block + KEPT_BYTES + _VECTORS * count * number,
        f"a problem of {count:,} streamed rows",
        "solve it on a machine with more memory, or with fewer measurements: what there is of each stays in memory",
    )
