"""Low-rank matrices from their own entries: robust principal components, and completion."""

from __future__ import annotations

import numpy as np

from gnpolyak.instances.base import (
    INSTANCES,
    Instance,
    around,
    check,
    corrupted,
    factors,
    matrix,
    portion,
    room,
    seeded,
    share,
)
from gnpolyak.problem.composite import composite
from gnpolyak.problem.maps import LowRank
from gnpolyak.problem.penalties import L1
from gnpolyak.problem.sensing import Entries


@INSTANCES.register("robust_pca")
def robust_pca(
    *, d1: int = 200, d2: int = 150, r: int = 5, kappa: float = 1.0, p_fail: float = 0.1, seed: int = 0
) -> Instance:
    """A matrix of rank r, all of whose entries are seen and some of them ruined: min ‖UVᵀ − B‖₁.

    Parameters
    ----------
    d1, d2 : int
        Rows and columns.
    r : int
        The rank.
    kappa : float
        The condition number of the matrix: its singular values are spaced linearly from 1 to 1/κ.
    p_fail : float
        The share of ruined entries: normal numbers of ten median entries are added to them.
    seed : int
        Seed of the generator.
    """
    settings = {"d1": d1, "d2": d2, "r": r, "kappa": kappa, "p_fail": p_fail, "seed": seed}
    check("robust_pca", (*matrix(d1, d2, r, kappa), share(p_fail), seeded(seed)))
    # The data, what they were made of, and as much again while they are made.
    room("robust_pca", 4 * d1 * d2, "d1 or d2")
    for_truth, for_noise, for_start = np.random.default_rng(seed).spawn(3)
    truth = factors(d1, d2, r, kappa, for_truth)
    clean = truth[0] @ truth[1].T
    b = corrupted(clean, p_fail, for_noise)
    problem = composite(LowRank(), L1(b))
    return Instance(problem, around(truth, for_start), truth, float(np.sum(np.abs(b - clean))), settings)


@INSTANCES.register("matrix_completion")
def matrix_completion(
    *,
    d1: int = 400,
    d2: int = 300,
    r: int = 5,
    kappa: float = 1.0,
    observed: float = 0.3,
    p_fail: float = 0.1,
    seed: int = 0,
) -> Instance:
    """A matrix of rank r from some of its entries, a share of which are ruined: min Σ |(UVᵀ)ᵢⱼ − bᵢⱼ|.

    No full matrix is ever formed.

    Parameters
    ----------
    d1, d2 : int
        Rows and columns.
    r : int
        The rank.
    kappa : float
        The condition number of the matrix: its singular values are spaced linearly from 1 to 1/κ.
    observed : float
        The share of entries that are seen, drawn at random.
    p_fail : float
        The share of the seen entries that are ruined: normal numbers of ten median entries are added to them.
    seed : int
        Seed of the generator.
    """
    settings = {"d1": d1, "d2": d2, "r": r, "kappa": kappa, "observed": observed, "p_fail": p_fail, "seed": seed}
    check("matrix_completion", (*matrix(d1, d2, r, kappa), portion("observed", observed), share(p_fail), seeded(seed)))
    room("matrix_completion", 6 * observed * d1 * d2 + 3 * r * (d1 + d2), "share of entries, d1 or d2")
    for_truth, for_seen, for_noise, for_start = np.random.default_rng(seed).spawn(4)
    truth = factors(d1, d2, r, kappa, for_truth)
    rows, columns = _drawn(d1, d2, observed, for_seen)
    clean = _entries(truth, rows, columns)
    b = corrupted(clean, p_fail, for_noise)
    problem = composite(LowRank(), L1(b), sensing=Entries(rows, columns, shape=(d1, d2)))
    return Instance(problem, around(truth, for_start), truth, float(np.sum(np.abs(b - clean))), settings)


def _drawn(d1: int, d2: int, observed: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Different entries, sorted by rows, at a cost that does not grow with d1·d2."""
    wanted = max(1, round(observed * d1 * d2))
    places = rng.choice(d1 * d2, wanted, replace=False, shuffle=False)
    places.sort()
    return places // d2, places % d2


# Entries that are computed at a time: 8 MB for each factor of rank 10.
_BLOCK = 100_000


def _entries(x: tuple[np.ndarray, np.ndarray], rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    blocks = [slice(begin, begin + _BLOCK) for begin in range(0, len(rows), _BLOCK)]
    return np.concatenate([np.sum(x[0][rows[block]] * x[1][columns[block]], axis=1) for block in blocks])
