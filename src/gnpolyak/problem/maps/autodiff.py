"""Any JAX function as a map."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base import failures, tracing
from gnpolyak.base.data import Data, Function
from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.namespace import Array
from gnpolyak.base.shapes import checked_once
from gnpolyak.base.trees import Tree
from gnpolyak.problem.maps.base import Map


class AutodiffMap(Map):
    """The map x ↦ ``function(x, *args)``, its Jacobian taken by autodiff and never formed.

    Parameters
    ----------
    function : callable
        Any function that JAX can trace, from an array or a pytree of arrays to one array.
    args : tuple
        The function's data, arrays or any pytrees of them, such as an Equinox module. They are checked, and take part
        in the choice of the dtype. Arrays that the function captures instead are read at each solve, as they are then.
    """

    function: Function

    def __init__(self, function: Callable[..., Array], args: tuple[Any, ...] = ()) -> None:
        if not callable(function) or isinstance(function, type):
            raise InputError(
                given=f"a model of type {type(function).__name__}: {shown(function)}",
                needed="a function of x or a gnpolyak Map",
                missing="something to call with x",
                advice=_what_to_pass(function),
            )
        self.function = Function(function, Data.of(args))

    @property
    def label(self) -> str:
        return f"AutodiffMap({self.function.name})"

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Map, Tree]]:
        t = rng.uniform(0.0, 2.0, 12)
        yield cls(lambda x, t: x[0] * jnp.exp(-x[1] * t), (t,)), rng.uniform(0.5, 2.0, 2)
        # A product of two leaves: the sizes of a and b can be exchanged, so JᵀJ is singular.
        yield cls(lambda x: jnp.outer(x["a"], x["b"])), {"a": rng.standard_normal(4), "b": rng.standard_normal(3)}
        # Intensities of a complex variable, which its phase does not change.
        rows, x = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape) for shape in ((12, 3), (3,)))
        yield cls(lambda x, rows: jnp.abs(rows @ x) ** 2, (rows,)), x

    def __call__(self, x: Tree) -> Array:
        return self.function(x)

    def settled(self, at: Tree) -> Self:
        found = self.traced(at)
        return self if found is None else found

    def traced(self, at: Tree) -> Self | None:
        """The map of the program that its function traces to, or None for a function that cannot be traced."""
        found = tracing.traced(self.function, at)
        return None if found is None else self._with(function=found)

    def check(self, x: Tree) -> None:
        if isinstance(self.function.function, tracing.Program):
            checked_once(AutodiffMap._check, self, x)
        else:
            self._check(x)

    def _check(self, x: Tree) -> None:
        try:
            image = failures.returned(self, x)
        except Exception as error:
            at = f"{self.label} at {_described(x)}"
            given = 1 + self.function.data.count
            wrong = failures.untraceable(at, error, "a function", self.function.function, given)
            raise (wrong if hasattr(x, "shape") else _of_a_tree(wrong, x)) from error
        failures.require_array(self.label, image)
        failures.require_precision(self.label, image.dtype, x)


def _what_to_pass(model: Any) -> str:
    if isinstance(model, type):
        return f"pass an object of that class: {model.__name__}()"
    if getattr(model, "ndim", 0) == 2:
        return "pass gnpolyak.Linear(A) for a matrix, or the function c itself, such as lambda x: A @ x"
    return "pass the function c itself, such as lambda x: A @ x, or a map"


def _of_a_tree(error: InputError, x: Tree) -> InputError:
    """The error with a word on the variable: a tuple of numbers may have been meant for one array of them."""
    if not isinstance(error.__cause__, TypeError) and "TypeError" not in error.missing:
        return error
    advice = f"let the function take a {type(x).__name__}, or pass x0 as one array, such as a list of numbers"
    return InputError(given=error.given, needed=error.needed, missing=error.missing, advice=advice)


def _described(x: Tree) -> str:
    shape = jax.tree.map(lambda leaf: leaf.shape, x)
    return f"a variable of shape {shape}" if hasattr(x, "shape") else f"a {type(x).__name__} of shapes {shape}"
