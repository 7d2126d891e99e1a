"""What a fit returns: a `Result` with parameters that have names, their errors, and a picture."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gnpolyak.fit.data import Data
from gnpolyak.solve.result import Result
from gnpolyak.steps.status import Status


class FitWarning(UserWarning):
    """A fit that did not come to its end, or whose errors the data do not tell."""


@dataclass(frozen=True, eq=False)
class Fit(Result):
    """The outcome of `curve_fit(..., full_output=True)` and of `fit`: a `Result` and what belongs to a curve."""

    names: tuple[str, ...] = ()
    """The parameters that were fitted, one for each entry of `popt`."""
    popt: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """The estimate."""
    pcov: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    """Its covariance; infinite where the data do not tell it, zero for parameters at a bound."""
    params: dict[str, Any] = field(default_factory=dict)
    """All parameters by name, those that were held fixed among them: numbers, or arrays where arrays were given."""
    errors: dict[str, Any] = field(default_factory=dict)
    """The standard error of each parameter, 0 for those that were held fixed or ended at a bound."""
    ended: bool = True
    """Whether the estimate is one: a further step would move it by less than its standard error."""
    differences: bool = False
    """Whether derivatives were taken by differences, the model being in plain NumPy or Python."""
    starts: int = 1
    """From how many points it was tried."""
    data: Data | None = field(default=None, repr=False, compare=False)
    fitted: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)
    """The model's values at the data's points."""
    curve: Any = field(default=None, repr=False, compare=False)
    """The model at the estimate, as a function of points."""

    @property
    def success(self) -> bool:
        """Whether the fit is what was asked for: exact data fitted exactly, or the efficient estimate in noise."""
        return self.status.success or (self.status is Status.NOISE and self.efficient and self.ended)

    @property
    def residuals(self) -> np.ndarray:
        """The data less the fit, outliers included."""
        return np.zeros(0) if self.data is None else self.data.y - self.fitted

    @property
    def message(self) -> str:
        found = "Fitted" if self.success else f"Not fitted ({self.status.name})"
        return " ".join([f"{found}: {self._figures()}.", *self._remarks()])

    def covariance(self, along: Any = None) -> np.ndarray:
        """The covariance of the fitted parameters in their order, `pcov`; or of ⟨d, p⟩ for directions d."""
        if along is None:
            return self.pcov
        directions = np.asarray(along, dtype=float)
        return directions @ self.pcov @ directions.T

    def standard_errors(self) -> np.ndarray:
        """The standard deviation of each fitted parameter, in their order."""
        return np.sqrt(np.diag(self.pcov))

    def plot(self, ax: Any = None) -> Any:
        """Draw data, fit and outliers, and below them the residuals with the noise.

        Parameters
        ----------
        ax : pair of matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        tuple of matplotlib Axes
            That of the data and that of the residuals.
        """
        from gnpolyak.fit import pictures

        return pictures.fit(self, ax)

    def summary(self) -> str:
        """The parameters with their errors, the noise, the outliers, and how it ended, as a table."""
        width = max([len(name) for name in self.params], default=0) + 2
        rows = [f"{name:<{width}}{_shown(self.params[name], self.errors[name])}" for name in self.params]
        rows = [row if self._varies(name) else f"{row} (fixed)" for row, name in zip(rows, self.params, strict=True)]
        figures = textwrap.wrap(self.message, 78)
        return "\n".join([*rows, "", *figures])

    def _varies(self, name: str) -> bool:
        return any(each == name or each.startswith(f"{name}[") for each in self.names)

    def _figures(self) -> str:
        measured = 0 if self.data is None else self.data.y.size
        parts = [f"{measured:,} points, {len(self.names)} parameters"]
        if self.outliers is not None:
            parts.append(f"{len(self.outliers):,} outliers")
        if self.noise is not None:
            parts.append(f"noise {self.noise:.3g}{self._units()}")
        return ", ".join(parts)

    def _units(self) -> str:
        return "" if self.data is None or self.data.sigma is None else " in units of sigma"

    def _remarks(self) -> list[str]:
        remarks = [] if self.success else [_NOT_ENDED if self.status is Status.NOISE else self.status.advice]
        if not np.all(np.isfinite(self.pcov)):
            remarks.append("The data do not determine all parameters, or leave nothing to tell their errors by.")
        if self.differences:
            remarks.append("Derivatives by differences: the model is plain NumPy.")
        return remarks

    def __getstate__(self) -> dict[str, Any]:
        # A user's function can seldom be sent elsewhere; what is drawn there goes through the points alone.
        return {**self.__dict__, "curve": None, "uncertainty": None, "state": None}

    def __repr__(self) -> str:
        return f"Fit({self.message})"

    def __str__(self) -> str:
        return self.summary()


_NOT_ENDED = "A further step would still move it by more than its errors: start closer, or bound the parameters."


def _shown(value: Any, error: Any) -> str:
    """A number with its error to the digits that both have; an array as its entries."""
    if np.ndim(value):
        return "[" + ", ".join(_shown(v, e) for v, e in zip(np.ravel(value), np.ravel(error), strict=True)) + "]"
    if error == 0:
        return f"{value:.8g}"
    if not np.isfinite(error):
        return f"{value:.6g} ± unknown"
    digits = max(0, min(15, 1 - int(np.floor(np.log10(error)))))
    return f"{value:.{digits}f} ± {error:.2g}" if 1e-4 < abs(value) < 1e6 else f"{value:.8g} ± {error:.2g}"
