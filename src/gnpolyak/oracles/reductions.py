"""Sums, medians and counts over the data, however they lie: on the host, on one device, or spread over several.

On several devices each has the same number of places for data, of which the last may be padding. Padding is left out
here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gnpolyak.base.arrays import is_traced
from gnpolyak.base.measurements import Layout
from gnpolyak.base.namespace import Array
from gnpolyak.base.small import by_platform
from gnpolyak.problem.oracles.native import finds_medians, medians
from gnpolyak.problem.oracles.native.dispatch import dispatched


class Reductions:
    """What is computed of all data at once.

    Parameters
    ----------
    xp : namespace
        NumPy or jax.numpy.
    layout : Layout, optional
        How the data lie on several devices.
    """

    def __init__(self, xp: Any, layout: Layout | None = None) -> None:
        self.xp, self.layout = xp, layout

    def count(self, vector: Array) -> int:
        """The number of data that a vector has a number for."""
        return int(vector.size) if self.layout is None else self.layout.total

    def counted(self) -> Array | bool:
        """A mask of the places that hold a datum; True where all do."""
        return True if self.layout is None else self.layout.counted()

    def sums(self, *vectors: Array) -> tuple[Array, ...]:
        """The sum of each vector; several devices agree on all of them at once."""
        if self.layout is None:
            return tuple([each.sum() for each in vectors])
        return tuple(jnp.sum(jnp.stack(vectors), axis=1))

    def median(self, a: Array, where: Array | bool = True) -> Array:
        """The upper median of the sizes a ≥ 0 where `where` holds, 0 if there are none; NaN counts as the largest.

        Of more than 2¹⁸ entries a sample of half as many is taken, always the same one: a scale from it is right to
        some tenths of a percent.
        """
        if self.layout is not None:
            # Of entries that lie on several devices none is moved.
            few = self.layout.total <= _LARGEST
            seen = self.layout.counted() if few else self.layout.among(_places(self.layout.total))
            return _searched(a, seen & where)
        a, where = _sample(a, where)
        if self.xp is jnp:
            return _of_jax(a, where)
        return _selected(a, where)

    def median_above(self, a: Array, least: Array | float) -> Array:
        """The median of the sizes a ≥ 0, or of those above `least` where at least half of them are not."""
        above = a > least
        many = 2 * (self.counted() & above).sum() > self.count(a)
        return self.median(a, above | many)

    def typical(self, b: Array) -> Array:
        """The size of a typical datum: the median, of the nonzero ones where most are zero; 1 where all are."""
        middle = self.median_above(abs(b.ravel()), 0.0)
        return self.xp.where(middle > 0, middle, 1.0)


def _selected(a: Any, where: Any) -> Any:
    """The median on the host: between two bounds that a sample tells, or among all where the sample was wrong."""
    held = a if where is True else a[np.broadcast_to(where, a.shape)]
    k = held.size // 2
    if held.size < _WORTH_SAMPLING:
        return np.partition(held, k)[k] if held.size else held.dtype.type(0)
    sample = np.sort(held[:: held.size // _SAMPLE])
    middle, margin = sample.size // 2, int(_DEVIATIONS * sample.size**0.5)
    low, high = sample[middle - margin], sample[middle + margin]
    between = held[(held >= low) & (held <= high)]
    place = k - np.count_nonzero(held < low)
    if 0 <= place < between.size:
        return np.partition(between, place)[place]
    return np.partition(held, k)[k]


# A sample of so many numbers brackets the median of more than these in a third of the time that all of them take; the
# margin, in square roots of its size, is five standard deviations of its own median's place.
_SAMPLE, _WORTH_SAMPLING, _DEVIATIONS = 1024, 2**13, 2.5


def _of_jax(a: Array, where: Array | bool) -> Array:
    if not is_traced((a, where)):
        # Outside of a program there is nothing to compile.
        return jnp.asarray(_selected(np.asarray(a), where if isinstance(where, bool) else np.asarray(where)))
    return _one(a, jnp.broadcast_to(where, a.shape))


def _bisected(a: Array, counted: Array) -> Array:
    """The median, by halving the range of bit patterns, which are ordered as the numbers are.

    Exact, with nothing but counts of the entries. A sort would be no faster, and takes a good part of a second to
    compile.
    """
    integer = jnp.int64 if a.dtype == jnp.float64 else jnp.int32
    bits = lax.bitcast_convert_type(jnp.where(jnp.isnan(a), jnp.inf, a), integer)
    total = jnp.sum(counted)
    wanted = total // 2 + 1

    def halve(_: int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        # Both are at least 0, so that this is half of their distance, in one instruction.
        middle = low + ((high - low) >> 1)
        enough = jnp.sum(counted & (bits <= middle)) >= wanted
        return jnp.where(enough, low, middle + 1), jnp.where(enough, middle, high)

    largest = lax.bitcast_convert_type(jnp.asarray(jnp.inf, a.dtype), integer)
    _, found = lax.fori_loop(0, jnp.finfo(a.dtype).bits, halve, (jnp.zeros((), integer), largest))
    return jnp.where(total > 0, lax.bitcast_convert_type(found, a.dtype), 0.0)


def _searched(a: Array, counted: Array) -> Array:
    """The median by sixteenths of that range: several devices agree on fifteen counts as soon as on one."""
    # Without a sign, so that the last of sixteen parts of all patterns can be told.
    integer, bits = (jnp.uint64, 60) if a.dtype == jnp.float64 else (jnp.uint32, 28)
    patterns = lax.bitcast_convert_type(jnp.where(jnp.isnan(a), jnp.inf, a), integer)
    steps = jnp.arange(1, 16, dtype=integer)

    def digit(k: Array, low: Array) -> Array:
        width = bits - 4 * k.astype(integer)
        below = jnp.sum(counted & (patterns < (low + (steps << width))[:, None]), axis=1)
        return low + (jnp.sum(below < wanted).astype(integer) << width)

    total = jnp.sum(counted)
    wanted = total // 2 + 1
    found = lax.fori_loop(0, bits // 4 + 1, digit, jnp.zeros((), integer))
    return jnp.where(total > 0, lax.bitcast_convert_type(found, a.dtype), 0.0)


def _sorted(a: Array, counted: Array) -> Array:
    """The median from a sort: on a GPU the turns of a loop, which wait for each other, would take ten times as long."""
    total = jnp.sum(counted)
    ordered = jnp.sort(jnp.where(counted & ~jnp.isnan(a), a, jnp.inf))
    return jnp.where(total > 0, ordered[total // 2], 0.0)


_median = by_platform(_sorted, _bisected)


def _bisected_rows(rows: Array, counted: Array) -> Array:
    return jax.vmap(_median)(rows, counted)


_selected_rows = dispatched(medians, _bisected_rows, jax.vmap(_sorted))


@jax.custom_batching.custom_vmap
def _one(a: Array, counted: Array) -> Array:
    return _median(a, counted)


@_one.def_vmap
def _many(size: int, batched: Sequence[bool], *parts: Array) -> tuple[Array, bool]:
    """Of many short rows: the counts of a bisection are short too, and each takes a turn of the scheduler."""
    rows = [
        each if own else jnp.broadcast_to(each, (size, *each.shape)) for each, own in zip(parts, batched, strict=True)
    ]
    return _selected_rows(*rows) if finds_medians(rows[0].dtype) else _bisected_rows(*rows), True


_LARGEST = 2**18


def _sample(a: Array, where: Array | bool) -> tuple[Array, Array | bool]:
    """The entries themselves, or a sample: where the multiples of the golden section fall, which no pattern follows."""
    if a.size <= _LARGEST:
        return a, where
    places = _places(a.size)
    return a[places], where if isinstance(where, bool) else where[places]


def _places(size: int) -> np.ndarray:
    share = np.modf(np.arange(_LARGEST // 2) * ((5**0.5 - 1) / 2))[0]
    return np.unique(np.asarray(share * size, np.int32))
