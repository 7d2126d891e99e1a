"""Sparse vectors from linear measurements, as differences of squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnpolyak.base.numbers import is_whole
from gnpolyak.instances.base import INSTANCES, Instance, around, check, corrupted, count, room, seeded, share
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Hadamard
from gnpolyak.problem.penalties import L1
from gnpolyak.problem.sensing import LinearSensing


@INSTANCES.register("sparse_recovery")
def sparse_recovery(
    d: int = 200, m: int = 1000, p_fail: float = 0.1, seed: int = 0, *, sparsity: int | None = None
) -> Instance:
    """A sparse vector x⋆ = u ⊙ u − v ⊙ v from Gaussian measurements, some of which are ruined.

    The nonzero entries are normal. The truth is the shortest (u, v), at which J loses rank wherever x⋆ is zero.

    Parameters
    ----------
    d, m : int
        Dimension and number of measurements.
    p_fail : float
        Probability of a ruined measurement, in [0, ½).
    seed : int
        Seed of the generator.
    sparsity : int, optional
        How many entries are not zero; by default d/20, and at least 1.

    Returns
    -------
    Instance
    """
    check("sparse_recovery", (count("d", d), count("m", m), share(p_fail), seeded(seed)))
    fits = sparsity is None or (is_whole(sparsity, 1) and sparsity <= d)
    check("sparse_recovery", [("sparsity", sparsity, fits, f"a whole number between 1 and {d}")])
    room("sparse_recovery", 2 * m * d, "d or m")
    sparsity = max(1, d // 20) if sparsity is None else sparsity
    settings = {"d": d, "m": m, "p_fail": p_fail, "seed": seed, "sparsity": sparsity}
    for_truth, for_rows, for_noise, for_start = np.random.default_rng(seed).spawn(4)
    x = np.zeros(d)
    x[for_truth.choice(d, sparsity, replace=False)] = for_truth.standard_normal(sparsity)
    rows = for_rows.standard_normal((m, d))
    truth = np.sqrt(np.maximum(x, 0.0)), np.sqrt(np.maximum(-x, 0.0))
    clean = rows @ x
    b: Any = corrupted(clean, p_fail, for_noise)
    problem = Composite(Hadamard(), L1(b), LinearSensing(rows))
    return Instance(problem, around(truth, for_start), truth, float(np.sum(np.abs(b - clean))), settings)
