"""What Theorems 1 and 2 of the paper promise, and what a run shows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.numbers import require_positive
from gnpolyak.solve.result import History

# Values whose difference from the target is below this many rounding units are no measure of it.
_ROUNDING = 1e3 * float(np.finfo(np.float64).eps)
# The linear phase begins when the gap has fallen to this share of the first.
_UNDER_WAY = 0.1


@dataclass(frozen=True)
class Rate:
    """The rate of Theorem 1 (GNP) and Theorem 2 (restarts) for constants μ_h and L_h of h on the image.

    Parameters
    ----------
    mu : float
        μ_h, the sharpness.
    lipschitz : float
        L_h ≥ μ_h.

    Examples
    --------
    >>> from gnpolyak.diagnostics import Rate
    >>> rate = Rate(mu=1.0, lipschitz=2.0)
    >>> round(rate.factor, 4), rate.calls(distance=1.0, tolerance=1e-8), rate.restarts(100.0, 1e-8)
    (0.9677, 583, 35)
    """

    mu: float
    lipschitz: float

    def __post_init__(self) -> None:
        if not 0 < self.mu <= self.lipschitz < math.inf:
            raise InputError(
                given=f"mu={shown(self.mu)} and lipschitz={shown(self.lipschitz)}",
                needed="0 < mu <= lipschitz",
                missing="a sharp penalty: the theorems have nothing to say without one",
                advice="see gnpolyak.diagnostics.sharpness for estimates of both",
            )

    @property
    def condition(self) -> float:
        """L_h/μ_h, the condition number of h on the image."""
        return self.lipschitz / self.mu

    @property
    def c1(self) -> float:
        """c₁ = (1 − μ_h²/(2L_h²))^½: a step contracts the distance in the image by this, up to second order."""
        return math.sqrt(1 - 1 / (2 * self.condition**2))

    @property
    def factor(self) -> float:
        """(1 + c₁)/2, the contraction per call that Theorem 1 proves."""
        return (1 + self.c1) / 2

    def calls(self, distance: float, tolerance: float) -> int:
        """T = ⌈log(dist L_h/ε)/log(2/(1 + c₁))⌉: steps of GNP to h(c(x)) − h* ≤ ε (Theorem 1).

        Parameters
        ----------
        distance : float
            dist(c(x₀), Z⋆), such as ``problem.map.distance(x0, solution)``.
        tolerance : float
            ε.
        """
        ratio = _positive("distance", distance) * self.lipschitz / _positive("tolerance", tolerance)
        return max(math.ceil(math.log(ratio) / -math.log(self.factor)), 0)

    @staticmethod
    def restarts(shortfall: float, tolerance: float) -> int:
        """K = 1 + ⌈log₂((h* − h₀)/ε)⌉: restarts that bring a lower bound h₀ within ε of h* (Theorem 2).

        Parameters
        ----------
        shortfall : float
            h* − h₀.
        tolerance : float
            ε.
        """
        ratio = _positive("shortfall", shortfall) / _positive("tolerance", tolerance)
        return 1 + max(math.ceil(math.log2(ratio)), 0)


def contraction(history: History | Any, target: float = 0.0) -> float:
    """The factor by which a run's gap shrank per call, as a geometric mean over its linear phase.

    The phase begins when the gap has fallen to a tenth of the first, and ends at the last new best value that is not
    rounding. Theorem 1 bounds the factor by `Rate.factor`.

    Parameters
    ----------
    history : History or array_like
        ``res.history``, or the values themselves, one for each call.
    target : float
        h*.

    Returns
    -------
    float
        NaN if the run has no such phase of at least two calls.
    """
    values = np.asarray(history.value if isinstance(history, History) else history, np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values[0]):
        raise InputError(
            given=f"values of shape {values.shape}",
            needed="one finite value for each oracle call",
            missing="a history to measure",
            advice="pass res.history and the target",
        )
    gap = np.fmin.accumulate(values) - target
    floor = _ROUNDING * max(abs(values[0]), abs(target))
    # Only calls that set a new best: a tail of idle calls is not convergence, nor against it.
    fallen = np.flatnonzero(np.diff(gap, prepend=np.inf) < 0)
    phase = fallen[(gap[fallen] <= _UNDER_WAY * gap[0]) & (gap[fallen] > floor)]
    if len(phase) < 2:
        return math.nan
    first, last = phase[0], phase[-1]
    return float((gap[last] / gap[first]) ** (1 / (last - first)))


def _positive(name: str, number: Any) -> float:
    return require_positive(name, number, "all of the theorem's quantities are absolute, not relative")
