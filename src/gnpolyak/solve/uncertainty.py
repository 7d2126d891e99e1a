"""How far an estimate may be from the truth, where the residuals are noise: covariances of M-estimates.

With ψ(r) = w(r) r for Tukey's weights at the noise, the estimate has the covariance τ² (JᵀAᵀAJ)† over the data that are
no outliers, with τ² = Σψ²/(m − n) / (mean ψ′)².
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from gnpolyak.base import arrays, trees
from gnpolyak.base.errors import InputError
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.steps.linear import LARGEST_DENSE_VARIABLE
from gnpolyak.steps.weighted import jacobian
from gnpolyak.steps.weights import TUKEY

# The relative tolerance of a system for a direction: standard errors are not asked for to more digits.
_TOLERANCE = 1e-8


@dataclass(frozen=True)
class Uncertainty:
    """What is needed to tell the covariance at a point that ended in noise."""

    problem: Composite
    x: Tree
    sigma: float

    def covariance(self, along: Any = None) -> np.ndarray:
        """The covariance of all variables in the order of their ravelled leaves, or of ⟨d, x⟩ for each direction d."""
        if along is None and trees.size(self.x) > LARGEST_DENSE_VARIABLE:
            raise InputError(
                given=f"a covariance of {trees.size(self.x):,} variables",
                needed=f"at most {LARGEST_DENSE_VARIABLE} variables for the whole matrix",
                missing="the directions that are wanted",
                advice="pass along=[d, ...] with directions d like x, such as Jᵀe for an entry of the image",
            )
        dtype = arrays.working_dtype(self.x)
        with arrays.computing_in(dtype):
            x = jax.tree.map(jnp.asarray, self.x)
            if along is None:
                return np.asarray(_whole(self.problem, x, self.sigma))
            directions = [arrays.cast(arrays.as_variable(d), dtype) for d in along]
            solved = [_solved(self.problem, x, d, self.sigma) for d in directions]
            return np.array([[float(trees.dot(d, s)) for s in solved] for d in directions])

    def standard_errors(self) -> Tree:
        """The standard deviation of each variable, in the shape of x."""
        _, unravel = trees.ravel(jax.tree.map(np.asarray, self.x))
        deviations = np.sqrt(np.maximum(np.diag(self.covariance()), 0.0))
        with arrays.precise(True):
            return jax.tree.map(np.array, unravel(jnp.asarray(deviations)))


def _influence(problem: Composite, x: Tree, sigma: float) -> tuple[Array, Array]:
    """Which data count as good, and τ²."""
    r = problem.penalty.residuals(problem.measure(x)).ravel()
    u = jnp.minimum(jnp.abs(r) / (TUKEY * sigma), 1.0)
    good = u < 1
    psi, slope = r * (1 - u * u) ** 2, (1 - u * u) * (1 - 5 * u * u)
    count = jnp.sum(good)
    mean = jnp.sum(jnp.where(good, slope, 0.0)) / count
    spare = jnp.maximum(count - trees.size(x), 1)
    return good, jnp.sum(jnp.where(good, psi, 0.0) ** 2) / spare / mean**2


@jax.jit
def _whole(problem: Composite, x: Tree, sigma: float) -> Array:
    matrix, _ = jacobian(problem, x)
    good, scale = _influence(problem, x, sigma)
    kept = jnp.where(good[:, None], matrix, 0.0)
    column = jnp.linalg.norm(kept, axis=0)
    column = jnp.where(column > 0, column, 1.0)
    values, vectors = jnp.linalg.eigh((kept / column).T @ (kept / column))
    seen = values > matrix.shape[1] * jnp.finfo(matrix.dtype).eps * jnp.max(values)
    inverse = (vectors * jnp.where(seen, 1.0 / jnp.where(seen, values, 1.0), 0.0)) @ vectors.T
    return scale * inverse / jnp.outer(column, column)


@jax.jit
def _solved(problem: Composite, x: Tree, direction: Tree, sigma: float) -> Tree:
    """τ² (JᵀAᵀAJ)†d, by conjugate gradients in the metric of the map."""
    good, scale = _influence(problem, x, sigma)
    product, kept = problem.linearised(x).product, good.astype(scale.dtype)
    solution, _ = jax.scipy.sparse.linalg.cg(
        lambda z: product(z, kept)[1], direction, tol=_TOLERANCE, M=problem.map.preconditioner(x)
    )
    return trees.scale(scale, solution)
