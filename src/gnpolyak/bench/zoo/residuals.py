"""Peers for residuals of a few unknowns: SciPy's robust least squares, linear programs, reweighted least squares."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

import gnpolyak as gnp
from gnpolyak.base import arrays
from gnpolyak.bench.peers import F64, require
from gnpolyak.bench.zoo.watch import Watch

_HALVED, _LEAST = 0.5, 1e-13
# The scale of soft_l1 falls tenfold from one solve to the next, each begun where the last one ended.
_SCALES = 10.0 ** -np.arange(11)


def linear(case: gnp.instances.Instance) -> tuple[np.ndarray, np.ndarray]:
    """A and b of a linear model: that of the map, or that of the measurements."""
    problem: Any = case.problem
    b = np.asarray(problem.penalty.b)
    if isinstance(problem.map, gnp.Linear):
        return np.asarray(problem.map.a), b
    with arrays.precise(True):
        return np.asarray(jax.jacfwd(problem.sensing.apply)(jnp.zeros(len(case.x0[0])))), b


def linear_program(case: gnp.instances.Instance, watch: Watch) -> None:
    """Least absolute deviations by HiGHS: min Σ (s + t) with Ax + s − t = b, s, t ≥ 0."""
    optimize, sparse = require("scipy.optimize"), require("scipy.sparse")
    a, b = linear(case)
    watch.start()
    (m, d), eye = a.shape, sparse.identity(len(b))
    constraint = sparse.hstack([sparse.csr_matrix(a), eye, -eye]).tocsc()
    cost = np.concatenate([np.zeros(d), np.ones(2 * m)])
    bounds = [(None, None)] * d + [(0, None)] * (2 * m)
    found = optimize.linprog(cost, A_eq=constraint, b_eq=b, bounds=bounds, method="highs")
    watch(_unknown(case, found.x[:d]))


def reweighted_least_squares(case: gnp.instances.Instance, watch: Watch) -> None:
    """Least squares with weights 1/max(|residual|, ε), ε annealed."""
    a, b = linear(case)
    watch.start()
    x = np.linalg.lstsq(a, b, rcond=None)[0]
    eps = np.median(np.abs(b - a @ x))
    while True:
        weighted = a / np.maximum(np.abs(b - a @ x), eps)[:, None]
        x = np.linalg.solve(weighted.T @ a, weighted.T @ b)
        eps = max(_HALVED * eps, _LEAST)
        watch(_unknown(case, x))


def _unknown(case: gnp.instances.Instance, x: np.ndarray) -> Any:
    """The variable of a linear map, or the image of another."""
    return x if isinstance(case.problem.map, gnp.Linear) else lambda: x


@jax.jit
def _measured(problem: gnp.Composite, x: Any) -> Any:
    return problem.changes(x)


@jax.jit
def _jacobian(problem: gnp.Composite, x: Any) -> Any:
    flat, back = ravel_pytree(x)
    return jax.jacfwd(lambda flat: problem.changes(back(flat)))(flat)


def soft_l1(case: gnp.instances.Instance, watch: Watch) -> None:
    """SciPy's `least_squares` with loss="soft_l1", exact Jacobians, and a scale that falls; from the instance's start.

    The Jacobians are dense: with sparse ones and LSMR a step is no faster at these sizes, and less exact.
    """
    optimize = require("scipy.optimize")
    problem: Any = case.problem
    b = np.asarray(problem.penalty.b).ravel()
    with arrays.computing_in(F64):
        start: Any
        back: Any
        start, back = ravel_pytree(jax.tree.map(jnp.asarray, case.x0))
        watch.start()

        def residual(flat: np.ndarray) -> np.ndarray:
            return np.asarray(_measured(problem, back(flat))) - b

        def jacobian(flat: np.ndarray) -> np.ndarray:
            # Once a step, which makes it the place to look from.
            watch(back(flat) if case.error is not None else lambda: residual(flat) + b)
            return np.asarray(_jacobian(problem, back(flat)))

        flat = np.asarray(start)
        for scale in float(np.median(np.abs(residual(flat)))) * _SCALES:
            limits = {"xtol": 1e-12, "ftol": 1e-12, "gtol": 1e-14, "max_nfev": 100}
            flat = optimize.least_squares(residual, flat, jacobian, loss="soft_l1", f_scale=scale, **limits).x


def spectral_rotations(r: np.ndarray, i: np.ndarray, j: np.ndarray, n: int) -> np.ndarray:
    """Rotations from the leading eigenvectors of the matrix of all pairs, divided by their degrees."""
    whole = np.zeros((n, 3, n, 3))
    whole[i, :, j, :], whole[j, :, i, :] = r, r.transpose(0, 2, 1)
    degree = np.repeat(np.bincount(np.concatenate([i, j]), minlength=n), 3) ** -0.5
    vectors = np.linalg.eigh(degree[:, None] * whole.reshape(3 * n, 3 * n) * degree)[1][:, -3:]
    u, _, vt = np.linalg.svd((degree[:, None] * vectors).reshape(n, 3, 3))
    near: np.ndarray = u @ vt
    return near if np.linalg.det(near).sum() > 0 else near * np.array([1.0, 1.0, -1.0])


def rotation_averaging(case: gnp.instances.Instance, watch: Watch) -> None:
    """Reweighted averaging in the tangent space (Chatterjee and Govindu): a Laplacian system a step; from spectral."""
    rotation = require("scipy.spatial.transform").Rotation
    problem: Any = case.problem
    i, j, n = np.asarray(problem.map.i), np.asarray(problem.map.j), problem.map.n
    pairs = np.asarray(problem.penalty.b)
    watch.start()
    r = spectral_rotations(pairs, i, j, n)
    eps = None
    while True:
        left = rotation.from_matrix(r[i].transpose(0, 2, 1) @ pairs @ r[j]).as_rotvec()
        size = np.linalg.norm(left, axis=1)
        eps = np.median(size) if eps is None else max(_HALVED * eps, _LEAST)
        r = r @ rotation.from_rotvec(_laplacian_solved(1 / np.maximum(size, eps), left, i, j, n)).as_matrix()
        watch(rotation.from_matrix(r).as_quat(scalar_first=True))


def _laplacian_solved(w: np.ndarray, left: np.ndarray, i: np.ndarray, j: np.ndarray, n: int) -> np.ndarray:
    """ω with ωᵢ − ωⱼ ≈ left, by weighted least squares; the first rotation stays."""
    laplacian, right = np.zeros((n, n)), np.zeros((n, 3))
    for first, second, sign in ((i, j, 1.0), (j, i, -1.0)):
        np.add.at(laplacian, (first, first), w)
        np.add.at(laplacian, (first, second), -w)
        np.add.at(right, first, sign * w[:, None] * left)
    return np.concatenate([np.zeros((1, 3)), np.linalg.solve(laplacian[1:, 1:], right[1:])])
