"""What a solve returns, and what its status advises."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from gnpolyak.base import foreign
from gnpolyak.base.comparing import Comparable
from gnpolyak.base.errors import InputError
from gnpolyak.base.numbers import require_real
from gnpolyak.base.trees import Tree
from gnpolyak.solve.certificate import Certificate
from gnpolyak.solve.uncertainty import Uncertainty
from gnpolyak.steps.status import Status


@dataclass(frozen=True, eq=False)
class History(Comparable):
    """One entry for each oracle call, in order."""

    value: np.ndarray
    """f at the point evaluated."""
    best: np.ndarray
    """The smallest value so far."""
    step: np.ndarray
    """The step size γ that led to the point; 0 for the start."""
    inner_iterations: np.ndarray
    """Iterations of the inner linear solver for that step."""
    seconds: np.ndarray
    """Time since the call when the point was evaluated; spread evenly within a chunk of steps."""

    @classmethod
    def of(cls, rows: Sequence[np.ndarray]) -> Self:
        """That of rows with one column for each call: the value, the best one, the step, the iterations, the clock."""
        columns = np.concatenate(rows, axis=1)
        best, iterations = np.minimum.accumulate(columns[1]), columns[3].astype(int)
        return cls(value=columns[0], best=best, step=columns[2], inner_iterations=iterations, seconds=columns[4])

    def gap(self, target: float) -> np.ndarray:
        """The objective error f − target at each oracle call: the curves of the paper's figures."""
        return self.value - require_real("target", target, "pass the optimal value, or 0.0 for the value itself")

    def __len__(self) -> int:
        return len(self.value)


def noted(rows: Sequence[np.ndarray], products: int, seconds: float) -> list[np.ndarray]:
    """The rows with calls that led to no other point, and the time when they were done: these repeat the last one."""
    last = next(each[:, -1:] for each in reversed(rows) if each.shape[1])
    row = np.array([last[0], last[1], [0.0], [0.0], [seconds]])
    return [*rows, np.repeat(row, products, axis=1)]


@dataclass(frozen=True, eq=False)
class Result(Comparable):
    """The outcome of `minimize`: always the best point found, with the reason for stopping."""

    x: Tree
    """The best point."""
    value: float
    """f at x."""
    status: Status
    """Why it stopped."""
    calls: int
    """Oracle calls done: one value and one subgradient at one point each."""
    seconds: float
    """What the caller waited, in all."""
    bound: float
    """What the gap is measured from: the target, or the best lower estimate of it."""
    history: History
    problem: str = ""
    """What was solved, in words."""
    method: str = ""
    """With which method."""
    rule: str = ""
    """With which rule for the target: known, level or restart; empty where the method that ended it needs none."""
    measurements: int | None = None
    """How many data there were, for the L1 penalty."""
    outliers: np.ndarray | None = None
    """Indices of the corrupted measurements (L1 penalty); None when good and bad do not separate."""
    polish_calls: int = 0
    """How many of the calls polishing took."""
    certificate: Certificate | None = None
    """What a dual vector says about the point, where one was looked for."""
    noise: float | None = None
    """σ̂, the scale of the noise in the good data, where the solve ended in it."""
    efficient: bool = False
    """Whether x is the efficient estimate at the noise (Tukey's weights) and not the minimiser of the value."""
    uncertainty: Uncertainty | None = field(default=None, repr=False, compare=False)
    """What standard errors are computed from, where the solve ended in noise."""
    state: Any = field(default=None, repr=False, compare=False)
    """The loop's last state; in the whitened variable where the measurements were whitened."""
    timings: dict[str, float] = field(default_factory=dict, repr=False, compare=False)
    """What the seconds went into: start, steps, certificate, compiling. Steps and certificate include compiling."""
    past: Any = field(default=None, repr=False, compare=False)
    """What ``minimize(problem, resume=res)`` goes on from."""

    @property
    def success(self) -> bool:
        """Whether the target was reached to the tolerance asked for."""
        return self.status.success

    @property
    def message(self) -> str:
        """The status in a sentence or two, with figures and advice."""
        name = self.status.name.replace("_", " ").capitalize()
        figures = f"value {self.value:.6g}, {max(self.value - self.bound, 0.0):.3g} above {self.bound:.6g}"
        return f"{name} after {self.calls} calls and {self.seconds:.3g} s ({figures}). {self.status.advice}"

    def standard_errors(self) -> Tree:
        """The standard deviation of each variable, in the shape of x, where the solve ended in noise.

        They are those of the efficient estimate (``polish=True``). For more than 1,000 variables use `covariance` along
        directions.
        """
        return foreign.like(self.x, self._in_noise().standard_errors())

    def covariance(self, along: Any = None) -> np.ndarray:
        """The covariance of the variables, in the order of their ravelled leaves, where the solve ended in noise.

        Parameters
        ----------
        along : sequence of pytrees like x, optional
            Directions d: the covariance of the ⟨d, x⟩ instead, for problems of any size. With Jᵀe for d it is that of
            an entry of the image.
        """
        return self._in_noise().covariance(along)

    def _in_noise(self) -> Uncertainty:
        if self.uncertainty is None:
            raise InputError(
                given=f"standard errors of a solve that ended with {self.status.name}",
                needed="an end in noise, whose scale the errors are measured by",
                missing="noise: the good data are fitted exactly, or were not told from the bad",
                advice="look at res.status and res.outliers; exact data have no standard errors",
            )
        return self.uncertainty

    def plot(self, ax: Any = None) -> Any:
        """Draw the best value above `bound` against oracle calls, on a logarithmic scale.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
        """
        from gnpolyak.solve import plots

        # The curve ends where the gap is zero or unknown to the last digit: such points have no logarithm.
        gap = self.history.best - min(self.bound, self.value)
        return plots.gap(np.where(gap > 0, gap, np.nan), self.method, ax)

    def __repr__(self) -> str:
        return f"Result({self.message})"

    def __str__(self) -> str:
        rows = {
            "problem": self.problem,
            "method": ", ".join(filter(None, (self.method, _RULES.get(self.rule, self.rule)))),
            "status": f"{self.status.name} ({'success' if self.success else 'no success'})",
            "value": f"{self.value:.12g}",
            "gap": f"{max(self.value - self.bound, 0.0):.3g} above {self.bound:.12g}",
            "calls": f"{self.calls:,}" + (f" ({self.polish_calls} of them polishing)" if self.polish_calls else ""),
            "time": self._time(),
            "corrupted": self._corrupted(),
            "certificate": "" if self.certificate is None else str(self.certificate),
            "noise": "" if self.noise is None else self._noise(),
        }
        lines = [f"{name:<12}{text}" for name, text in rows.items() if text]
        return "\n".join([*lines, "", *textwrap.wrap(self.status.advice, 78)])

    def _time(self) -> str:
        compiling = self.timings.get("compiling", 0.0)
        return f"{self.seconds:.3g} s" + (f", {compiling:.3g} of them compiling" if compiling > 0 else "")

    def _noise(self) -> str:
        estimate = "; x is the efficient estimate, not the minimiser of the value" if self.efficient else ""
        return f"σ = {self.noise:.3g}{estimate}"

    def _corrupted(self) -> str:
        if self.measurements is None:
            return ""
        if self.outliers is None:
            return f"not to be told among {self.measurements:,} measurements"
        share = len(self.outliers) / max(self.measurements, 1)
        return f"{len(self.outliers):,} of {self.measurements:,} measurements ({share:.1%})"


_RULES = {
    "known": "target known",
    "level": "target found by the level rule",
    "restart": "target found by restarts",
}
