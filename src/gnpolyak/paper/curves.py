"""The part of a series that can be seen: positive errors, and no more points than the eye resolves."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import pairwise

import numpy as np

from gnpolyak.paper.pictures import Series

# In decades of the error: a third of a pixel where twelve decades share four hundred.
TOLERANCE = 0.01
# Places that stay however straight the curve is, so that hovering finds a value everywhere; half of them by ratio.
PLACES = 32


def drawable(series: Series, most: int) -> Series:
    """The series as logarithmic axes can show it.

    An error of zero or less has no logarithm: the curve ends there, and a band that reaches it is cut at the smallest
    positive error of the series. Of what is left, at most `most` points are kept (32 at least), those without which the
    curve or its band would visibly change on a linear or a logarithmic horizontal axis.
    """
    x, median, low, high = series.x, series.median, series.low, series.high
    shown = np.isfinite(x) & (x > 0) & np.isfinite(median) & (median > 0)
    x, median, low, high = x[shown], median[shown], low[shown], high[shown]
    if len(x) == 0:
        return Series(x, median, low, high)
    positive = np.isfinite(low) & (low > 0)
    floor = min(median.min(), low[positive].min(initial=np.inf))
    low = np.where(positive, low, floor)
    high = np.where(np.isfinite(high), high, median)
    kept = _kept(x, np.log10([median, low, high]), most)
    return Series(x[kept], median[kept], low[kept], high[kept])


def _kept(x: np.ndarray, curves: np.ndarray, most: int) -> np.ndarray:
    """Indices of the points to keep: start from a few, then split at the worst approximated point until none is off."""
    scales = np.array([x, np.log10(x)])
    kept = {0, len(x) - 1}
    for scale in scales:
        kept.update(np.searchsorted(scale, np.linspace(scale[0], scale[-1], PLACES // 2)[1:-1]).tolist())
    ends = sorted(kept)
    queue: list[tuple[float, int, int, int]] = []

    def consider(start: int, stop: int) -> None:
        if stop - start > 1:
            off = _deviation(scales, curves, start, stop)
            worst = int(off.argmax())
            heappush(queue, (-float(off[worst]), start, start + worst, stop))

    for start, stop in pairwise(ends):
        consider(start, stop)
    while queue and len(kept) < most:
        off, start, worst, stop = heappop(queue)
        if -off < TOLERANCE:
            break
        kept.add(worst)
        consider(start, worst)
        consider(worst, stop)
    return np.array(sorted(kept))


def _deviation(scales: np.ndarray, curves: np.ndarray, start: int, stop: int) -> np.ndarray:
    """How far each point from start to stop is from the chord, in the worst curve and on the worst axis."""
    ends, inner = [start, stop], slice(start, stop + 1)
    widths = np.diff(scales[:, ends])
    # Clocks can stand still: two values at one place are compared with the first.
    along = (scales[:, inner] - scales[:, start, None]) / np.where(widths > 0, widths, 1.0)
    chords = curves[:, start, None] + along[:, None] * np.diff(curves[:, ends])
    return np.abs(chords - curves[:, inner]).max(axis=(0, 1))
