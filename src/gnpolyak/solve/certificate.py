"""Whether a point is a minimum: a dual vector that says so, for penalties that are sums over residuals.

x is a first-order minimiser of ‖A(c(x)) − b‖₁ exactly when some v with vᵢ = sign(rᵢ) where rᵢ ≠ 0 and |vᵢ| ≤ 1 where
rᵢ = 0 has (AJ)ᵀv = 0. Then, for every step z, ‖r − AJz‖₁ ≥ ⟨v, r⟩ − ⟨(AJ)ᵀv, z⟩: nothing can be gained to first order.
In a box the same holds where (AJ)ᵀv pushes variables that are at their bounds outwards, and is zero for all others.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np

from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import TILT
from gnpolyak.solve.dual import Dual, in_metric
from gnpolyak.solve.dual_formed import of_the_l1_problem, projected
from gnpolyak.solve.evaluation import Evaluation

# What a tenth of each variable, or of the data, may gain of the value to first order at a point that is called a
# minimum; in single precision some units of its rounding.
_ALLOWED, _UNITS = 1e-8, 32
_TENTH = 0.1
# The most products that a certificate may take.
_NO_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class Certificate:
    """What the dual vector v says about a point."""

    margin: float
    """1 − max |vᵢ| over the zero residuals: positive where the minimum is sharp, negative where v leaves the box."""
    residual: float
    """‖(AJ)ᵀv‖ against that of sign(r) on the other residuals alone, in the metric of the map."""
    gain: float
    """What a step of up to a tenth of each variable, or of the data, could gain of the value, to first order."""
    allowed: float
    """What it may be at a minimum, in the precision of the arithmetic."""
    zeros: int
    """How many residuals are at rounding."""
    measurements: int
    products: int
    """Products with A and its adjoint that it took, each of which counts as an oracle call."""
    seconds: float
    """How long it took."""
    adds_up: bool
    """Whether the sizes of the residuals add up to the value: of others nothing can be concluded."""
    dual: np.ndarray | None = field(default=None, repr=False, compare=False)
    """v."""
    sees: bool = True
    """Whether AJ is anything but zero, where it was formed: where it is zero every point looks like a minimum."""

    @property
    def holds(self) -> bool:
        """Whether the point is a minimum to first order."""
        return self.adds_up and self.sees and self.margin >= 0 and self.gain <= self.allowed

    def __str__(self) -> str:
        if self.holds:
            return f"nothing can be gained to first order: margin {self.margin:.2g}"
        if not self.adds_up:
            return "no certificate: the residuals do not add up to the value, so one of the two is wrong"
        if not self.sees:
            return "no certificate: the derivative is zero here, and of that nothing can be concluded"
        if not self.margin >= 0:
            return (
                f"no certificate: the {self.zeros:,} zero residuals of {self.measurements:,} cannot balance the others "
                f"(margin {self.margin:.2g})"
            )
        return (
            f"no certificate: a tenth of each variable may gain {self.gain:.1g} of the value, "
            f"{self.allowed:.1g} is allowed"
        )


def certify(
    evaluation: Evaluation, x: Tree, tol: float = 0.0, budget: int = _NO_LIMIT, found: Certificate | None = None
) -> Certificate:
    """The certificate of a point, for a problem whose parts were cast and whose penalty offers `RESIDUALS` or `TILT`.

    With `TILT` the Jacobian is formed.

    Residuals up to tol of a typical datum count as zero, and those at rounding in any case; what that may hide is in
    the bound on the gain. `budget` is the most products it may take, at least `LEAST`.
    `found` is what the smallest v says, where that was looked for already.
    """
    began = time.perf_counter()
    if found is None and evaluation.problem.penalty.has(TILT):
        return _told(of_the_l1_problem(evaluation.oracle, x, tol), time.perf_counter() - began)
    told = found or _told(_smallest(evaluation, x, tol, budget), time.perf_counter() - began)
    if told.holds or not evaluation.small or told.products >= budget:
        return told
    # The smallest v is not the only one. Where the l1 problem can be solved to its end, it has the last word.
    last = _told(of_the_l1_problem(evaluation.oracle, x, tol), time.perf_counter() - began)
    return replace(last, products=last.products + told.products)


def _smallest(evaluation: Evaluation, x: Tree, tol: float, budget: int) -> Dual:
    """The smallest v, by whichever way suits the problem."""
    if evaluation.forms:
        return projected(evaluation.oracle, x, tol)
    return in_metric(evaluation.runner, evaluation.problem.box, evaluation.layout, x, tol, budget)


def _told(dual: Dual, seconds: float) -> Certificate:
    """What v proves."""
    return told_of_each(dual.of_many(), seconds)[0]


def told_of_each(dual: Dual, seconds: float) -> list[Certificate]:
    """What each v of several proves; all figures have an axis for them in front."""
    v, r, size = dual.v, dual.r, np.abs(dual.r)
    measurements, total = r.shape[1], np.sum(size, axis=1)
    # A tenth of a variable that is zero is no step: there it is a tenth of the data that counts.
    moved = _TENTH * np.maximum(dual.steps, dual.unit * measurements**0.5 * dual.slope)
    gained = np.sum(size - np.clip(v, -1.0, 1.0) * r, axis=1) + moved + dual.edge
    # Against the value, or what it would be with typical data: an outlier of 1e20 must not make every gain look small.
    scale = np.minimum(total, measurements * dual.unit)
    gain = np.where(scale > 0, gained / np.where(scale > 0, scale, 1.0), np.inf)
    # What left the range of the arithmetic proves nothing.
    gain = np.where(np.isfinite(gain), gain, np.inf)
    margin = 1 - np.max(np.abs(v), axis=1, where=dual.zero, initial=0.0)
    zeros, allowed = np.sum(dual.zero, axis=1), max(_ALLOWED, _UNITS * float(np.finfo(r.dtype).eps))
    figures = (margin, dual.left, gain, zeros, dual.products, dual.adds_up, dual.sees)
    each = zip(*(np.asarray(figure).tolist() for figure in figures), v, strict=True)
    return [
        Certificate(margin, left, gain, allowed, zeros, measurements, products, seconds, adds_up, v, sees)
        for margin, left, gain, zeros, products, adds_up, sees, v in each
    ]
