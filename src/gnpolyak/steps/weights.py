"""Robust weights of a width δ, and the scale of residuals by medians: no outlier, however large, has a say in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gnpolyak.base.arrays import is_traced
from gnpolyak.base.measurements import counted, current, number, totals
from gnpolyak.base.small import by_platform
from gnpolyak.base.sniffing import namespace
from gnpolyak.problem.oracles.native import finds_medians, medians
from gnpolyak.problem.oracles.native.dispatch import dispatched

# Tukey's weights end at this many widths: 95% efficient at the normal law.
TUKEY = 4.685
# From a median to the standard deviation of the normal law with that median.
MAD = 1.4826
# Units of eps times a typical datum: up to here residuals are the rounding of long sums.
ROUNDING = 1e3


class Width(NamedTuple):
    """δ, and whether residuals beyond it are weighed down (Huber) or, from 4.685 δ on, out (Tukey)."""

    delta: Array
    redescending: Array

    def weights(self, r: Array) -> Array:
        """wᵢ = ρ′(rᵢ)/rᵢ."""
        xp = namespace(r, self)
        a = xp.abs(r)
        u = xp.minimum(a / (TUKEY * self.delta), 1.0)
        huber = xp.minimum(1.0, self.delta / xp.maximum(a, jnp.finfo(r.dtype).tiny))
        # A residual whose own rounding is that large hides what the others gain, and says nothing itself.
        seen = a * float(jnp.finfo(r.dtype).eps) ** 0.5 < self.delta
        return xp.where(counted(r) & seen, xp.where(self.redescending, (1 - u * u) ** 2, huber), 0.0)

    def fall(self, r: Array, s: Array) -> tuple[Array, Array]:
        """Σ ρ(rᵢ) − ρ(sᵢ), taken term by term, and Σ ρ(rᵢ)."""
        xp = namespace(r, self)
        cap = self.delta / float(jnp.finfo(r.dtype).eps) ** 0.5
        a, b = (xp.minimum(xp.abs(each), cap) for each in (r, s))
        plain = (a <= self.delta) & (b <= self.delta) & ~self.redescending
        # Inside δ Huber's ρ is a²/2, whose difference is told without cancellation.
        terms = xp.where(plain, (a - b) * (a + b) / 2, self._rho(a) - self._rho(b))
        fallen, whole = totals(terms, self._rho(a))
        return fallen, whole

    def _rho(self, a: Array) -> Array:
        xp, c = namespace(a, self), TUKEY * self.delta
        u = xp.minimum(a / c, 1.0) ** 2
        tukey = c * c / 6 * u * (3 - 3 * u + u * u)
        huber = xp.where(a <= self.delta, a * a / 2, self.delta * (a - self.delta / 2))
        return xp.where(self.redescending, tukey, huber)


def median(a: Array, where: Array | bool = True) -> Array:
    """The upper median of the sizes a ≥ 0 where `where` holds, 0 if there are none; what is not a number comes last.

    Found by halving the range of their bit patterns, which are ordered as the numbers are: exact, with nothing but
    counts of the entries. A sort would be no faster, and takes a good part of a second to compile. Of more than 2¹⁸
    entries a sample of half as many is taken, always the same: a scale from it is right to some tenths of a percent.
    """
    layout = current()
    if layout is not None:
        # Of entries that lie on several devices none is moved.
        seen = layout.counted() if layout.total <= _LARGEST else layout.among(_places(layout.total))
        return _searched(a, seen & where)
    a, where = _sample(a, where)
    if not is_traced((a, where)):
        # On the host there is nothing to compile.
        sizes: Any = np.asarray(a)
        held = sizes if where is True else sizes[np.broadcast_to(np.asarray(where), a.shape)]
        found: Any = np.partition(held, held.size // 2)[held.size // 2] if held.size else held.dtype.type(0)
        return found if namespace(a, where) is np else jnp.asarray(found)
    return _one(a, jnp.broadcast_to(where, a.shape))


def _bisected(a: Array, counted: Array) -> Array:
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
    """The same sixteen ways at once: devices agree on fifteen counts as soon as on one."""
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
    """The same from a sort: on a GPU the turns of a loop, which wait for each other, would take ten times as long."""
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


def median_above(a: Array, least: Array | float) -> Array:
    """The median of the sizes a ≥ 0, or of those above `least` where half of them and more are not."""
    above = a > least
    return median(a, above | (2 * namespace(a).sum(counted(a) & above) > number(a)))


def typical(b: Array) -> Array:
    """The size of a typical datum: the median, of those that are not zero where most are; 1 where all are."""
    xp = namespace(b)
    middle = median_above(xp.abs(b.ravel()), 0.0)
    return xp.where(middle > 0, middle, 1.0)
