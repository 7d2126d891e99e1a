"""How far an estimate may be from the truth, where the residuals are noise: covariances of M-estimates.

With ψ(r) = w(r) r for Tukey's weights at the noise, the estimate has the covariance τ² (JᵀAᵀAJ)† over the data that are
no outliers, with τ² = Σψ²/(m − n) / (mean ψ′)².

Variables at their bounds are held there: they have no variance of their own, and add none to that of the others.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base import arrays, trees
from gnpolyak.base.errors import InputError
from gnpolyak.base.krylov import conjugate_gradient
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.oracles import Oracle, Reductions, host_oracle, oracle_for
from gnpolyak.oracles.choice import LARGEST_DENSE_VARIABLE
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.sharding import joined
from gnpolyak.steps.weighted import lengths, over
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
        if (along is None or self.problem.streamed) and trees.size(self.x) > LARGEST_DENSE_VARIABLE:
            raise InputError(
                given=f"a covariance of {trees.size(self.x):,} variables",
                needed=f"at most {LARGEST_DENSE_VARIABLE} variables for the whole matrix",
                missing="the directions that are wanted",
                advice="pass along=[d, ...] with directions d like x, such as Jᵀe for an entry of the image"
                if not self.problem.streamed
                else "take fewer measurements, which fit in memory: with rows that are streamed the whole is formed",
            )
        dtype = arrays.working_dtype(self.x)
        with arrays.computing_in(dtype, compiled=along is not None):
            spread, x = self.problem.sensing.spread is not None, joined(self.problem, self.x)
            if along is None:
                return _on_devices(self.problem, x, self.sigma) if spread else self._whole()
            directions = [arrays.cast(arrays.as_variable(d), dtype) for d in along]
            if self.problem.streamed:
                flat = np.array([trees.ravel(trees.on_host(d), np)[0] for d in directions])
                return flat @ self._whole() @ flat.T
            solved = [self._solved(x, d, spread) for d in directions]
            return np.array([[float(trees.dot(d, s)) for s in solved] for d in directions])

    def _whole(self) -> np.ndarray:
        """All of the covariance, on the host, where nothing but a user's model is compiled."""
        x = trees.on_host(self.x)
        oracle = host_oracle(self.problem, x)
        with np.errstate(all="ignore"):
            if self.problem.streamed:
                gram, scale = _gram(oracle, x, self.sigma)
                return np.asarray(scale) * _inverse(gram)[0]
            r, matrix, free = oracle.residuals(x)[1], oracle.matrix(x), _free(oracle, x)
            matrix = matrix if free is None else np.where(oracle.ravel(free)[0], matrix, 0.0)
            return covariance_of(r, matrix, self.sigma)

    def _solved(self, x: Tree, direction: Tree, spread: bool) -> Tree:
        if spread:
            return _solved_on_devices(self.problem, x, direction, self.sigma)
        x, direction = trees.on_host(x), trees.on_host(direction)
        with np.errstate(all="ignore"):
            return _solved(host_oracle(self.problem, x), x, direction, self.sigma)

    def standard_errors(self) -> Tree:
        """The standard deviation of each variable, in the shape of x."""
        _, unravel = trees.ravel(trees.on_host(self.x), np)
        deviations: Any = np.sqrt(np.maximum(np.diag(self.covariance()), 0.0))
        return jax.tree.map(np.array, unravel(deviations))


def _influence(reduce: Reductions, r: Array, variables: int, sigma: float) -> tuple[Array, Array]:
    """Which data count as good, and τ²."""
    xp = reduce.xp
    u = xp.minimum(abs(r) / (TUKEY * sigma), 1.0)
    good = reduce.counted() & (u < 1)
    psi, slope = r * (1 - u * u) ** 2, (1 - u * u) * (1 - 5 * u * u)
    count, total, squares = reduce.sums(good, xp.where(good, slope, 0.0), xp.where(good, psi, 0.0) ** 2)
    spare = xp.maximum(count - variables, 1)
    return good, squares / spare / (total / count) ** 2


def _free(oracle: Oracle, x: Tree) -> Tree | None:
    """Which variables are not at a bound; None where there are no bounds."""
    return None if oracle.box is None else jax.tree.map(operator.invert, oracle.box.active(x))


def _gram(oracle: Oracle, x: Tree, sigma: float) -> tuple[Array, Array]:
    """JᵀAᵀAJ over the data that are no outliers, by a product for each variable, and τ²."""
    xp = oracle.xp
    _, r, kept = oracle.residuals(x)
    good, scale = _influence(oracle.reduce, r, trees.size(x), sigma)
    products, weights, free = oracle.linearise(x, kept), good.astype(r.dtype), _free(oracle, x)
    products = products if free is None else products.over(xp, free)
    flat, unravel = oracle.ravel(x)

    def row(unit: Array) -> Array:
        return oracle.ravel(products.product(unravel(unit), weights)[1])[0]

    units = xp.eye(flat.size, dtype=flat.dtype)
    return (jax.lax.map(row, units) if xp is jnp else np.stack([row(unit) for unit in units])), scale


def _solved(oracle: Oracle, x: Tree, direction: Tree, sigma: float) -> Tree:
    """τ² (JᵀAᵀAJ)†d, by conjugate gradients in the metric of the map."""
    xp = oracle.xp
    _, r, kept = oracle.residuals(x)
    good, scale = _influence(oracle.reduce, r, trees.size(x), sigma)
    products, weights, free = oracle.linearise(x, kept), good.astype(r.dtype), _free(oracle, x)
    if free is not None:
        products, direction = products.over(xp, free), trees.masked(xp, free, direction)
    found = conjugate_gradient(
        xp,
        lambda z: products.product(z, weights)[1],
        direction,
        max_steps=min(10 * trees.size(x), 5000),
        rtol=_TOLERANCE,
        precondition=over(xp, free, oracle.metric(x)),
    )
    return trees.scale(scale, found.solution)


@jax.jit
def _solved_on_devices(problem: Composite, x: Tree, direction: Tree, sigma: float) -> Tree:
    return _solved(oracle_for(problem, x), x, direction, sigma)


@jax.jit
def _gram_on_devices(problem: Composite, x: Tree, sigma: float) -> tuple[Array, Array]:
    return _gram(oracle_for(problem, x), x, sigma)


def _on_devices(problem: Composite, x: Tree, sigma: float) -> np.ndarray:
    """All of the covariance where AJ is on several devices."""
    gram, scale = _gram_on_devices(problem, x, sigma)
    return np.asarray(scale) * _inverse(np.asarray(gram))[0]


def covariance_of(r: Any, matrix: Any, sigma: float) -> np.ndarray:
    """τ² (JᵀAᵀAJ)† from the residuals and AJ, over the data that are no outliers at the noise σ."""
    good, scale = _influence(Reductions(np), r, matrix.shape[1], sigma)
    kept: Any = np.where(good[:, None], matrix, 0.0)
    return np.asarray(scale) * gram_inverse(kept)[0]


def gram_inverse(matrix: Any) -> tuple[np.ndarray, int]:
    """(MᵀM)†, by columns of length 1, and the rank of M as far as MᵀM tells it."""
    column: Any = lengths(np, matrix)
    inverse, rank = _inverse((matrix / column).T @ (matrix / column))
    return inverse / np.outer(column, column), rank


def _inverse(gram: Any) -> tuple[np.ndarray, int]:
    """gram†, by columns of length 1, and its rank."""
    size = np.sqrt(np.diag(gram))
    column = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(gram / np.outer(column, column))
    seen = values > len(gram) * np.finfo(gram.dtype).eps * np.max(values)
    inverse = (vectors * np.where(seen, 1.0 / np.where(seen, values, 1.0), 0.0)) @ vectors.T
    return inverse / np.outer(column, column), int(np.sum(seen))
