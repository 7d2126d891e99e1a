"""Peers for measurements of a low-rank matrix by rows, and for phases: spectral starts, and methods that descend."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

import gnpolyak as gnp
from gnpolyak.base import arrays
from gnpolyak.bench.peers import F64, require
from gnpolyak.bench.zoo.matrices import clipped, leading, table
from gnpolyak.bench.zoo.watch import Watch

# Steps between two looks; a look costs nothing on the clock, but a crossing to the host does.
_CHUNK = 20
# Adam's rate falls by a constant factor at each step, to nothing after so many: with a rate that stays it never comes
# closer than that. It begins as a share of the size of a typical number of the start.
_STEPS, _FIRST_RATE, _LAST_RATE = 1000, 0.1, 1e-11


def spectral(case: gnp.instances.Instance) -> Any:
    """A start from the singular or eigenvectors of Σ bᵢ aᵢ, with clipped bᵢ; of the size that the median datum has.

    Of entries that sum is the matrix of those seen. Tensors of order three and more have no such matrix: theirs is the
    instance's own start, near the truth.
    """
    problem: Any = case.problem
    b, sensing = np.asarray(problem.penalty.b), problem.sensing
    if isinstance(sensing, gnp.Entries):
        full, seen = table(case)
        return leading(clipped(full, seen) / seen.mean(), case.x0[0].shape[1])
    cut = clipped(b, np.ones(b.shape))
    if isinstance(sensing, gnp.BilinearSensing):
        u, v = leading((np.asarray(sensing.p) * cut[:, None]).T @ np.asarray(sensing.q), case.x0[0].shape[1])
        return _sized(case, (u, v), 1 / 2)
    if isinstance(problem.map, gnp.SymmetricCP) and problem.map.n == 2:
        sides = [np.asarray(rows) for rows in (sensing.p, sensing.q) if rows is not None]
        # Without q the mean of the data stands before the identity, which moves no eigenvector.
        parts = [(rows * cut[:, None]).T @ rows for rows in sides]
        values, vectors = np.linalg.eigh(parts[0] - parts[1] if len(parts) > 1 else parts[0])
        values = values - (np.median(values) if len(parts) == 1 else 0)
        r = case.x0.shape[1]
        return _sized(case, vectors[:, -r:] * np.sqrt(np.maximum(values[-r:], 0)), 1 / 2)
    return case.x0


def _sized(case: gnp.instances.Instance, x: Any, power: float) -> Any:
    problem: Any = case.problem
    with arrays.computing_in(F64):
        measured = np.abs(np.asarray(problem.measure(jax.tree.map(jnp.asarray, x))))
    ratio = np.median(np.abs(np.asarray(problem.penalty.b))) / np.median(measured)
    return jax.tree.map(lambda leaf: leaf * ratio**power, x)


def polyak(case: gnp.instances.Instance, watch: Watch) -> None:
    """Polyak's subgradient steps, told h*, with the library's own oracle."""
    _descended(case, watch, unscaled)


def scaled_subgradient(case: gnp.instances.Instance, watch: Watch) -> None:
    """ScaledSM of Tong, Ma and Chi: g_U (VᵀV)⁻¹ and g_V (UᵀU)⁻¹ with Polyak's length, told h*; the library's oracle."""
    _descended(case, watch, scaled)


def unscaled(x: Any, g: Any) -> Any:
    """The direction of Polyak's method: a function with a name, which is compiled once."""
    return g


def scaled(x: Any, g: Any) -> Any:
    """The direction of ScaledSM; for one factor, g(XᵀX)⁻¹."""
    if not isinstance(x, tuple):
        return _divided(g, x)
    return _divided(g[0], x[1]), _divided(g[1], x[0])


def _divided(g: Array, factor: Array) -> Array:
    return jnp.linalg.solve(factor.T @ factor, g.T).T


@functools.partial(jax.jit, static_argnames="direction")
def _stepped(problem: gnp.Composite, x: Any, target: Any, direction: Callable[[Any, Any], Any]) -> Any:
    def step(_: Any, x: Any) -> Any:
        point = problem.evaluate(x)
        s = direction(x, point.subgradient)
        inner = sum(jax.tree.leaves(jax.tree.map(jnp.vdot, point.subgradient, s)))
        length = jnp.where(inner > 0, (point.value - target) / jnp.where(inner > 0, inner, 1.0), 0.0)
        return jax.tree.map(lambda a, c: a - length * c, x, s)

    return lax.fori_loop(0, _CHUNK, step, x)


def _descended(case: gnp.instances.Instance, watch: Watch, direction: Callable[[Any, Any], Any]) -> None:
    with arrays.computing_in(F64):
        watch.start()
        x = jax.tree.map(jnp.asarray, spectral(case))
        while True:
            x = jax.block_until_ready(_stepped(case.problem, x, case.target, direction))
            watch(x)


def adam(case: gnp.instances.Instance, watch: Watch) -> None:
    """`optax.adam` on the l1 value, with a rate that falls by a constant factor."""
    method = _falling_adam()
    with arrays.computing_in(F64):
        watch.start()
        x = jax.tree.map(jnp.asarray, spectral(case))
        size = float(np.median(np.concatenate([np.abs(np.ravel(leaf)) for leaf in jax.tree.leaves(x)])))
        state = method.init(x)
        for _ in range(_STEPS // _CHUNK):
            x, state = jax.block_until_ready(_adam_steps(case.problem, x, state, size))
            watch(x)


def _falling_adam() -> Any:
    optax = require("optax")
    return optax.adam(optax.exponential_decay(1.0, _STEPS, _LAST_RATE / _FIRST_RATE))


@jax.jit
def _adam_steps(problem: gnp.Composite, x: Any, state: Any, size: Any) -> Any:
    method = _falling_adam()

    def step(_: Any, carry: Any) -> Any:
        x, state = carry
        update, state = method.update(problem.evaluate(x).subgradient, state)
        return jax.tree.map(lambda a, c: a + _FIRST_RATE * size * c, x, update), state

    return lax.fori_loop(0, _CHUNK, step, (x, state))


def alternating_projections(case: gnp.instances.Instance, watch: Watch) -> None:
    """Gerchberg and Saxton: the phases of Ax with the moduli of the data, then least squares for x; from spectral."""
    rows, moduli = _intensities(case)
    watch.start()
    inverse, x = np.linalg.pinv(rows), spectral(case)[:, 0]
    while True:
        phase = rows @ x
        x = inverse @ (moduli * phase / np.maximum(np.abs(phase), 1e-300))
        watch(x[:, None])


def median_amplitude_flow(case: gnp.instances.Instance, watch: Watch) -> None:
    """Reweighted amplitude flow that drops data beyond five medians of the misfit (Zhang, Chi and Liang)."""
    rows, moduli = _intensities(case)
    watch.start()
    x = spectral(case)[:, 0]
    while True:
        z = rows @ x
        misfit = np.abs(np.abs(z) - moduli)
        kept = misfit <= 5 * np.median(misfit)
        x = x - 0.8 / len(moduli) * (rows.conj().T @ (kept * (z - moduli * z / np.maximum(np.abs(z), 1e-300))))
        watch(x[:, None])


def _intensities(case: gnp.instances.Instance) -> tuple[np.ndarray, np.ndarray]:
    """The rows, and the moduli that the data are squares of."""
    problem: Any = case.problem
    return np.asarray(problem.sensing.p), np.sqrt(np.maximum(np.asarray(problem.penalty.b), 0.0))
