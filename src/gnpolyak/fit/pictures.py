"""A fit in a picture: data, curve and outliers, and below them the residuals."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnpolyak.base.errors import InputError
from gnpolyak.fit.result import Fit

# Okabe and Ito's colours, told apart with any colour vision.
_GOOD, _CURVE, _BAD = "#0072B2", "#000000", "#D55E00"
# Points of a smooth curve, and how many standard deviations the band of noise is wide, to each side.
_SMOOTH, _BAND = 400, 2.0


def fit(res: Fit, ax: Any = None) -> tuple[Any, Any]:
    """Draw a fit; against its own values where the points are not on a line."""
    above, below = _axes() if ax is None else ax
    assert res.data is not None
    line = res.data.line
    at = res.fitted.ravel() if line is None else line
    bad = _bad(res)
    y, left = res.data.y.ravel(), res.residuals.ravel()
    above.plot(at[~bad], y[~bad], ".", color=_GOOD, label="data")
    above.plot(at[bad], y[bad], "x", color=_BAD, label=f"outliers ({int(bad.sum())})")
    above.plot(*_curve(res, line), color=_CURVE, linewidth=1.5, label="fit")
    above.set_ylabel("data")
    above.legend()
    _residuals(below, res, at, left, bad)
    below.set(xlabel="x" if line is not None else "fitted value", ylabel="residual")
    for each in (above, below):
        each.grid(alpha=0.3)
    return above, below


def _residuals(ax: Any, res: Fit, at: np.ndarray, left: np.ndarray, bad: np.ndarray) -> None:
    """The residuals at a scale that shows the good ones; outliers beyond it are marked at its edge."""
    width = _band(res)
    order = np.argsort(at, kind="stable")
    if np.any(width > 0):
        ax.fill_between(
            at[order], -width[order], width[order], color=_GOOD, alpha=0.15, linewidth=0, label="noise, ± 2σ"
        )
        ax.legend(fontsize="small", loc="lower right")
    ax.axhline(0.0, color=_CURVE, linewidth=1.0)
    ax.plot(at[~bad], left[~bad], ".", color=_GOOD)
    limit = 1.3 * max(2 * float(np.max(width)), float(np.max(np.abs(left[~bad]), initial=0.0))) or 1.0
    ax.plot(at[bad], np.clip(left[bad], -limit / 1.05, limit / 1.05), "x", color=_BAD)
    ax.set_ylim(-limit, limit)


def _band(res: Fit) -> np.ndarray:
    """Two standard deviations of the noise at each datum."""
    assert res.data is not None
    noise = 0.0 if res.noise is None else res.noise
    return _BAND * noise * (np.ones(res.data.y.size) if res.data.sigma is None else res.data.sigma.ravel())


def _bad(res: Fit) -> np.ndarray:
    assert res.data is not None
    bad = np.zeros(res.data.y.size, dtype=bool)
    if res.outliers is not None:
        kept = np.arange(res.data.y.size) if res.data.kept is None else res.data.kept
        bad[np.isin(kept, res.outliers)] = True
    return bad


def _curve(res: Fit, line: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The curve between the points; through them where the model takes no others, or along the diagonal."""
    if line is None:
        ends = np.array([np.min(res.fitted), np.max(res.fitted)])
        return ends, ends
    between = np.linspace(float(np.min(line)), float(np.max(line)), _SMOOTH)
    try:
        values = res.curve(between)
    except Exception:
        values = np.zeros(0)
    if values.shape != between.shape:
        order = np.argsort(line, kind="stable")
        return line[order], res.fitted[order]
    return between, values


def _axes() -> tuple[Any, Any]:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise InputError(
            given="plot() without matplotlib",
            needed="matplotlib, which draws",
            missing="the package",
            advice="pip install matplotlib, or pip install 'gnpolyak[cli]'",
        ) from error
    heights = {"height_ratios": [3, 1]}
    _, (above, below) = pyplot.subplots(2, 1, sharex=True, layout="constrained", gridspec_kw=heights)
    return above, below
