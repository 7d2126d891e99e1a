"""A user's model as a map of its parameters: traced where it is JAX, and called where it is plain NumPy or Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError
from gnpolyak.fit.data import Data
from gnpolyak.problem.maps import AutodiffMap, Map, NumpyMap

Predict = Callable[[Any, Any], Any]
"""Points, and a flat vector of parameters, to values."""


def parameter_names(f: Any) -> tuple[str, ...] | None:
    """The names of the parameters of f(x, a, b, …); None where its signature does not tell."""
    try:
        found = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return None
    named = [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return None if any(p.kind == p.VAR_POSITIONAL for p in found) or len(named) < 2 else tuple(named[1:])


def as_map(predict: Predict, data: Data, starts: Iterable[np.ndarray], derivative: Predict | None, box: Any) -> Map:
    """The map from parameters to values like the data's.

    Parameters
    ----------
    predict : callable
        From points and a flat vector of parameters to values.
    data : Data
        The points and their values.
    starts : iterable of ndarray
        Parameters at which the model may be called; at the first one that works, it is.
    derivative : callable, optional
        The Jacobian by parameters, called like `predict`; with it nothing is traced.
    box : tuple of ndarray
        Lower and upper bounds.
    """
    first, *others = starts
    shape = data.y.shape
    if derivative is None and (traced := _traced(predict, data.x, shape, first)):
        return traced
    failures = []
    for p in (first, *others):
        for call, x in ((predict, data.given), (predict, data.x), (_pointwise(predict), data.x)):
            try:
                with np.errstate(all="ignore"):
                    _check_image(_call(call, x, shape)(p), shape)
            except InputError:
                raise
            except Exception as error:
                failures.append(error)
            else:
                return _on_host(call, x, shape, p, derivative, box)
    raise _unusable(failures[0]) from failures[0]


def _traced(predict: Predict, x: Any, shape: tuple[int, ...], p: np.ndarray) -> AutodiffMap | None:
    """The model as JAX sees it; None where it cannot be traced."""

    def model(p: Any) -> Any:
        image = jnp.asarray(predict(x, p))
        return jnp.broadcast_to(image, shape) if image.ndim == 0 else image

    model.__name__ = getattr(predict, "__name__", "model")
    with arrays.computing_in(np.dtype(np.float64), compiled=False):
        # Traced once, for this and for the solve.
        found = AutodiffMap(model).traced(p)
        if found is None:
            return None
        image = found.image(p)
    # Otherwise it is for the call with numbers to say, which has the model's own words.
    return found if jnp.issubdtype(image.dtype, jnp.floating) and image.shape == shape else None


def _on_host(
    predict: Predict, x: Any, shape: tuple[int, ...], p: np.ndarray, derivative: Predict | None, box: Any
) -> NumpyMap:
    function = _call(predict, x, shape)
    function.__name__ = getattr(predict, "__name__", "model")
    slope = None if derivative is None else lambda p: np.asarray(derivative(x, p)).reshape(-1, p.size)
    return NumpyMap(function, jacobian=slope, lower=box[0], upper=box[1]).settled(p)


def _call(predict: Predict, x: Any, shape: tuple[int, ...]) -> Any:
    def model(p: np.ndarray) -> np.ndarray:
        found = predict(x, p)
        if isinstance(found, jax.Array):
            raise _untraceable()
        image = np.asarray(found)
        return np.broadcast_to(image, shape) if image.ndim == 0 else image

    return model


def _pointwise(predict: Predict) -> Predict:
    """The model called for one point after the other, for those written with `math` or a plain if."""

    def each(x: Any, p: np.ndarray) -> np.ndarray:
        if not isinstance(x, np.ndarray) or not x.ndim:
            raise TypeError("the points are no array")
        return np.array([predict(point, p) for point in np.moveaxis(x, -1, 0)])

    each.__name__ = getattr(predict, "__name__", "model")
    return each


def _check_image(image: np.ndarray, shape: tuple[int, ...]) -> None:
    if image.dtype.kind not in "fiub":
        raise InputError(
            given=f"a model that returns {image.dtype}",
            needed="a model that returns real numbers",
            missing="a value for each point",
            advice="return one array of real numbers, such as numpy.abs(...) or the real and imaginary parts in a row",
        )
    if image.shape != shape:
        raise InputError(
            given=f"a model that returns shape {image.shape} for ydata of shape {shape}",
            needed="a value for each datum",
            missing="equal shapes",
            advice="call f(xdata, *p0) yourself and compare its shape with that of ydata",
        )


def _untraceable() -> InputError:
    return InputError(
        given="a model in jax.numpy that JAX cannot trace with these points",
        needed="a model that is traced, or one in plain NumPy",
        missing="a trace: called as it is, JAX may compute in single precision",
        advice="pass xdata as NumPy arrays, or write the model with numpy",
    )


def _unusable(error: Exception) -> InputError:
    said = (str(error).splitlines() or ["without a message"])[0]
    return InputError(
        given="a model that cannot be called with these points and parameters",
        needed="f(xdata, *p0) to return a value for each datum",
        missing=f"one: {type(error).__name__}: {said}",
        advice="call f(xdata, *p0) yourself; pass a p0 at which the model is defined",
    )
