"""The composite problem f = h ∘ A ∘ c, as a method sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax import Array

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError
from gnpolyak.base.trees import Tree
from gnpolyak.problem.maps import AutodiffMap, Map
from gnpolyak.problem.penalties import Penalty
from gnpolyak.problem.sensing import Identity, Sensing


class Point(eqx.Module):
    """A point and what one oracle call says about it."""

    x: Tree
    value: Array
    subgradient: Tree


class Composite(eqx.Module):
    """Minimise f(x) = h(A(c(x))) over x.

    The metric of a method uses J = ∇c alone, never the Jacobian of A∘c.

    Parameters
    ----------
    map : Map
        c, the smooth map.
    penalty : Penalty
        h, the sharp penalty.
    sensing : Sensing
        A, the linear measurements of the image.
    """

    map: Map
    penalty: Penalty
    sensing: Sensing

    def evaluate(self, x: Tree) -> Point:
        """One oracle call: f(x) and g = Jᵀ(Aᵀv) for one v ∈ ∂h(A(c(x)))."""
        return Point(x, *self.sensing.evaluate(self.map, self.penalty, x))

    def image_subgradient(self, x: Tree) -> Array:
        """The subgradient v of h at the image c(x) itself, where the image is what is measured."""
        return self.penalty.subgradient(self.map(x))

    def cast(self, dtype: np.dtype) -> Composite:
        """The problem with its numbers in `dtype`, except those a sensing operator was asked to store otherwise."""
        return Composite(arrays.cast(self.map, dtype), arrays.cast(self.penalty, dtype), self.sensing.cast(dtype))

    @property
    def offers(self) -> frozenset[str]:
        """What a metric may ask of this problem: the map's structure, with the image only if it is measured."""
        measured = {"image"} if self.sensing.needs == "image" else set()
        return (self.map.offers - {"image"}) | (self.map.offers & measured)

    @property
    def label(self) -> str:
        """How errors and summaries call this problem."""
        return f"{type(self.penalty).__name__} of {self.sensing.label} of {self.map.label}"

    def check(self, x: Tree) -> None:
        """Raise InputError unless the parts fit each other and x, without computing or compiling anything."""
        if self.sensing.needs not in self.map.offers:
            raise self.map.lacking(self.sensing.needs)
        self.map.check(x)
        self.sensing.check(x)
        z = _measurements.eval_shape(self, x)
        self.penalty.check(z.shape)
        _check_penalty(self.penalty, z)


# Traced through jit only because jit remembers: checking the same problem again costs no second trace.
@jax.jit
def _measurements(problem: Composite, x: Tree) -> Array:
    return problem.sensing.measure(problem.map, x)[0]


@jax.jit
def _penalised(penalty: Penalty, z: Array) -> tuple[Array, Array]:
    return penalty.value(z), penalty.subgradient(z)


def _check_penalty(penalty: Penalty, z: jax.ShapeDtypeStruct) -> None:
    value, v = _penalised.eval_shape(penalty, z)
    if value.shape != () or v.shape != z.shape:
        raise InputError(
            given=f"{type(penalty).__name__} with a value of shape {value.shape} and a subgradient of shape {v.shape}",
            needed=f"a scalar value and a subgradient of the measurements' shape {z.shape}",
            missing="matching shapes",
            advice="sum inside the value, and return one number per measurement from the subgradient",
        )


def composite(
    model: Map | Callable[..., Array],
    penalty: Penalty,
    *,
    sensing: Sensing | None = None,
    args: tuple[Any, ...] = (),
) -> Composite:
    """State the problem: minimise penalty(model(x)) over x.

    Parameters
    ----------
    model : callable or Map
        Your smooth map c: any function of an array or a pytree that JAX can trace, or one of the library's maps.
    penalty : Penalty
        Your h, such as ``L1(b)``.
    sensing : Sensing, optional
        Linear measurements A between the two; by default the image itself.
    args : tuple of array_like
        Data for the model, called as ``model(x, *args)``. See `AutodiffMap` for why to prefer this to a closure.

    Returns
    -------
    Composite

    Examples
    --------
    >>> import numpy as np, gnpolyak as gnp
    >>> problem = gnp.composite(lambda x: x**3, gnp.L1(np.array([8.0, 27.0])))
    >>> res = gnp.minimize(problem, np.array([1.5, 2.5]), target=0.0)
    >>> np.round(res.x, 6)
    array([2., 3.])
    """
    if not isinstance(penalty, Penalty):
        raise InputError(
            given=f"a penalty of type {type(penalty).__name__}",
            needed="a Penalty: L1(b), L2(b) or CustomPenalty(value, subgradient)",
            missing="an explicit subgradient",
            advice="wrap your function as gnpolyak.CustomPenalty(value, subgradient)",
        )
    if isinstance(model, Map) and args:
        raise InputError(
            given=f"args together with the map {model.label}",
            needed="args only with a plain function",
            missing="a function to hand them to",
            advice="leave out args",
        )
    c = model if isinstance(model, Map) else AutodiffMap(_require_callable(model), args)
    return Composite(c, penalty, Identity() if sensing is None else sensing)


def _require_callable(model: Any) -> Callable[..., Array]:
    if callable(model):
        return model
    raise InputError(
        given=f"a model of type {type(model).__name__}",
        needed="a function of x or a gnpolyak Map",
        missing="something to call",
        advice="pass the function c itself, such as lambda x: A @ x",
    )
