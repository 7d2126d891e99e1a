"""Any JAX function as a map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jax import Array

from gnpolyak.base.arrays import as_data
from gnpolyak.base.errors import InputError
from gnpolyak.base.trees import Tree
from gnpolyak.problem.maps.base import Map


class AutodiffMap(Map):
    """The map x ↦ ``function(x, *args)``, its Jacobian taken by autodiff and never formed.

    Parameters
    ----------
    function : callable
        Any function that JAX can trace, from an array or a pytree of arrays to one array.
    args : tuple of array_like
        The function's data. Passed this way they are arguments of the compiled loop; a large array that the
        function captures instead becomes a constant of it, and every new closure is compiled anew.
    """

    function: Callable[..., Array] = eqx.field(static=True)
    args: tuple[Array, ...]

    def __init__(self, function: Callable[..., Array], args: tuple[Any, ...] = ()) -> None:
        self.function = function
        self.args = tuple(as_data(arg, f"args[{i}]") for i, arg in enumerate(args))

    @property
    def label(self) -> str:
        return f"AutodiffMap({getattr(self.function, '__name__', type(self.function).__name__)})"

    def __call__(self, x: Tree) -> Array:
        return self.function(x, *self.args)

    def check(self, x: Tree) -> None:
        try:
            image = jax.eval_shape(self, x)
        except Exception as error:
            raise InputError(
                given=f"{self.label} at a variable of shape {jax.tree.map(lambda leaf: leaf.shape, x)}",
                needed="a function that JAX can trace at that variable",
                missing=f"a clean trace: {type(error).__name__}: {str(error).splitlines()[0]}",
                advice="call the function on x0 yourself, and write it with jax.numpy instead of numpy",
            ) from error
        if not hasattr(image, "shape"):
            raise InputError(
                given=f"{self.label}, which returns a {type(image).__name__}",
                needed="a function that returns one array",
                missing="a single array",
                advice="concatenate the parts with jax.numpy.concatenate",
            )
