"""Peers for quantum states from expectation values."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import gnpolyak as gnp
from gnpolyak.base import arrays
from gnpolyak.bench.zoo.watch import Watch

_MEDIANS = 6.0


def observables(case: gnp.instances.Instance) -> np.ndarray:
    """The measured matrices, one a row a_k: tr(P_k ρ) is the real part of a_k · vec(ρ)."""
    problem: Any = case.problem
    d = case.x0.shape[0]
    with arrays.precise(True):

        def real_part(flat: Any) -> Any:
            return problem.sensing.apply((flat[: d * d] + 1j * flat[d * d :]).reshape(d, d))

        rows = np.asarray(jax.jit(jax.jacfwd(real_part))(jnp.zeros(2 * d * d)))
    return rows[:, : d * d] - 1j * rows[:, d * d :]


def state(rho: np.ndarray, r: int | None = None) -> np.ndarray:
    """The nearest matrix without negative eigenvalues, of rank r where that is given."""
    values, vectors = np.linalg.eigh((rho + rho.conj().T) / 2)
    values = np.maximum(values, 0)
    values[: len(values) - (r or len(values))] = 0
    return (vectors * values) @ vectors.conj().T


def projected_least_squares(case: gnp.instances.Instance, watch: Watch) -> None:
    """Linear inversion, which for orthogonal strings is a product, then the nearest state of the rank."""
    a, b, d, r = _parts(case)
    watch.start()
    rho = state((a.conj().T @ b / d).reshape(d, d), r)
    watch(_formed(rho / np.trace(rho).real))


def thresholded_projections(case: gnp.instances.Instance, watch: Watch) -> None:
    """Data that misfit by more than six medians are put aside; least squares of the others, projected to the rank."""
    a, b, d, r = _parts(case)
    watch.start()
    adjoint = a.conj().T / d
    rho = np.zeros((d, d), complex)
    while True:
        left = b - (a @ rho.ravel()).real
        kept = np.abs(left) <= _MEDIANS * np.median(np.abs(left))
        rho = state(rho + (adjoint @ np.where(kept, left, 0)).reshape(d, d), r)
        watch(_formed(rho))


def _parts(case: gnp.instances.Instance) -> tuple[np.ndarray, np.ndarray, int, int]:
    problem: Any = case.problem
    return observables(case), np.asarray(problem.penalty.b), *case.x0.shape


def _formed(matrix: np.ndarray) -> Any:
    return lambda: matrix
