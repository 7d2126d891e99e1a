"""Quantum state tomography from the expectation values of Pauli strings."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.numbers import is_whole
from gnpolyak.instances.base import INSTANCES, Instance, around, check, conditioning, corrupted, rank, seeded, share
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Hermitian
from gnpolyak.problem.penalties import L1
from gnpolyak.problem.sensing import PauliSensing

# Strings measured, for each real number that a state of rank r has.
_FOR_EACH = 8
_MOST_QUBITS = 10


@INSTANCES.register("quantum_tomography")
def quantum_tomography(
    *,
    qubits: int = 4,
    r: int = 2,
    kappa: float = 1.0,
    p_fail: float = 0.1,
    m: int | None = None,
    seed: int = 0,
) -> Instance:
    """Robust quantum tomography: min Σ | tr(P_k XXᴴ) − b_k | for a state of rank r and trace 1.

    X⋆ has random orthogonal columns, with lengths in the ratio 1 to 1/κ, spaced linearly. The strings are drawn without
    replacement, and a share of the expectation values is ruined by normal numbers of ten median ones.

    Parameters
    ----------
    qubits, r : int
        The number q of qubits, and the rank; the state is a matrix of shape (2^q, 2^q).
    kappa : float
        κ(X⋆) ≥ 1.
    p_fail : float
        Probability of a corrupted datum, in [0, ½).
    m : int, optional
        Number of Pauli strings; by default eight for each of the 2·2^q·r − r² unknowns, or all 4^q if those are fewer.
    seed : int
        Seed of the generator.

    Returns
    -------
    Instance
    """
    _check(qubits, r, kappa, p_fail, m, seed)
    d = 2**qubits
    m = min(4**qubits, _FOR_EACH * (2 * d * r - r * r)) if m is None else m
    for_truth, for_strings, for_noise, for_start = np.random.default_rng(seed).spawn(4)
    truth = _state(d, r, kappa, for_truth)
    chosen = np.sort(for_strings.permutation(4**qubits)[:m])
    sensing = PauliSensing(qubits, np.stack(np.divmod(chosen, d), axis=1))
    clean = _expected(sensing, truth)
    b: Any = corrupted(clean, p_fail, for_noise)
    return Instance(
        problem=Composite(Hermitian(), L1(b), sensing),
        x0=around(truth, for_start),
        truth=truth,
        target=float(np.sum(np.abs(b - clean))),
        settings={"qubits": qubits, "r": r, "kappa": kappa, "p_fail": p_fail, "m": m, "seed": seed},
    )


def _state(d: int, r: int, kappa: float, rng: np.random.Generator) -> np.ndarray:
    drawn = rng.standard_normal((d, r)) + 1j * rng.standard_normal((d, r))
    factor = np.linalg.qr(drawn)[0] * np.linspace(1.0, 1.0 / kappa, r)
    return factor / np.linalg.norm(factor)


def _expected(sensing: PauliSensing, x: np.ndarray) -> np.ndarray:
    with arrays.precise(True):
        return np.asarray(sensing.apply(jnp.asarray(x @ x.conj().T)))


def _check(qubits: Any, r: Any, kappa: Any, p_fail: Any, m: Any, seed: Any) -> None:
    whole = is_whole(qubits, 1) and qubits <= _MOST_QUBITS
    most = 4**qubits if whole else 0
    rules = (
        ("qubits", qubits, whole, f"a whole number of qubits from 1 to {_MOST_QUBITS}"),
        rank("r", r, 2**qubits if whole else 0),
        conditioning(kappa),
        share(p_fail),
        ("m", m, m is None or (is_whole(m, 1) and m <= most), f"a whole number of strings from 1 to {most}"),
        seeded(seed),
    )
    check("quantum_tomography", rules)
