"""Where the factors live: second moments of the measurement vectors, weighted by a bounded function of the data.

For Gaussian p and any function w of y = Σⱼ (pᵀxⱼ)ⁿ, Stein's identity gives

    E[w(y) (ppᵀ − I)] = E[∇²(w∘y)(p)],

a matrix whose range lies in span(x₁, …, x_r): away from that span p is independent of y. So w may be chosen freely
to tame outliers; it changes the eigenvalues and never the space. Only d² numbers are estimated, whatever the order,
which is why a multiple of dr measurements is enough for tensors too.
"""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from gnpolyak.problem.sensing import PowerSensing

# Below this dimension one d×d matrix (320 kB) is formed; above it, only products with a few columns.
_LARGEST_DENSE = 200
# Products of the moment with a block, and columns in a block beyond those asked for.
_DEPTH, _EXTRA = 10, 8
# A weight grows with the datum up to 2 medians and falls from there to zero at 6: data of the signal's own size keep
# their voice, and gross outliers have none at all, however large.
_FLAT, _GONE = 2.0, 6.0

Action = Callable[[np.ndarray], np.ndarray]


def redescend(values: Array) -> Array:
    """ψ(v): v over its median size up to 2, then falling to 0 at 6, so that no share of outliers need be known."""
    size = jnp.abs(values)
    middle = jnp.median(size)
    ratio = size / jnp.where(middle > 0, middle, 1.0)
    falling = _FLAT * (_GONE - ratio) / (_GONE - _FLAT)
    return jnp.sign(values) * jnp.clip(jnp.minimum(ratio, falling), 0.0, _FLAT)


def weights(b: np.ndarray, n: int, *, centred: bool) -> np.ndarray:
    """The weight w(y) of each p.

    E[(pᵀu)² | y] − 1 grows like |y|^(2/n), and a weight of that shape separates best. For odd n the sign of y says
    nothing about ppᵀ, since p and −p are equally likely. For even n it tells large p from small p, or from large q.
    """
    if n % 2:
        size = np.abs(b) ** (2 / n)
        shaped = size - np.median(size)
    else:
        shifted = b if centred else b - np.median(b)
        shaped = np.sign(shifted) * np.abs(shifted) ** (2 / n)
    return np.asarray(redescend(jnp.asarray(shaped)))


def moment(sensing: PowerSensing, w: np.ndarray, n: int) -> Action:
    """Z ↦ (1/m) [Σ wᵢ (pᵢpᵢᵀ − σ²I) ± Σ wᵢ (qᵢqᵢᵀ − σ²I)] Z, with − for even n, where large q make y small.

    σ² is the mean square of the entries: 1 for the paper's rows.
    """
    sign = 1.0 if n % 2 else -1.0
    scaled = (jnp.asarray(w, sensing.p.dtype) / len(w))[:, None]

    def act(z: np.ndarray) -> np.ndarray:
        columns = jnp.asarray(z, sensing.p.dtype)
        total = _weighted(sensing.p, scaled, columns)
        if sensing.q is not None:
            total = total + sign * _weighted(sensing.q, scaled, columns)
        return np.asarray(total, np.float64)

    return act


@eqx.filter_jit
def _weighted(rows: Array, w: Array, z: Array) -> Array:
    variance = jnp.mean(jnp.square(rows))
    return rows.T @ (w * (rows @ z)) - variance * jnp.sum(w) * z


def leading(act: Action, d: int, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The `count` largest eigenvalues of a symmetric action, falling, with their vectors."""
    if d <= _LARGEST_DENSE:
        matrix = act(np.eye(d))
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    else:
        values, vectors = _block_krylov(act, d, count, rng)
    return values[::-1][:count], vectors[:, ::-1][:, :count]


def _block_krylov(act: Action, d: int, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rayleigh–Ritz on span(Z, BZ, B²Z, …), kept orthonormal throughout: memory d·(count + 8)·10, never d²."""
    block, _ = np.linalg.qr(rng.standard_normal((d, min(d, count + _EXTRA))))
    basis, image = block, act(block)
    for _ in range(_DEPTH - 1):
        fresh = image[:, -block.shape[1] :]
        # Twice is enough: one projection leaves the rounding of the large components it removed.
        for _ in range(2):
            fresh = fresh - basis @ (basis.T @ fresh)
        if basis.shape[1] + fresh.shape[1] > d:
            break
        fresh, _ = np.linalg.qr(fresh)
        basis, image = np.hstack([basis, fresh]), np.hstack([image, act(fresh)])
    small = basis.T @ image
    values, rotation = np.linalg.eigh((small + small.T) / 2)
    return values, basis @ rotation


def edge(sensing: PowerSensing, w: np.ndarray, n: int, rng: np.random.Generator, trials: int) -> float:
    """The largest eigenvalue of the moment when the weights are shuffled, so that they know nothing of their rows."""
    d = sensing.p.shape[1]
    return max(float(leading(moment(sensing, rng.permutation(w), n), d, 1, rng)[0][0]) for _ in range(trials))
