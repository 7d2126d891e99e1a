"""A penalty from two functions of the user's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

import jax.numpy as jnp
import numpy as np

from gnpolyak.base import tracing
from gnpolyak.base.data import Data, Function
from gnpolyak.base.errors import InputError
from gnpolyak.base.modules import field
from gnpolyak.base.namespace import Array
from gnpolyak.base.numbers import require_real
from gnpolyak.base.trees import Tree
from gnpolyak.problem.penalties.base import Penalty


class CustomPenalty(Penalty):
    """Your own h from two functions.

    Parameters
    ----------
    value : callable
        ``value(z, *args)``, h(z) as a scalar.
    subgradient : callable
        ``subgradient(z, *args)``, one element of ∂h(z), of the shape of z. It is used as it stands:
        write down the element you want at a kink.
    args : tuple
        Data of the two functions, arrays or any pytrees of them. They are checked, and take part in the choice of the
        dtype. Arrays that the functions capture instead are read at each solve, as they are then.
    infimum : float, optional
        A number h never falls below. Without it `minimize` needs ``target`` or ``lower_bound``.
    """

    value_function: Function
    subgradient_function: Function
    known_infimum: float | None = field(static=True)

    def __init__(
        self,
        value: Callable[..., Array],
        subgradient: Callable[..., Array],
        args: tuple[Any, ...] = (),
        infimum: float | None = None,
    ) -> None:
        for name, function in (("value", value), ("subgradient", subgradient)):
            _require_function(name, function)
        data = Data.of(args)
        self.value_function, self.subgradient_function = Function(value, data), Function(subgradient, data)
        self.known_infimum = None if infimum is None else require_real("infimum", infimum)

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Penalty, tuple[int, ...]]]:
        b = rng.standard_normal(6)
        value, subgradient = lambda z, b: jnp.max(jnp.abs(z - b)), _largest
        yield cls(value, subgradient, (b,), infimum=0.0), b.shape

    def written(self, name: str) -> tuple[Callable[..., Any], int]:
        stated = self.value_function if name == "value" else self.subgradient_function
        return stated.function, 1 + stated.data.count

    @property
    def infimum(self) -> float | None:
        return self.known_infimum

    def settled(self, at: Tree) -> Self:
        functions = (self.value_function, self.subgradient_function)
        now = tuple(tracing.settled(function, at) for function in functions)
        return self._with(value_function=now[0], subgradient_function=now[1])

    def value(self, z: Array) -> Array:
        return self.value_function(z)

    def subgradient(self, z: Array) -> Array:
        return self.subgradient_function(z)


def _require_function(name: str, function: Any) -> None:
    if not callable(function):
        raise InputError(
            given=f"a {name} of type {type(function).__name__}",
            needed=f"a function {name}(z, *args)",
            missing="something to call",
            advice="pass two functions, such as CustomPenalty(lambda z: jnp.sum(jnp.abs(z)), jnp.sign)",
        )


def _largest(z: Array, b: Array) -> Array:
    """The element of ∂‖z − b‖_∞ at its first largest entry."""
    return jnp.zeros_like(z).at[jnp.argmax(jnp.abs(z - b))].set(jnp.sign(z - b)[jnp.argmax(jnp.abs(z - b))])
