"""GNP as the authors' public code has it: LSMR on JᵀJ, warm-started from the last direction.

A warm start adds to the minimum-norm solution whatever the last direction has in the null space of JᵀJ, so in general
this is not the method that the theorem speaks of. (For c(X) = XXᵀ it happens to be: a step along Z keeps Z orthogonal
to the null space, see the tests.) It is here to be compared with, and nowhere else: the memory it needs travels as a
second leaf of the variable, so that nothing below this file has to know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import lineax as lx
import numpy as np
from jax import Array

from gnpolyak.problem.composite import Composite, Point
from gnpolyak.problem.maps import Map
from gnpolyak.problem.penalties import Penalty
from gnpolyak.problem.sensing import Sensing
from gnpolyak.steps.methods import Method
from gnpolyak.steps.metrics import Direction, Metric

# Tighter than LSMR's usual 1e-6: `step` refuses directions whose true residual is above 5e-7.
_RTOL = 1e-10


class _Remembering(Map):
    """c(x) for a variable (x, memory)."""

    inner_map: Map

    @property
    def label(self) -> str:
        return self.inner_map.label

    @property
    def offers(self) -> frozenset[str]:
        return self.inner_map.offers & {"image", "power_forms"}

    def __call__(self, x: Any) -> Array:
        return self.inner_map(x[0])

    def check(self, x: Any) -> None:
        self.inner_map.check(x[0])


class _Measured(Sensing):
    """A(c(x)) for a variable (x, memory); the memory has no influence on it."""

    inner_sensing: Sensing
    needs: ClassVar[str] = "power_forms"

    @property
    def label(self) -> str:
        return self.inner_sensing.label

    def measure(self, c: Any, x: Any) -> tuple[Array, Callable[[Array], Any]]:
        z, pullback = self.inner_sensing.measure(c.inner_map, x[0])
        return z, lambda v: (pullback(v), jnp.zeros_like(x[1]))

    def evaluate(self, c: Any, penalty: Penalty, x: Any) -> tuple[Array, Any]:
        value, g = self.inner_sensing.evaluate(c.inner_map, penalty, x[0])
        return value, (g, jnp.zeros_like(x[1]))

    def cast(self, dtype: np.dtype) -> Self:
        return type(self)(self.inner_sensing.cast(dtype))

    def check(self, x: Any) -> None:
        self.inner_sensing.check(x[0])


class _WarmLSMR(Metric):
    """s from LSMR on JᵀJs = g, started at the last s."""

    fraction: float

    def direction(self, problem: Composite, point: Point, gap: Array) -> Direction:
        (x, last), (g, _) = point.x, point.subgradient
        gram = problem.map.inner_map.gram(x)  # type: ignore[attr-defined]
        operator = lx.FunctionLinearOperator(gram, jax.eval_shape(lambda: x))
        solver = lx.LSMR(rtol=_RTOL, atol=0.0, max_steps=x.size, conlim=float("inf"))
        found = lx.linear_solve(operator, g, solver, options={"y0": last}, throw=False)
        s, image = found.value, gram(found.value)
        decrement = jnp.vdot(image, s)
        gamma = self.fraction * gap / decrement
        # The step x − γ·(…) leaves s itself in the variable's memory.
        memory = (last - s) / jnp.where(gamma > 0, gamma, 1.0)
        return Direction(
            s=(s, memory),
            decrement=decrement,
            inner_iterations=jnp.asarray(found.stats["num_steps"], jnp.int32),
            residual=jnp.linalg.norm(image - g) / jnp.linalg.norm(g),
            damping=jnp.zeros_like(gap),
        )

    def spread(self, problem: Composite, x: Any, subgradients: Any, damping: Array) -> Any:
        raise NotImplementedError("the authors' code has no cuts")


class _AuthorsGNP(Method):
    name: ClassVar[str] = "gnp-authors"

    @property
    def metric(self) -> Metric:
        return _WarmLSMR(1.0 if self.fraction is None else self.fraction)


def remembering(problem: Composite, x0: np.ndarray, fraction: float | None) -> tuple[Composite, Any, Method]:
    """The problem, the start and the method with which `minimize` does what the authors' code does."""
    remembered = Composite(_Remembering(problem.map), problem.penalty, _Measured(problem.sensing))
    return remembered, (x0, np.zeros_like(x0)), _AuthorsGNP(fraction=fraction)
