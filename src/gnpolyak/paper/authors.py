"""GNP as the authors' public code has it: LSMR on JᵀJ, warm-started from the last direction.

A warm start adds to the minimum-norm solution whatever the last direction has in the null space of JᵀJ, so in general
this is not the method that the theorem speaks of. (For c(X) = XXᵀ it happens to be: a step along Z keeps Z orthogonal
to the null space, see the tests.) It is here to be compared with, and nowhere else.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import lineax as lx
from jax import Array

import gnpolyak as gnp
from gnpolyak.base.modules import field

# Tighter than LSMR's usual 1e-6: a step is refused whose true residual is above 5e-7.
_RTOL, _LARGEST_RESIDUAL = 1e-10, 5e-7


class WarmStartedGNP(gnp.Method):
    """GNP with the last direction for a memory.

    Parameters
    ----------
    fraction : float, optional
        θ; by default what the target rule prescribes.
    """

    name: ClassVar[str] = "gnp-authors"
    fraction: float | None = field(default=None, kw_only=True)

    def init(self, oracle: gnp.oracles.Oracle, start: gnp.Point, seen: Any) -> Array:
        return jnp.zeros_like(start.x)

    def propose(
        self, oracle: gnp.oracles.Oracle, point: gnp.Point, memory: Array, outlook: gnp.Outlook
    ) -> gnp.Proposal:
        x, g = point.x, point.subgradient
        gram = oracle.gram(x)
        operator = lx.FunctionLinearOperator(gram, jax.eval_shape(lambda: x))
        solver = lx.LSMR(rtol=_RTOL, atol=0.0, max_steps=x.size, conlim=float("inf"))
        found = lx.linear_solve(operator, g, solver, options={"y0": memory}, throw=False)
        s, image = found.value, gram(found.value)
        theta = outlook.fraction if self.fraction is None else self.fraction
        gamma = theta * outlook.gap / jnp.vdot(image, s)
        residual = jnp.linalg.norm(image - g) / jnp.linalg.norm(g)
        return gnp.Proposal(
            x=x - gamma * s,
            memory=s,
            step=gamma,
            inner_iterations=jnp.asarray(found.stats["num_steps"], jnp.int32),
            residual=residual,
            solved=(residual <= _LARGEST_RESIDUAL) & jnp.all(jnp.isfinite(s)),
        )
