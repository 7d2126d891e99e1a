"""Synchronisation of rotations."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnpolyak.base.numbers import is_real
from gnpolyak.instances.base import INSTANCES, Instance, around, check, count, room, seeded, share
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import RelativeRotations
from gnpolyak.problem.penalties import L1
from gnpolyak.problem.sensing import Identity


@INSTANCES.register("synchronisation")
def synchronisation(n: int = 50, p_fail: float = 0.3, seed: int = 0, *, observed: float = 0.3) -> Instance:
    """Rotations of space from relative rotations of pairs, a share of them wrong: min Σ ‖R_i R_jᵀ − R_ij‖₁.

    The n rotations are drawn uniformly, a share of all pairs is seen, and of these each is replaced with probability
    p_fail by another rotation, drawn uniformly too. The pairs always connect all rotations: those of a random ring are
    among them.

    Parameters
    ----------
    n : int
        Number of rotations, at least 3.
    p_fail : float
        Probability of a wrong pair, in [0, ½).
    seed : int
        Seed of the generator.
    observed : float
        Share of all pairs that is seen, in (0, 1].

    Returns
    -------
    Instance
        Its variable holds a quaternion for each rotation, shape (n, 4).
    """
    rules = (
        count("n", n, 3),
        share(p_fail),
        seeded(seed),
        ("observed", observed, is_real(observed) and 0 < observed <= 1, "a share in (0, 1]"),
    )
    check("synchronisation", rules)
    # All pairs in the order they are drawn in, and three matrices for each that is seen.
    room("synchronisation", (2 + 15 * observed) * n * n, "n")
    for_truth, for_pairs, for_wrong, for_start = np.random.default_rng(seed).spawn(4)
    truth = _uniform(n, for_truth)
    i, j = _pairs(n, observed, for_pairs)
    r = RelativeRotations.rotations(truth)
    clean = r[i] @ r[j].transpose(0, 2, 1)
    bad = for_wrong.random(len(i)) < p_fail
    wrong = RelativeRotations.rotations(_uniform(len(i), for_wrong))
    b: Any = np.where(bad[:, None, None], wrong, clean)
    return Instance(
        problem=Composite(RelativeRotations(i, j, n), L1(b), Identity()),
        x0=around(truth, for_start),
        truth=truth,
        target=float(np.sum(np.abs(b - clean))),
        settings={"n": n, "p_fail": p_fail, "seed": seed, "observed": observed},
    )


def _uniform(n: int, rng: np.random.Generator) -> np.ndarray:
    """Unit quaternions of rotations that are drawn uniformly."""
    q = rng.standard_normal((n, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def _pairs(n: int, observed: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The pairs i < j that are seen: a ring through all rotations, and others until there are enough."""
    ring = rng.permutation(n)
    ends = np.sort(np.stack([ring, np.roll(ring, 1)]), axis=0)
    i, j = np.triu_indices(n, 1)
    # Every seed has as many pairs: one compiled loop serves for all.
    order = rng.random(len(i))
    order[_place(ends[0], ends[1], n)] = -1.0
    seen = np.sort(np.argsort(order)[: max(n, round(observed * len(i)))])
    return i[seen], j[seen]


def _place(i: np.ndarray, j: np.ndarray, n: int) -> np.ndarray:
    """Where the pairs i < j stand in `numpy.triu_indices(n, 1)`."""
    return i * (2 * n - i - 1) // 2 + j - i - 1
