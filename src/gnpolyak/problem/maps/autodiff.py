"""Any JAX function as a map."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from gnpolyak.base import tracing
from gnpolyak.base.data import Data, Function
from gnpolyak.base.errors import InputError
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
        if not callable(function):
            raise InputError(
                given=f"a model of type {type(function).__name__}",
                needed="a function of x or a gnpolyak Map",
                missing="something to call",
                advice="pass the function c itself, such as lambda x: A @ x",
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
        return eqx.tree_at(lambda c: c.function, self, tracing.settled(self.function, at))

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
