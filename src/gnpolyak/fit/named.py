"""`fit`: parameters by name, some of them bounded and some held fixed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gnpolyak.base.errors import InputError
from gnpolyak.fit.data import Data, numbers
from gnpolyak.fit.estimate import Task, estimated, finished, warn
from gnpolyak.fit.result import Fit


@dataclass(frozen=True)
class Parameter:
    """A parameter of a model: where it starts, its bounds, and whether it is held there.

    Parameters
    ----------
    value : float or array_like
        The start, or the value itself where it is fixed.
    min, max : float or array_like
        Bounds, of one number for all or one for each.
    fixed : bool
        Whether it keeps its value.
    """

    value: Any
    min: Any = -np.inf
    max: Any = np.inf
    fixed: bool = False


def fit(
    model: Callable[..., Any],
    params: Mapping[str, Any],
    x: Any,
    y: Any,
    *,
    sigma: Any = None,
    absolute_sigma: bool = False,
    nan_policy: str | None = None,
) -> Fit:
    """Fit a model with named parameters to data of which some may be wrong.

    What is estimated, and how, is said at `curve_fit`.

    Parameters
    ----------
    model : callable
        Called as ``model(x, **params)``, in jax.numpy or in plain NumPy, SciPy or Python.
    params : mapping of str to number, array or Parameter
        Where to start: numbers, arrays, or a `Parameter` with bounds or held fixed.
    x : array_like or object
        Where the data were taken; anything that the model understands.
    y : array_like
        The data.
    sigma, absolute_sigma, nan_policy
        As in `curve_fit`.

    Returns
    -------
    Fit
        With ``params`` and ``errors`` by name, ``covariance()``, ``outliers``, ``noise`` and ``plot()``; printed, it is
        a table.

    Examples
    --------
    >>> import numpy as np, gnpolyak as gnp
    >>> x = np.linspace(0.0, 4.0, 100)
    >>> y = 2.5 * np.exp(-1.3 * x) + 0.5
    >>> y[::4] += 3.0
    >>> start = {"height": 1.0, "rate": gnp.Parameter(0.5, min=0.0), "level": gnp.Parameter(0.5, fixed=True)}
    >>> res = gnp.fit(lambda x, height, rate, level: height * np.exp(-rate * x) + level, start, x, y)
    >>> {name: round(value, 8) for name, value in res.params.items()}
    {'height': 2.5, 'rate': 1.3, 'level': 0.5}
    """
    data = Data.of(x, y, sigma, nan_policy)
    layout = _Layout.of(params)
    if not callable(model):
        raise InputError(
            given=f"a model of type {type(model).__name__}",
            needed="a function model(x, **params)",
            missing="something to call",
            advice="pass the function itself, such as lambda x, slope, level: slope * x + level",
        )

    def predict(x: Any, p: Any) -> Any:
        return model(x, **layout.named(p))

    predict.__name__ = getattr(model, "__name__", type(model).__name__)
    task, start = Task.of(predict, data, layout.start, (layout.lower, layout.upper))
    res, tried = estimated(task, start, given=True)
    found = finished(task, res, tried, layout.labels, absolute_sigma, predict)
    errors = layout.named(found.standard_errors(), fixed=0.0)
    found = replace(found, params=_plain(layout.named(found.popt)), errors=_plain(errors))
    warn(found)
    return found


@dataclass(frozen=True)
class _Layout:
    """Where each parameter is in the flat vector of those that are free."""

    params: dict[str, Parameter]
    start: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    labels: tuple[str, ...]

    @classmethod
    def of(cls, params: Any) -> _Layout:
        if not isinstance(params, Mapping) or not all(isinstance(name, str) for name in params):
            raise InputError(
                given=f"params of type {type(params).__name__}",
                needed="a dict of starts by name",
                missing="the names",
                advice='write {"slope": 1.0, "level": 0.0}, or use gnpolyak.curve_fit for parameters without names',
            )
        read = {name: _read(name, given) for name, given in params.items()}
        free = [name for name, each in read.items() if not each.fixed]
        if not free:
            raise InputError(
                given=f"{len(read)} parameters, none of them free",
                needed="something to fit",
                missing="a parameter that is not fixed",
                advice="leave fixed=True out for those that are to be found",
            )
        parts = [[np.ravel(getattr(read[name], side)) for name in free] for side in ("value", "min", "max")]
        start, lower, upper = (np.concatenate(part) for part in parts)
        labels = [label for name in free for label in _labels(name, read[name].value)]
        return cls(read, start, lower, upper, tuple(labels))

    def named(self, p: Any, fixed: Any = None) -> dict[str, Any]:
        """The parameters by name from the flat vector p; `fixed` in place of those that do not vary."""
        found: dict[str, Any] = {}
        place = 0
        for name, each in self.params.items():
            if each.fixed:
                found[name] = each.value if fixed is None else np.full(np.shape(each.value), fixed)
                continue
            size = int(np.size(each.value))
            found[name] = p[place] if np.ndim(each.value) == 0 else p[place : place + size].reshape(each.value.shape)
            place += size
        return found


def _read(name: str, given: Any) -> Parameter:
    """The parameter with its numbers as float64 arrays, bounds like the value."""
    each = given if isinstance(given, Parameter) else Parameter(given)
    value = numbers(each.value, f"params[{name!r}]")
    value = value.reshape(np.shape(each.value))
    try:
        low, high = (np.broadcast_to(np.asarray(side, dtype=float), value.shape) for side in (each.min, each.max))
    except (TypeError, ValueError) as error:
        raise _outside(name, each) from error
    if not np.all(np.isfinite(value)) or not np.all((low <= value) & (value <= high)):
        raise _outside(name, each)
    return Parameter(value, low, high, bool(each.fixed))


def _outside(name: str, each: Parameter) -> InputError:
    return InputError(
        given=f"the parameter {name!r} with value {each.value!r}, min {each.min!r} and max {each.max!r}",
        needed="a finite value between its bounds",
        missing="one",
        advice="start it inside its bounds, with bounds of one number or shaped like the value",
    )


def _labels(name: str, value: np.ndarray) -> list[str]:
    if value.ndim == 0:
        return [name]
    return [f"{name}[{', '.join(map(str, place))}]" for place in np.ndindex(value.shape)]


def _plain(named: dict[str, Any]) -> dict[str, Any]:
    """Numbers as floats, arrays as they are."""
    return {name: float(each) if np.ndim(each) == 0 else np.array(each) for name, each in named.items()}
