"""Bilinear measurements: low-rank matrix sensing by matrices of rank one, and blind deconvolution."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnpolyak.base.numbers import is_whole
from gnpolyak.instances.base import (
    INSTANCES,
    Instance,
    Rule,
    around,
    check,
    conditioned,
    corrupted,
    count,
    factors,
    matrix,
    room,
    seeded,
    share,
)
from gnpolyak.problem.composite import composite
from gnpolyak.problem.maps import LowRank
from gnpolyak.problem.penalties import L1
from gnpolyak.problem.sensing import BilinearSensing


@INSTANCES.register("bilinear_sensing")
def bilinear_sensing(
    *,
    d1: int = 60,
    d2: int = 80,
    r: int = 5,
    kappa: float = 1.0,
    p_fail: float = 0.1,
    m: int | None = None,
    seed: int = 0,
) -> Instance:
    """A matrix of rank r from measurements pᵢᵀ M qᵢ with Gaussian rows, some of them ruined: min Σ |pᵢᵀUVᵀqᵢ − bᵢ|.

    Parameters
    ----------
    d1, d2 : int
        Rows and columns.
    r : int
        The rank.
    kappa : float
        The condition number of the matrix: its singular values are spaced linearly from 1 to 1/κ.
    p_fail : float
        The share of ruined measurements: normal numbers of ten median data are added to them.
    m : int, optional
        Number of measurements; by default 8r(d1 + d2).
    seed : int
        Seed of the generator.
    """
    settings = {"d1": d1, "d2": d2, "r": r, "kappa": kappa, "p_fail": p_fail, "m": m, "seed": seed}
    check("bilinear_sensing", (*matrix(d1, d2, r, kappa), share(p_fail), _measurements(m), seeded(seed)))
    settings["m"] = m = 8 * r * (d1 + d2) if m is None else m
    room("bilinear_sensing", 2 * m * (d1 + d2), f"m (now {m:,}), d1 or d2")
    streams = np.random.default_rng(seed).spawn(5)
    truth = factors(d1, d2, r, kappa, streams[0])
    return _instance(truth, m, p_fail, streams[1:], settings)


@INSTANCES.register("blind_deconvolution")
def blind_deconvolution(*, d: int = 100, p_fail: float = 0.1, m: int | None = None, seed: int = 0) -> Instance:
    """Two signals w and x from products ⟨lᵢ, w⟩⟨rᵢ, x⟩ with Gaussian rows, some ruined: min Σ |⟨lᵢ, w⟩⟨rᵢ, x⟩ − bᵢ|.

    The real model of robust blind deconvolution: `BilinearSensing` of a `LowRank` matrix wxᵀ of rank one.

    Parameters
    ----------
    d : int
        The length of either signal, which are directions drawn at random.
    p_fail : float
        The share of ruined measurements: normal numbers of ten median data are added to them.
    m : int, optional
        Number of measurements; by default 16d.
    seed : int
        Seed of the generator.
    """
    settings = {"d": d, "p_fail": p_fail, "m": m, "seed": seed}
    check("blind_deconvolution", (count("d", d), share(p_fail), _measurements(m), seeded(seed)))
    settings["m"] = m = 16 * d if m is None else m
    room("blind_deconvolution", 4 * m * d, f"d or m (now {m:,})")
    streams = np.random.default_rng(seed).spawn(5)
    truth = tuple(conditioned(d, 1, 1.0, streams[0]) for _ in range(2))
    return _instance(truth, m, p_fail, streams[1:], settings)


def _measurements(m: Any) -> Rule:
    return "m", m, m is None or is_whole(m, 1), "a whole number of measurements of at least 1"


def _instance(
    truth: tuple[np.ndarray, ...], m: int, p_fail: float, streams: list[np.random.Generator], settings: dict[str, Any]
) -> Instance:
    for_p, for_q, for_noise, for_start = streams
    p, q = (rng.standard_normal((m, len(factor))) for rng, factor in zip((for_p, for_q), truth, strict=True))
    clean = np.sum((p @ truth[0]) * (q @ truth[1]), axis=1)
    b = corrupted(clean, p_fail, for_noise)
    problem = composite(LowRank(), L1(b), sensing=BilinearSensing(p, q))
    return Instance(problem, around(truth, for_start), truth, float(np.sum(np.abs(b - clean))), settings)
