"""Peers for tensors that are seen entry by entry: alternating least squares, plain and reweighted."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

import gnpolyak as gnp
from gnpolyak.bench.zoo.matrices import clipped
from gnpolyak.bench.zoo.watch import Watch

_HALVED, _LEAST = 0.5, 1e-13


def unfolded(tensor: np.ndarray, axis: int) -> np.ndarray:
    """The tensor as a matrix with one row for each index along an axis."""
    return np.moveaxis(tensor, axis, 0).reshape(tensor.shape[axis], -1)


def directions(tensor: np.ndarray, axis: int, r: int) -> np.ndarray:
    """The leading left singular vectors of an unfolding, from its small Gram matrix."""
    matrix = unfolded(tensor, axis)
    return np.linalg.eigh(matrix @ matrix.T)[1][:, : -r - 1 : -1]


def rows_solved(w: np.ndarray | None, b: np.ndarray, k: np.ndarray) -> np.ndarray:
    """For each row i the least-squares solution of kx ≈ bᵢ with weights wᵢ."""
    if w is None:
        return np.linalg.solve(k.T @ k, (b @ k).T).T
    r = k.shape[1]
    systems = (w @ (k[:, :, None] * k[:, None, :]).reshape(len(k), r * r)).reshape(-1, r, r)
    return np.linalg.solve(systems, ((w * b) @ k)[:, :, None])[:, :, 0]


def weights(left: np.ndarray, eps: float) -> np.ndarray:
    """1/max(|residual|, ε)."""
    return 1 / np.maximum(np.abs(left), eps)


def cp_als(case: gnp.instances.Instance, watch: Watch) -> None:
    """Alternating least squares for a CP decomposition, from singular vectors of the unfoldings."""
    _cp(case, watch, robust=False)


def cp_reweighted_als(case: gnp.instances.Instance, watch: Watch) -> None:
    """The same on data that are clipped for the start, and with annealed weights."""
    _cp(case, watch, robust=True)


def _cp(case: gnp.instances.Instance, watch: Watch, *, robust: bool) -> None:
    b, r = _data(case), case.settings["r"]
    axes = range(b.ndim)
    watch.start()
    first = clipped(b, np.ones(b.shape)) if robust else b
    factors = [directions(first, axis, r) for axis in axes]
    # The first sweeps are of plain least squares, which the start needs to become a decomposition at all.
    factors = _cp_swept(None, first, factors, 10) if robust else factors
    eps = float(np.median(np.abs(b - cp_image(factors))))
    while True:
        w = weights(b - cp_image(factors), eps) if robust else None
        factors = _cp_swept(w, b, factors, 1)
        eps = max(_HALVED * eps, _LEAST)
        watch(_formed(cp_image, list(factors)))


def _cp_swept(w: np.ndarray | None, b: np.ndarray, factors: list[np.ndarray], sweeps: int) -> list[np.ndarray]:
    factors = list(factors)
    for _ in range(sweeps):
        for axis in range(b.ndim):
            others = [factor for k, factor in enumerate(factors) if k != axis]
            product = reduce(lambda a, c: (a[:, None] * c[None]).reshape(-1, c.shape[1]), others)
            factors[axis] = rows_solved(None if w is None else unfolded(w, axis), unfolded(b, axis), product)
    return factors


def cp_image(factors: list[np.ndarray]) -> np.ndarray:
    """The tensor Σⱼ aⱼ ⊗ bⱼ ⊗ … of its factors."""
    first, *others = factors
    product = reduce(lambda a, c: (a[:, None] * c[None]).reshape(-1, c.shape[1]), others)
    return (first @ product.T).reshape([len(factor) for factor in factors])


def hooi(case: gnp.instances.Instance, watch: Watch) -> None:
    """Higher-order orthogonal iteration: alternating least squares for a Tucker decomposition."""
    b, ranks = _data(case), case.settings["ranks"]
    watch.start()
    factors = [directions(b, axis, r) for axis, r in enumerate(ranks)]
    while True:
        for axis, r in enumerate(ranks):
            others: list[Any] = [None if k == axis else factor.T for k, factor in enumerate(factors)]
            factors[axis] = directions(_times(b, others), axis, r)
        watch(_formed(tucker_image, _times(b, [factor.T for factor in factors]), list(factors)))


def tucker_reweighted_als(case: gnp.instances.Instance, watch: Watch) -> None:
    """Alternating least squares over core and factors with annealed weights, from clipped data."""
    b, ranks = _data(case), case.settings["ranks"]
    watch.start()
    first = clipped(b, np.ones(b.shape))
    factors = [directions(first, axis, r) for axis, r in enumerate(ranks)]
    core = _times(first, [factor.T for factor in factors])
    eps = float(np.median(np.abs(b - tucker_image(core, factors))))
    while True:
        w = weights(b - tucker_image(core, factors), eps)
        for axis in range(b.ndim):
            others: list[Any] = [None if k == axis else factor for k, factor in enumerate(factors)]
            factors[axis] = rows_solved(unfolded(w, axis), unfolded(b, axis), unfolded(_times(core, others), axis).T)
            # Orthonormal factors keep the systems as well conditioned as the tensor is.
            factors[axis], turn = np.linalg.qr(factors[axis])
            core = np.moveaxis(np.tensordot(turn, core, axes=(1, axis)), 0, axis)
        core = _core_solved(w, b, factors)
        eps = max(_HALVED * eps, _LEAST)
        watch(_formed(tucker_image, core, list(factors)))


def _core_solved(w: np.ndarray, b: np.ndarray, factors: list[np.ndarray]) -> np.ndarray:
    design = reduce(np.kron, factors)
    flat = w.ravel()[:, None] * design
    shape = [factor.shape[1] for factor in factors]
    return np.linalg.solve(design.T @ flat, flat.T @ b.ravel()).reshape(shape)


def tucker_image(core: np.ndarray, factors: list[np.ndarray]) -> np.ndarray:
    """The tensor C ×₁ A ×₂ B … of its core and factors."""
    return _times(core, list(factors))


def _times(tensor: np.ndarray, matrices: list[Any]) -> np.ndarray:
    """The tensor times a matrix along each axis; None leaves an axis as it is."""
    for axis, matrix in enumerate(matrices):
        if matrix is not None:
            tensor = np.moveaxis(np.tensordot(matrix, tensor, axes=(1, axis)), 0, axis)
    return tensor


def _data(case: gnp.instances.Instance) -> np.ndarray:
    problem: Any = case.problem
    return np.asarray(problem.penalty.b)


def _formed(form: Any, *parts: Any) -> Any:
    return lambda: form(*parts)
