"""Where a fit may start when nobody says, or where what was said led nowhere.

Nothing is known of a parameter but that it has to do with the data: it may be a height, a place or a width, a rate or a
frequency, or a plain number. So the sizes of these are drawn from, always the same way. Of many draws a few are kept:
those that fit best after a step or two of least squares, which puts parameters right that enter linearly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from gnpolyak.fit.data import Data

Look = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""The residuals at some parameters, and the derivative of the model, a column for each."""
Draw = Callable[[np.random.Generator], float]

_SEED = 0x57A
# Steps of a draw before it is compared, and their damping: enough for parameters that enter linearly.
_STEPS, _DAMPING = 3, 1e-3


def ones(n: int, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """SciPy's start: ones, or where they are bounded the middle of the bounds, or one away from the only bound."""
    p = np.ones(n)
    both, low, high = (
        np.isfinite(lower) & np.isfinite(upper),
        np.isfinite(lower) & ~np.isfinite(upper),
        np.isfinite(upper) & ~np.isfinite(lower),
    )
    p[both] = 0.5 * (lower[both] + upper[both])
    p[low], p[high] = lower[low] + 1, upper[high] - 1
    return p


def drawn(
    data: Data, n: int, lower: np.ndarray, upper: np.ndarray, count: int, near: np.ndarray | None = None
) -> np.ndarray:
    """Starts of n parameters, a row each; half of them around `near`, where that is given."""
    rng = np.random.default_rng(_SEED)
    kinds = [*_of_values(data), *_of_points(data)]
    starts = np.array([kinds[k](rng) for k in rng.integers(0, len(kinds), count * n)]).reshape(count, n)
    if near is not None:
        size = np.where(near != 0, near, 1.0)
        around = near + size * rng.standard_normal((count, n)) * 10.0 ** rng.uniform(-1.0, 0.5, (count, 1))
        starts[::2] = around[::2]
    return _inside(starts, lower, upper, rng)


def _of_values(data: Data) -> list[Draw]:
    """What a parameter may be whatever the points are: a number, a level, a height."""
    levels = np.quantile(data.y, [0.1, 0.5, 0.9])
    height = _height(data)
    return [
        lambda rng: _sign(rng) * 10.0 ** rng.uniform(-1, 1),
        lambda rng: float(rng.choice([*levels, 0.0])),
        lambda rng: _sign(rng) * height,
    ]


def _of_points(data: Data) -> list[Draw]:
    """What it may be if it has to do with one of the predictors: a place, a width, a frequency, a rate, a slope."""
    if not isinstance(data.x, np.ndarray) or data.x.size < 2:
        return []
    rows = data.x.reshape(-1, data.x.shape[-1]) if data.x.shape[-1:] == data.y.shape else data.x.reshape(1, -1)
    widths = [float(np.ptp(row)) or 1.0 for row in rows]
    height = _height(data)
    # From one turn in the whole width up to as many as points can show.
    turns = max(rows.shape[1] / 4, 1.0)
    return [
        lambda rng: float(rng.choice(rows[rng.integers(len(rows))])),
        lambda rng: rng.choice(widths) * 10.0 ** rng.uniform(-1.5, 0),
        lambda rng: 2 * np.pi / rng.choice(widths) * turns ** rng.uniform(0, 1),
        lambda rng: _sign(rng) / rng.choice(widths) * 10.0 ** rng.uniform(-0.5, 1.5),
        lambda rng: _sign(rng) * height / rng.choice(widths),
    ]


def _height(data: Data) -> float:
    low, level, high = np.quantile(data.y, [0.1, 0.5, 0.9])
    return float(high - low) or abs(float(level)) or 1.0


def _sign(rng: np.random.Generator) -> float:
    return float(rng.choice([-1.0, 1.0]))


def _inside(starts: np.ndarray, lower: np.ndarray, upper: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The starts, with what lies outside the bounds drawn anew between them, or mirrored at the only one."""
    both = np.isfinite(upper - lower)
    low, width = np.where(both, lower, 0.0), np.where(both, upper - lower, 0.0)
    between = np.where(both, low + rng.uniform(0, 1, starts.shape) * width, np.nan)
    mirrored = np.where(starts < lower, 2 * lower - starts, 2 * upper - starts)
    outside = (starts < lower) | (starts > upper)
    return np.clip(np.where(outside, np.where(np.isnan(between), mirrored, between), starts), lower, upper)


def best(
    look: Look, starts: Iterable[np.ndarray], lower: np.ndarray, upper: np.ndarray, count: int
) -> list[np.ndarray]:
    """Those starts, after a few steps of least squares, that fit half of the data best, and differ."""
    found = sorted((_improved(look, p, lower, upper) for p in starts), key=lambda each: each[0])
    kept: list[tuple[float, np.ndarray]] = []
    for median, p in found:
        if np.isfinite(median) and all(abs(median - other) > 1e-3 * median for other, _ in kept):
            kept.append((median, p))
        if len(kept) == count:
            break
    return [p for _, p in kept]


@np.errstate(all="ignore")
def _improved(look: Look, p: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> tuple[float, np.ndarray]:
    least, where = np.inf, p
    for _ in range(_STEPS):
        r, matrix = look(p)
        median = float(np.median(np.abs(r)))
        if not np.isfinite(median) or not np.isfinite(np.sum(matrix * matrix)):
            break
        if median < least:
            least, where = median, p
        p = np.clip(p + _step(r, matrix, median), lower, upper)
    return least, where


def _step(r: np.ndarray, matrix: np.ndarray, median: float) -> np.ndarray:
    """A damped step of least squares in which no residual counts for more than twice the median."""
    root = np.sqrt(np.minimum(1.0, 2 * median / np.maximum(np.abs(r), 1e-300)))
    weighted = root[:, None] * matrix
    column = np.linalg.norm(weighted, axis=0)
    column = np.where(column > 0, column, 1.0)
    tall = np.vstack([weighted / column, _DAMPING**0.5 * np.eye(len(column))])
    step, *_ = np.linalg.lstsq(tall, np.concatenate([root * r, np.zeros(len(column))]), rcond=None)
    return step / column
