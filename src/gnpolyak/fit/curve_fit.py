"""`curve_fit`, in SciPy's shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np

from gnpolyak.base.errors import InputError
from gnpolyak.fit.bounds import read_bounds
from gnpolyak.fit.data import Data, numbers
from gnpolyak.fit.estimate import Task, estimated, finished, warn
from gnpolyak.fit.model import Predict, parameter_names
from gnpolyak.fit.result import Fit


@overload
def curve_fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = ...,
    sigma: Any = ...,
    absolute_sigma: bool = ...,
    check_finite: bool | None = ...,
    bounds: Any = ...,
    *,
    jac: Callable[..., Any] | None = ...,
    full_output: Literal[False] = ...,
    nan_policy: str | None = ...,
) -> tuple[np.ndarray, np.ndarray]: ...
@overload
def curve_fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = ...,
    sigma: Any = ...,
    absolute_sigma: bool = ...,
    check_finite: bool | None = ...,
    bounds: Any = ...,
    *,
    jac: Callable[..., Any] | None = ...,
    full_output: Literal[True],
    nan_policy: str | None = ...,
) -> Fit: ...
def curve_fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: bool | None = None,
    bounds: Any = (-np.inf, np.inf),
    *,
    jac: Callable[..., Any] | None = None,
    full_output: bool = False,
    nan_policy: str | None = None,
) -> tuple[np.ndarray, np.ndarray] | Fit:
    """Fit a curve to data of which some may be wrong.

    The estimate is the one with Tukey's weights at the noise: as precise as least squares on the good data, up to 2% of
    its variance, and blind to the others. Which these are, and how large the noise is, need not be known; data without
    noise are fitted exactly.

    Parameters
    ----------
    f : callable
        The model, ``f(x, a, b, ...)``, in jax.numpy, or in plain NumPy, SciPy or Python: then derivatives are taken by
        differences.
    xdata : array_like or object
        Where the data were taken: M numbers, or k×M for k predictors, or anything that the model understands.
    ydata : array_like
        The data.
    p0 : array_like, optional
        Where to start. Without it, and where the fit from there looks poor, several starts are tried and the best fit
        is taken; the same ones each time.
    sigma : float or array_like, optional
        The standard deviation of the noise in ydata, or its relative size. Correlated noise is refused.
    absolute_sigma : bool
        Whether sigma is in the units of ydata. If not, the noise is estimated, and pcov with it.
    check_finite : bool, optional
        False lets xdata with NaN through to the model.
    bounds : (lower, upper) or scipy.optimize.Bounds
        Of the parameters: numbers, or one for each. The model is never called outside.
    jac : callable, optional
        The Jacobian by the parameters, called like f, M×n, for models in plain NumPy.
    full_output : bool
        Return a `Fit` instead of two arrays: outliers, noise, errors by name, ``plot()``, and why it ended.
    nan_policy : {None, "raise", "omit"}
        What to do with NaN in the data: say so, or leave the points out.

    Returns
    -------
    popt, pcov : ndarray
        The estimate and its covariance, in float64; infinite, with a warning, where the data do not tell it, and zero
        for parameters that ended at a bound.

    Warns
    -----
    FitWarning
        Where no fit was found, or pcov is infinite.

    Raises
    ------
    InputError
        On a model or data that cannot be fitted.

    Examples
    --------
    >>> import numpy as np, gnpolyak as gnp
    >>> x = np.linspace(0.0, 4.0, 100)
    >>> y = 2.5 * np.exp(-1.3 * x) + 0.5
    >>> y[::4] += 3.0
    >>> popt, pcov = gnp.curve_fit(lambda x, a, b, c: a * np.exp(-b * x) + c, x, y)
    >>> popt.round(8).tolist()
    [2.5, 1.3, 0.5]
    """
    data = Data.of(xdata, ydata, sigma, nan_policy, check_finite)
    names, start = _parameters(f, p0)
    box = read_bounds(bounds, len(names), start)
    predict = _unpacked(f)
    task, first = Task.of(predict, data, start, box, None if jac is None else _unpacked(_derivative(jac)))
    res, tried = estimated(task, first, start is not None)
    fit = finished(task, res, tried, names, absolute_sigma, predict)
    warn(fit)
    return fit if full_output else (fit.popt, fit.pcov)


def _unpacked(f: Callable[..., Any]) -> Predict:
    def predict(x: Any, p: Any) -> Any:
        return f(x, *(p[i] for i in range(p.shape[0])))

    predict.__name__ = getattr(f, "__name__", type(f).__name__)
    return predict


def _derivative(jac: Any) -> Callable[..., Any]:
    if not callable(jac):
        raise InputError(
            given=f"jac={jac!r}",
            needed="a function that returns the Jacobian, or None",
            missing="something to call",
            advice="leave jac out: derivatives are exact for models in jax.numpy, and careful differences otherwise",
        )
    return jac


def _parameters(f: Any, p0: Any) -> tuple[tuple[str, ...], np.ndarray | None]:
    """The names of the parameters, and the start where one is given."""
    if not callable(f):
        raise InputError(
            given=f"a model of type {type(f).__name__}",
            needed="a function f(x, a, b, ...)",
            missing="something to call",
            advice="pass the function itself, such as lambda x, a, b: a * x + b",
        )
    names = parameter_names(f)
    if p0 is None:
        if names is None:
            raise InputError(
                given="a model whose signature does not tell its parameters, and no p0",
                needed="the number of parameters",
                missing="p0, or names in the signature",
                advice="pass p0, or write the model as f(x, a, b, ...)",
            )
        return names, None
    start = numbers(p0, "p0").ravel()
    if not np.all(np.isfinite(start)) or not start.size:
        raise InputError(
            given=f"p0={p0!r}",
            needed="a finite number for each parameter",
            missing="one",
            advice="leave p0 out to have several starts tried",
        )
    plain = tuple(f"p{i}" for i in range(start.size))
    return names if names is not None and len(names) == start.size else plain, start
