"""How much each datum has to say: weights that gross outliers have none of."""

from __future__ import annotations

import numpy as np

# A weight grows with the datum up to 2 medians and falls from there to zero at 6: data of the signal's own size keep
# their voice, and gross outliers have none at all, however large.
_FLAT, _GONE = 2.0, 6.0


def redescend(values: np.ndarray) -> np.ndarray:
    """ψ(v): v over its median size up to 2, then falling to 0 at 6, so that no share of outliers need be known."""
    size = np.abs(values)
    ratio = size / (float(np.median(size)) or 1.0)
    falling = _FLAT * (_GONE - ratio) / (_GONE - _FLAT)
    return np.sign(values) * np.clip(np.minimum(ratio, falling), 0.0, _FLAT)


def weights(b: np.ndarray, n: int, *, centred: bool) -> np.ndarray:
    """The weight w(y) of each p.

    E[(pᵀu)² | y] − 1 grows like |y|^(2/n), and a weight of that shape separates best. For odd n the sign of y says
    nothing about ppᵀ, since p and −p are equally likely. For even n it tells large p from small p, or from large q.
    """
    if n % 2:
        size = np.abs(b) ** (2 / n)
        return redescend(size - np.median(size))
    shifted = b if centred else b - np.median(b)
    return redescend(np.sign(shifted) * np.abs(shifted) ** (2 / n))


def weights_of_squares(b: np.ndarray) -> np.ndarray:
    """The weight of each p for sums of squares y = Σⱼ |pᵀxⱼ|²: of √y, and none for negative data, which are outliers.

    The squares of a single factor are often near zero and seldom large. On the scale of their roots a large one, which
    says most about its p, is no outlier.
    """
    amplitude = np.sqrt(np.maximum(b, 0.0))
    return np.where(b > 0, redescend(amplitude - np.median(amplitude[b > 0])), 0.0)
