"""Tensors of low rank, seen entry by entry: CP and Tucker decompositions."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gnpolyak.base.numbers import is_whole
from gnpolyak.base.trees import Tree
from gnpolyak.instances.base import (
    INSTANCES,
    Instance,
    Rule,
    around,
    check,
    conditioning,
    corrupted,
    count,
    rank,
    room,
    seeded,
    share,
)
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import CP, Map, Tucker
from gnpolyak.problem.penalties import L1
from gnpolyak.problem.sensing import Identity


@INSTANCES.register("tensor_decomposition")
def tensor_decomposition(
    shape: tuple[int, ...] = (30, 30, 30), r: int = 5, kappa: float = 1.0, p_fail: float = 0.1, seed: int = 0
) -> Instance:
    """A tensor Σⱼ sⱼ aⱼ ⊗ bⱼ ⊗ … of r terms, some of whose entries are ruined.

    The vectors are random and of length 1, and the sizes sⱼ of the terms are spaced linearly from 1 to 1/κ, each shared
    evenly by its vectors.

    Parameters
    ----------
    shape : tuple of int
        The dimensions, two or more.
    r : int
        The number of terms.
    kappa : float
        The largest term's size over the smallest's.
    p_fail : float
        Probability of a ruined entry, in [0, ½).
    seed : int
        Seed of the generator.

    Returns
    -------
    Instance
    """
    settings = {"shape": shape, "r": r, "kappa": kappa, "p_fail": p_fail, "seed": seed}
    check("tensor_decomposition", (_dimensions("shape", shape), count("r", r), *_rest(kappa, p_fail, seed)))
    room("tensor_decomposition", 4 * prod(shape), "shape")
    for_truth, for_noise, for_start = np.random.default_rng(seed).spawn(3)
    lengths = np.linspace(1.0, 1.0 / kappa, r) ** (1 / len(shape))
    drawn = [for_truth.standard_normal((d, r)) for d in shape]
    truth = tuple(a / np.linalg.norm(a, axis=0) * lengths for a in drawn)
    letters = "abcdefghijklmnopqrstuvwxy"[: len(shape)]
    clean = np.einsum(",".join(f"{k}z" for k in letters) + f"->{letters}", *truth, optimize=True)
    return _instance(CP(), clean, truth, settings, for_noise, for_start)


@INSTANCES.register("tucker")
def tucker(
    shape: tuple[int, ...] = (30, 30, 30),
    ranks: tuple[int, ...] = (3, 3, 3),
    kappa: float = 1.0,
    p_fail: float = 0.1,
    seed: int = 0,
) -> Instance:
    """A tensor C ×₁ A ×₂ B … of low multilinear rank, some of whose entries are ruined.

    The factors are orthonormal. The core is a normal one, times numbers spaced linearly from 1 to 1/κ along each axis.

    Parameters
    ----------
    shape : tuple of int
        The dimensions, two or more.
    ranks : tuple of int
        The ranks, one for each dimension.
    kappa : float
        The conditioning along each axis of the core.
    p_fail : float
        Probability of a ruined entry, in [0, ½).
    seed : int
        Seed of the generator.

    Returns
    -------
    Instance
    """
    settings = {"shape": shape, "ranks": ranks, "kappa": kappa, "p_fail": p_fail, "seed": seed}
    check("tucker", (_dimensions("shape", shape), _dimensions("ranks", ranks)))
    paired = ("ranks", ranks, len(ranks) == len(shape), f"{len(shape)} ranks, one for each dimension")
    fits = [rank("ranks", each, min(d, prod(ranks) // each)) for each, d in zip(ranks, shape, strict=False)]
    check("tucker", (paired, *fits, *_rest(kappa, p_fail, seed)))
    room("tucker", 4 * prod(shape), "shape")
    for_truth, for_noise, for_start = np.random.default_rng(seed).spawn(3)
    factors = tuple(np.linalg.qr(for_truth.standard_normal(each))[0] for each in zip(shape, ranks, strict=True))
    core = for_truth.standard_normal(ranks)
    for k, each in enumerate(ranks):
        core = np.moveaxis(np.moveaxis(core, k, -1) * np.linspace(1.0, 1.0 / kappa, each), -1, k)
    clean = core
    for a in factors:
        clean = np.tensordot(clean, a, axes=(0, 1))
    return _instance(Tucker(), clean, (core, factors), settings, for_noise, for_start)


def _instance(
    c: Map,
    clean: np.ndarray,
    truth: Tree,
    settings: dict[str, Any],
    for_noise: np.random.Generator,
    for_start: np.random.Generator,
) -> Instance:
    b: Any = corrupted(clean, settings["p_fail"], for_noise)
    target = float(np.sum(np.abs(b - clean)))
    return Instance(Composite(c, L1(b), Identity()), around(truth, for_start), truth, target, settings)


def _dimensions(name: str, given: Any) -> Rule:
    valid = isinstance(given, tuple) and 2 <= len(given) <= 25 and all(is_whole(each, 1) for each in given)
    return name, given, valid, "a tuple of two or more whole numbers of at least 1"


def _rest(kappa: Any, p_fail: Any, seed: Any) -> tuple[Rule, ...]:
    return conditioning(kappa), share(p_fail), seeded(seed)
