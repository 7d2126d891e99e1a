"""Phase retrieval: a vector from the squared moduli of linear measurements."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnpolyak.base.numbers import is_whole
from gnpolyak.instances.base import INSTANCES, Instance, around, check, corrupted, count, seeded, share
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Hermitian, SymmetricCP
from gnpolyak.problem.penalties import L1
from gnpolyak.problem.sensing import PowerSensing


@INSTANCES.register("phase_retrieval")
def phase_retrieval(
    *,
    d: int = 200,
    complex: bool = False,  # noqa: A002 - the word for it; the type is not needed here
    p_fail: float = 0.1,
    m: int | None = None,
    seed: int = 0,
) -> Instance:
    """Robust phase retrieval: min Σ | |pᵢᵀx|² − bᵢ | over x, of which the sign, or the phase, cannot be known.

    The rows p are Gaussian, x⋆ has length 1, and a share of the data is ruined by normal numbers of ten median data.

    Parameters
    ----------
    d : int
        The dimension.
    complex : bool
        Whether x and the rows are complex. Then the variable is that of `Hermitian`, of shape (d, 1).
    p_fail : float
        Probability of a corrupted datum, in [0, ½).
    m : int, optional
        Number of measurements; by default 8d, and 16d for a complex x, which has twice as many unknowns.
    seed : int
        Seed of the generator.

    Returns
    -------
    Instance
    """
    _check(d, complex, p_fail, m, seed)
    m = (16 if complex else 8) * d if m is None else m
    for_truth, for_rows, for_noise, for_start = np.random.default_rng(seed).spawn(4)
    truth = _drawn((d, 1), complex, for_truth)
    truth = truth / np.linalg.norm(truth)
    rows = _drawn((m, d), complex, for_rows)
    clean = np.abs(rows @ truth)[:, 0] ** 2
    b: Any = corrupted(clean, p_fail, for_noise)
    return Instance(
        problem=Composite(Hermitian() if complex else SymmetricCP(2), L1(b), PowerSensing(rows)),
        x0=around(truth, for_start),
        truth=truth,
        target=float(np.sum(np.abs(b - clean))),
        settings={"d": d, "complex": complex, "p_fail": p_fail, "m": m, "seed": seed},
    )


def _drawn(shape: tuple[int, int], is_complex: bool, rng: np.random.Generator) -> np.ndarray:
    """Standard normal numbers; complex ones have parts of variance ½."""
    if not is_complex:
        return rng.standard_normal(shape)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / np.sqrt(2)


def _check(d: Any, is_complex: Any, p_fail: Any, m: Any, seed: Any) -> None:
    rules = (
        count("d", d),
        ("complex", is_complex, isinstance(is_complex, bool), "True or False"),
        share(p_fail),
        ("m", m, m is None or is_whole(m, 1), "a whole number of measurements of at least 1"),
        seeded(seed),
    )
    check("phase_retrieval", rules)
