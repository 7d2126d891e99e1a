"""Low-rank tensor sensing, the paper's problem."""

from __future__ import annotations

from typing import Any

import numpy as np
from jax import Array

from gnpolyak import starts
from gnpolyak.base import arrays
from gnpolyak.base.numbers import is_real, is_whole
from gnpolyak.instances.base import INSTANCES, Instance, check, conditioning, count, floating, rank, room, seeded, share
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import SymmetricCP
from gnpolyak.problem.penalties import L1
from gnpolyak.problem.sensing import PowerSensing

DEFAULT_MEASUREMENTS = "8dr for n=2, else 8ndr"
"""What `default_measurements` computes, in words."""
# Numbers drawn at a time when rows are made: 8 MB.
_BLOCK = 2**20


def default_measurements(d: int, r: int, n: int = 2) -> int:
    """The number of measurements that the paper takes: 8dr for a matrix, 8ndr for a tensor of order n > 2."""
    return 8 * d * r * (1 if n == 2 else n)


@INSTANCES.register("tensor_sensing")
def tensor_sensing(
    d: int = 100,
    r: int = 5,
    n: int = 2,
    kappa: float = 10.0,
    p_fail: float = 0.0,
    m: int | None = None,
    seed: int = 0,
    *,
    radius: float = 0.1,
    corruption: float = 1.0,
    centred: bool = True,
    dtype: Any = np.float64,
) -> Instance:
    """The paper's low-rank tensor sensing: min ‖A(Σ xᵢ^⊗n) − b‖₁ with power measurements.

    P, Q are Gaussian, X⋆ has singular values spaced linearly from 1 to 1/κ, and each measurement is corrupted by
    N(0, corruption²) with probability p_fail. All numbers come from one NumPy generator stream per ingredient: the
    instance is the same in every dtype mode and on every device, and changing p_fail or κ leaves P and Q alone.

    Parameters
    ----------
    d, r, n : int
        Dimension, rank and order.
    kappa : float
        κ(X⋆) ≥ 1.
    p_fail : float
        Probability of a corrupted measurement, in [0, ½).
    m : int, optional
        Number of measurements; by default the paper's (`default_measurements`).
    seed : int
        Seed of the generator.
    radius : float
        ‖x0 − X⋆‖_F / ‖X⋆‖_F.
    corruption : float
        Standard deviation of what is added to a corrupted measurement; 1 in the paper.
    centred : bool
        Whether each measurement is a difference M(p^⊗n) − M(q^⊗n), as in the paper, or M(p^⊗n) alone. The rows p,
        the truth and the corruption are the same either way.
    dtype : dtype
        Floating type of the problem's data; generated in float64 and rounded.

    Returns
    -------
    Instance
    """
    settings = {"d": d, "r": r, "n": n, "kappa": kappa, "p_fail": p_fail, "m": m, "seed": seed, "radius": radius}
    settings |= {"corruption": corruption, "centred": centred}
    _check(**settings, dtype=dtype)
    settings["m"] = m = default_measurements(d, r, n) if m is None else m
    kept = (2 if centred else 1) * m * d
    room("tensor_sensing", kept, f"d or m (now {m:,} rows of {d:,})", itemsize=np.dtype(dtype).itemsize)
    for_truth, for_p, for_q, for_noise, for_start = np.random.default_rng(seed).spawn(5)
    truth = _conditioned(d, r, kappa, for_truth)
    p, plus = _measured(m, truth, n, np.dtype(dtype), for_p)
    q, minus = _measured(m, truth, n, np.dtype(dtype), for_q) if centred else (None, np.zeros(m))
    clean = plus - minus
    noise = np.where(for_noise.random(m) < p_fail, corruption * for_noise.standard_normal(m), 0.0)
    x0 = starts.near(truth, radius, for_start)
    b = clean + noise
    return Instance(
        problem=Composite(SymmetricCP(n), L1(b.astype(dtype)), PowerSensing(p, q)),
        x0=x0.astype(dtype),
        truth=truth,
        # The value the data imply at the truth: b − clean, not noise, so that its rounding is the problem's own.
        target=float(np.sum(np.abs(b - clean))),
        settings=settings,
    )


def _conditioned(d: int, r: int, kappa: float, rng: np.random.Generator) -> np.ndarray:
    """A d×r matrix with singular values spaced linearly from 1 to 1/κ and random singular vectors."""
    left, _ = np.linalg.qr(rng.standard_normal((d, r)))
    right, _ = np.linalg.qr(rng.standard_normal((r, r)))
    return left * np.linspace(1.0, 1.0 / kappa, r) @ right.T


def _measured(m: int, truth: np.ndarray, n: int, dtype: np.dtype, rng: np.random.Generator) -> tuple[Array, np.ndarray]:
    """Gaussian rows p as a JAX array, and Σⱼ (pᵀxⱼ)ⁿ for each, block by block: no second copy of the rows exists."""
    d = truth.shape[0]
    rows = arrays.aligned_empty((m, d), dtype)
    values = np.empty(m)
    height = max(1, _BLOCK // d)
    for start in range(0, m, height):
        block = rows[start : start + height]
        block[:] = rng.standard_normal(block.shape)
        values[start : start + height] = np.sum((block.astype(np.float64, copy=False) @ truth) ** n, axis=1)
    return arrays.adopt(rows), values


def _check(
    *,
    d: Any,
    r: Any,
    n: Any,
    kappa: Any,
    p_fail: Any,
    m: Any,
    seed: Any,
    radius: Any,
    corruption: Any,
    centred: Any,
    dtype: Any,
) -> None:
    rules = (
        count("d", d),
        rank("r", r, d),
        count("n", n, 2),
        conditioning(kappa),
        share(p_fail),
        ("m", m, m is None or is_whole(m, 1), "a whole number of measurements of at least 1"),
        seeded(seed),
        ("radius", radius, is_real(radius) and radius >= 0, "a finite radius of at least 0"),
        ("corruption", corruption, is_real(corruption) and corruption >= 0, "a finite size of at least 0"),
        ("centred", centred, isinstance(centred, bool), "True or False"),
        floating(dtype),
    )
    check("tensor_sensing", rules)
