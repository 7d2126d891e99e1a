"""How far an estimate may be from the truth, where the residuals are noise: covariances of M-estimates.

With ψ(r) = w(r) r for Tukey's weights at the noise, the estimate has the covariance τ² (JᵀAᵀAJ)† over the data that are
no outliers, with τ² = Σψ²/(m − n) / (mean ψ′)².

Variables at their bounds are held there: they have no variance of their own, and add none to that of the others.
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
from gnpolyak.base.measurements import counted, laid_out
from gnpolyak.base.sniffing import namespace
from gnpolyak.base.trees import Tree
from gnpolyak.problem import streams
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.formed import Formed
from gnpolyak.problem.penalties.base import Rows
from gnpolyak.problem.sharding import joined
from gnpolyak.problem.streams import on_host
from gnpolyak.steps.linear import LARGEST_DENSE_VARIABLE
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
            if along is None and self.problem.sensing.spread is not None:
                return _by_products(self.problem, joined(self.problem, self.x), self.sigma)
            if along is None and not self.problem.streamed:
                return _whole(self.problem, trees.on_host(self.x), self.sigma)
            x = joined(self.problem, jax.tree.map(jnp.asarray, self.x))
            directions = [arrays.cast(arrays.as_variable(d), dtype) for d in (() if along is None else along)]
            if self.problem.streamed:
                whole = _by_blocks(self.problem, x, self.sigma)
                flat = np.array([trees.ravel(d)[0] for d in directions])
                return whole if along is None else flat @ whole @ flat.T
            solved = [_solved(self.problem, x, d, self.sigma) for d in directions]
            return np.array([[float(trees.dot(d, s)) for s in solved] for d in directions])

    def standard_errors(self) -> Tree:
        """The standard deviation of each variable, in the shape of x."""
        _, unravel = trees.ravel(trees.on_host(self.x))
        deviations: Any = np.sqrt(np.maximum(np.diag(self.covariance()), 0.0))
        return jax.tree.map(np.array, unravel(deviations))


def _influence(r: Array, variables: int, sigma: float) -> tuple[Array, Array]:
    """Which data count as good, and τ²."""
    xp = namespace(r)
    u = xp.minimum(xp.abs(r) / (TUKEY * sigma), 1.0)
    good = counted(r) & (u < 1)
    psi, slope = r * (1 - u * u) ** 2, (1 - u * u) * (1 - 5 * u * u)
    count = xp.sum(good)
    mean = xp.sum(xp.where(good, slope, 0.0)) / count
    spare = xp.maximum(count - variables, 1)
    return good, xp.sum(xp.where(good, psi, 0.0) ** 2) / spare / mean**2


def _free(problem: Composite, x: Tree) -> Tree | None:
    """Which variables are not at a bound; None where there are no bounds."""
    return None if problem.box is None else jax.tree.map(lambda at: ~at, problem.box.active(x))


def _whole(problem: Composite, x: Tree, sigma: float) -> np.ndarray:
    """All of the covariance; on the host, where nothing but the model is compiled."""
    formed = Formed(problem, x)
    matrix: Any = formed.matrix(x)
    free: Any = _free(problem, x)
    matrix = matrix if free is None else np.where(np.asarray(trees.ravel(free)[0]), matrix, 0.0)
    return covariance_of(formed.seen(x)[1], matrix, sigma)


def _by_products(problem: Composite, x: Tree, sigma: float) -> np.ndarray:
    """All of the covariance where AJ is on several devices, and its Gram is made of a product for each variable."""
    gram, scale = _gram(problem, x, sigma)
    return np.asarray(scale) * _inverse(np.asarray(gram))[0]


@jax.jit
def _gram(problem: Composite, x: Tree, sigma: float) -> tuple[Array, Array]:
    """JᵀAᵀAJ over the data that are no outliers, and τ²."""
    r = problem.penalty.residuals(problem.measure(x)).ravel()
    with laid_out(problem.sensing.spread):
        good, scale = _influence(r, trees.size(x), sigma)
    products, kept, free = problem.linearised(x), good.astype(scale.dtype), _free(problem, x)
    products = products if free is None else products.over(free)
    flat, unravel = trees.ravel(x)
    units = jnp.eye(flat.size, dtype=flat.dtype)
    return jax.lax.map(lambda unit: trees.ravel(products.product(unravel(unit), kept)[1])[0], units), scale


def _by_blocks(problem: Composite, x: Tree, sigma: float) -> np.ndarray:
    """All of the covariance, where AJ is never there as a whole; two passes."""
    with on_host(problem):
        r, rows = problem.penalty.residuals(problem.measure(x)).ravel(), problem.penalty.rows
        good, scale = _influence(r, trees.size(x), sigma)
        counted: Any = good.astype(r.dtype)
        # Residuals are rows times their weights, and a square has them twice.
        counted = counted if rows is None else rows.adjoint(rows.adjoint(counted)[_kept(rows)])
        gram, free = streams.gram(problem, x, counted), _free(problem, x)
    mask = np.ones(len(gram)) if free is None else np.asarray(trees.ravel(free)[0])
    return np.asarray(scale) * _inverse(np.where(np.outer(mask, mask), gram, 0.0))[0]


def _kept(rows: Rows) -> Any:
    return slice(None) if rows.kept is None else rows.kept


def covariance_of(r: Any, matrix: Any, sigma: float) -> np.ndarray:
    """τ² (JᵀAᵀAJ)† from the residuals and AJ, over the data that are no outliers at the noise σ."""
    good, scale = _influence(r, matrix.shape[1], sigma)
    kept: Any = np.where(good[:, None], matrix, 0.0)
    return np.asarray(scale) * gram_inverse(kept)[0]


def gram_inverse(matrix: Any) -> tuple[np.ndarray, int]:
    """(MᵀM)†, by columns of length 1, and the rank of M as far as MᵀM tells it."""
    column: Any = lengths(matrix)
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


@jax.jit
def _solved(problem: Composite, x: Tree, direction: Tree, sigma: float) -> Tree:
    """τ² (JᵀAᵀAJ)†d, by conjugate gradients in the metric of the map."""
    r = problem.penalty.residuals(problem.measure(x)).ravel()
    with laid_out(problem.sensing.spread):
        good, scale = _influence(r, trees.size(x), sigma)
    products, kept, free = problem.linearised(x), good.astype(scale.dtype), _free(problem, x)
    if free is not None:
        products, direction = products.over(free), trees.masked(free, direction)
    solution, _ = jax.scipy.sparse.linalg.cg(
        lambda z: products.product(z, kept)[1],
        direction,
        tol=_TOLERANCE,
        M=over(free, problem.map.preconditioner(x)),
    )
    return trees.scale(scale, solution)
