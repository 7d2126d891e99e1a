"""Phase retrieval: a vector from the squared moduli of linear measurements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.numbers import is_whole
from gnpolyak.instances.base import INSTANCES, Instance, around, check, corrupted, count, room, seeded, share
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Hermitian, SymmetricCP
from gnpolyak.problem.penalties import L1
from gnpolyak.problem.sensing import CodedSensing, FourierSensing, HadamardSensing, PowerSensing, Sensing

_TRANSFORMS: dict[str, type[CodedSensing]] = {"fourier": FourierSensing, "hadamard": HadamardSensing}
_Measured = tuple[Sensing, np.ndarray]


@INSTANCES.register("phase_retrieval")
def phase_retrieval(
    *,
    d: int = 200,
    complex: bool = False,  # noqa: A002 - the word for it; the type is not needed here
    p_fail: float = 0.1,
    m: int | None = None,
    transform: str | None = None,
    shape: tuple[int, ...] = (),
    patterns: int = 12,
    seed: int = 0,
) -> Instance:
    """Robust phase retrieval: min Σ | |pᵢᵀx|² − bᵢ | over x, of which the sign, or the phase, cannot be known.

    The rows p are Gaussian, x⋆ has length 1, and a share of the data is ruined by normal numbers of ten median data.
    With a transform they are those of coded patterns, |F(cₗ ⊙ x)|², and are not stored.

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
    transform : {"fourier", "hadamard"}, optional
        Measure coded patterns by this transform (`FourierSensing`, `HadamardSensing`), as many as the signal has
        entries in each: m is not given then.
    shape : tuple of int
        The shape of the signal behind codes, such as (1024, 1024); by default (d,).
    patterns : int
        The number of coded patterns.
    seed : int
        Seed of the generator.

    Returns
    -------
    Instance
    """
    _check(d, complex, p_fail, m, seed)
    settings: dict[str, Any] = {"d": d, "complex": complex, "p_fail": p_fail, "m": m, "seed": seed}
    if transform is not None:
        _check_coded(transform, shape, patterns, m)
        shape = tuple(shape) or (d,)
        settings |= {"d": int(np.prod(shape)), "transform": transform, "shape": shape, "patterns": patterns}
        kind = _TRANSFORMS[transform]
        # Patterns before their moduli are taken, intensities, and the codes.
        room("phase_retrieval", 8 * patterns * settings["d"], "shape or number of patterns")
        return _instance(settings, lambda rng, x: _patterns(_coded(kind, shape, patterns, rng), x))
    settings["m"] = m = (16 if complex else 8) * d if m is None else m
    room("phase_retrieval", (4 if complex else 2) * m * d, f"d or m (now {m:,} rows of {d:,})")
    return _instance(settings, lambda rng, x: _powers(_drawn((m, d), complex, rng), x))


def _instance(settings: dict[str, Any], measured: Callable[[np.random.Generator, np.ndarray], _Measured]) -> Instance:
    """The instance of these settings, with measurements that are drawn."""
    for_truth, for_rows, for_noise, for_start = np.random.default_rng(settings["seed"]).spawn(4)
    truth = _drawn((settings["d"], 1), settings["complex"], for_truth)
    truth = truth / np.linalg.norm(truth)
    sensing, clean = measured(for_rows, truth)
    b: Any = corrupted(clean, settings["p_fail"], for_noise)
    return Instance(
        problem=Composite(Hermitian() if settings["complex"] else SymmetricCP(2), L1(b), sensing),
        x0=around(truth, for_start),
        truth=truth,
        target=float(np.sum(np.abs(b - clean))),
        settings=settings,
    )


def _powers(rows: np.ndarray, x: np.ndarray) -> _Measured:
    return PowerSensing(rows), np.abs(rows @ x)[:, 0] ** 2


def _coded(kind: type[CodedSensing], shape: tuple[int, ...], patterns: int, rng: np.random.Generator) -> CodedSensing:
    return kind.drawn(shape, patterns, seed=int(rng.integers(2**31)))


def _patterns(sensing: CodedSensing, x: np.ndarray) -> _Measured:
    with arrays.precise(True):
        return sensing, np.abs(np.asarray(sensing.forward(jnp.asarray(x)))[0]) ** 2


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


def _check_coded(transform: Any, shape: Any, patterns: Any, m: Any) -> None:
    known = isinstance(transform, str) and transform in _TRANSFORMS
    sides = isinstance(shape, (tuple, list)) and all(is_whole(each, 1) for each in shape)
    rules = (
        ("transform", transform, known, f"one of {', '.join(map(repr, _TRANSFORMS))}, or None"),
        ("shape", shape, sides, "a tuple of whole numbers of at least 1"),
        count("patterns", patterns),
        ("m", m, m is None, "None: coded patterns have as many data as the signal has entries"),
    )
    check("phase_retrieval", rules)
