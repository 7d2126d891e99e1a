"""Robust linear regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnpolyak.base.errors import shown
from gnpolyak.base.numbers import is_real, is_whole
from gnpolyak.instances.base import (
    INSTANCES,
    Instance,
    around,
    check,
    conditioned,
    conditioning,
    corrupted,
    count,
    room,
    seeded,
    share,
)
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Linear
from gnpolyak.problem.penalties import L1
from gnpolyak.problem.sensing import Identity


@INSTANCES.register("regression")
def regression(
    d: int = 10,
    m: int = 200,
    p_fail: float = 0.1,
    kappa: float = 1.0,
    noise: float = 0.0,
    seed: int = 0,
) -> Instance:
    """Linear regression by least absolute deviations, with gross outliers: min ‖Ax − b‖₁.

    A = QSV for orthonormal Q and V, random both, and S with singular values spaced linearly from 1 to 1/κ. The truth is
    normal; a share of the data is ruined by normal numbers of ten median data.

    Parameters
    ----------
    d, m : int
        Number of unknowns, and of data, of which there are at least as many.
    p_fail : float
        Probability of a ruined datum, in [0, ½).
    kappa : float
        Condition number of A, at least 1.
    noise : float
        Standard deviation of normal noise in every datum, relative to the median datum. With noise the truth is not the
        minimiser, and `target` is the value at the truth, which the minimum is below.
    seed : int
        Seed of the generator.

    Returns
    -------
    Instance
    """
    rules = (
        count("d", d),
        ("m", m, is_whole(m, 1) and is_whole(d, 1) and m >= d, f"a whole number of data of at least d = {shown(d)}"),
        share(p_fail),
        conditioning(kappa),
        ("noise", noise, is_real(noise) and noise >= 0, "a finite size of at least 0"),
        seeded(seed),
    )
    check("regression", rules)
    room("regression", 4 * m * d + 2 * d * d, "d or m")
    for_a, for_truth, for_outliers, for_start, for_noise = np.random.default_rng(seed).spawn(5)
    turn = np.linalg.qr(for_a.standard_normal((d, d)))[0]
    a = np.sqrt(m) * conditioned(m, d, kappa, for_a) @ turn
    truth = for_truth.standard_normal(d)
    clean = a @ truth
    small = noise * np.median(np.abs(clean)) * for_noise.standard_normal(m)
    b: Any = corrupted(clean + small, p_fail, for_outliers)
    return Instance(
        problem=Composite(Linear(a), L1(b), Identity()),
        x0=around(truth, for_start),
        truth=truth,
        target=float(np.sum(np.abs(b - clean))),
        settings={"d": d, "m": m, "p_fail": p_fail, "kappa": kappa, "noise": noise, "seed": seed},
        error=lambda x: float(np.linalg.norm(np.asarray(x) - truth) / np.linalg.norm(truth)),
    )
