"""Theory beside practice: the constants the theorems speak of, measured on the paper's instances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

import gnpolyak as gnp
from gnpolyak.paper.catalogue import SIZES, figure
from gnpolyak.paper.findings import At, Finding
from gnpolyak.paper.rows import ERROR
from gnpolyak.paper.run import solved
from gnpolyak.paper.specs import Setting, Sweep

_KAPPAS = (1.0, 10.0, 100.0)


@dataclass(frozen=True)
class Probe:
    """A group of numbers that are measured together."""

    name: str
    measure: Callable[[], Iterator[Finding]]


def probes(scale: str) -> tuple[Probe, ...]:
    """What is measured at a scale."""
    small, largest = SIZES[scale].small, SIZES[scale].largest_rank
    return (
        Probe("rank", partial(_ranks, (5, 3), (small, 5), (largest, 5))),
        Probe("system", partial(_systems, small)),
        Probe("composition", partial(_composition, small)),
        Probe("tensors", partial(_tensors, small)),
        Probe("rate", partial(_rates, small)),
        Probe("restarts", partial(_restarts, small)),
        Probe("inner loops", partial(_inner_loops, figure("restarts", scale).sweeps[0])),
        Probe("reparameterisation", _reparameterised),
    )


def _case(d: int, r: int = 5, n: int = 2, kappa: float = 10.0, p_fail: float = 0.0) -> gnp.instances.Instance:
    return gnp.instances.tensor_sensing(d=d, r=r, n=n, kappa=kappa, p_fail=p_fail, seed=0)


def _at(case: gnp.instances.Instance) -> At:
    s = case.settings
    return At(d=s["d"], r=s["r"], n=s["n"], p_fail=s["p_fail"] or None, kappa=s["kappa"])


def _ranks(*sizes: tuple[int, int]) -> Iterator[Finding]:
    for d, r in sizes:
        truth = np.random.default_rng(0).standard_normal((d, r))
        found = gnp.diagnostics.jacobian_rank(gnp.SymmetricCP(2), truth)
        yield Finding("rank of the Jacobian, n = 2", At(d=d, r=r), _known(found.rank))


def _systems(d: int) -> Iterator[Finding]:
    for kappa in _KAPPAS:
        case = _case(d, kappa=kappa)
        found = gnp.diagnostics.jacobian_rank(case.problem, case.truth)
        yield Finding("distinct nonzero singular values", _at(case), float(found.distinct or np.nan))
        res = solved(case.problem, case.x0, gnp.GNP(solver="cg"), target=case.target)
        yield Finding("conjugate gradient steps per call", _at(case), float(np.mean(res.history.inner_iterations[1:])))


def _composition(d: int) -> Iterator[Finding]:
    """L_f/μ_f in the variable itself: (f − h*)/t at X⋆ + t u vᵢᵀ, which is t away from all solutions X⋆Q.

    Here u is a unit vector orthogonal to the columns of X⋆ and vᵢ a right singular vector, so that the direction is
    orthogonal to the orbit of X⋆ under rotations.
    """
    for kappa in (1.0, 3.0, 10.0, 30.0, 100.0):
        case = _case(d, kappa=kappa)
        left, sizes, right = np.linalg.svd(case.truth, full_matrices=True)
        length = 1e-3 * sizes[-1]
        outward = left[:, -1]
        slopes = [_value(case, case.truth + length * np.outer(outward, v)) / length for v in right]
        yield Finding("L_f/μ_f, n = 2", _at(case), max(slopes) / min(slopes))


def _value(case: gnp.instances.Instance, x: np.ndarray) -> float:
    return solved(case.problem, x, target=case.target, max_calls=1).history.value[0] - case.target


def _tensors(d: int) -> Iterator[Finding]:
    for n, p_fail in ((3, 0.0), (4, 0.0), (3, 0.2)):
        case = _case(d, n=n, kappa=3.0, p_fail=p_fail)
        ranks = gnp.diagnostics.constant_rank(case.problem, case.truth).ranks
        yield Finding("rank of the Jacobian over dr, n > 2", _at(case), min(map(_known, ranks)) / case.truth.size)
        found = gnp.diagnostics.sharpness(case.problem, case.truth, case.target)
        yield Finding("L_h/μ_h, n > 2", _at(case), found.lipschitz / found.mu if found.holds else np.inf)


def _known(rank: int | None) -> float:
    return np.nan if rank is None else float(rank)


def _rates(d: int) -> Iterator[Finding]:
    for case in (*(_case(d, kappa=kappa) for kappa in _KAPPAS), _case(d, n=3, kappa=3.0)):
        rate = _rate(case)
        yield Finding("μ_h", _at(case), rate.mu)
        yield Finding("L_h", _at(case), rate.lipschitz)
        yield Finding("L_h/μ_h", _at(case), rate.condition)
        res = solved(case.problem, case.x0, "gnp", target=case.target, tol=1e-13)
        yield Finding("observed contraction per call", _at(case), gnp.diagnostics.contraction(res.history, case.target))
        yield Finding("bound on the contraction per call", _at(case), rate.factor)
        yield Finding("calls to 1e-8", _at(case), _calls(res, case.target))
        yield Finding("T of Theorem 1 for 1e-8", _at(case), float(rate.calls(_distance(case), ERROR)))


def _rate(case: gnp.instances.Instance) -> gnp.diagnostics.Rate:
    return gnp.diagnostics.sharpness(case.problem, case.truth, case.target).rate()


def _distance(case: gnp.instances.Instance) -> float:
    """‖c(x₀) − c(X⋆)‖."""
    size = np.sqrt(np.sum((case.truth.T @ case.truth) ** case.settings["n"]))
    return case.recovery_error(case.x0) * float(size)


def _restarts(d: int) -> Iterator[Finding]:
    case, tolerance = _case(d, kappa=5.0, p_fail=0.2), 1e-4
    rate = _rate(case)
    inner, outer = rate.calls(_distance(case), tolerance), rate.restarts(case.target, tolerance)
    res = solved(case.problem, case.x0, "gnp", lower_bound=0.0, strategy="restart", inner=inner, outer=outer, tol=0.0)
    at = _at(case)
    yield Finding("error of RGNP with Theorem 2's T and K", at, max(res.value - case.target, 0.0))
    yield Finding("ε asked of RGNP", at, tolerance)
    yield Finding("T of Theorem 2", at, float(inner))
    yield Finding("K of Theorem 2", at, float(outer))


def _reparameterised() -> Iterator[Finding]:
    """The same problem in X and in U with X = diag(units) U, for units from 1 to 1,000."""
    case = _case(12, r=2, kappa=2.0)
    p, q = (np.asarray(rows) for rows in (case.problem.sensing.p, case.problem.sensing.q))  # type: ignore[attr-defined]
    units = np.geomspace(1.0, 1000.0, len(case.truth))[:, None]
    for method in ("GNP", "Polyak"):
        for name, scales in (("X itself", np.ones_like(units)), ("X in other units", units)):
            problem = gnp.composite(_measured, case.problem.penalty, args=(p, q, scales))
            res = solved(problem, case.x0 / scales, method.lower(), target=0.0, tol=ERROR, max_calls=20_000)
            calls = float(res.calls) if res.success else np.inf
            yield Finding("calls to 1e-8 under a rescaling of the variable", At(method, variable=name), calls)


def _measured(u: Any, p: Any, q: Any, units: Any) -> Any:
    x = units * u
    return jnp.sum((p @ x) ** 2 - (q @ x) ** 2, axis=1)


def _inner_loops(sweep: Sweep) -> Iterator[Finding]:
    """Calls without restarts, on the instances of the figure on restarts; the median of three."""
    for method in ("GNP", "Polyak"):
        for p_fail in sweep.values:
            setting = sweep.setting(p_fail)
            calls = sorted(_calls_with_known_optimum(setting, method, seed) for seed in range(3))
            yield Finding("calls to 1e-8 with h* known", At(method, p_fail=p_fail), calls[1])


def _calls_with_known_optimum(setting: Setting, method: str, seed: int) -> float:
    case = gnp.instances.tensor_sensing(**vars(setting), seed=seed)
    res = solved(case.problem, case.x0, method.lower(), target=case.target, tol=1e-13, max_calls=10_000)
    return _calls(res, case.target)


def _calls(res: gnp.Result, target: float) -> float:
    """The first call with an error of at most 1e-8; infinite if there is none."""
    reached = np.flatnonzero(res.history.best - target <= ERROR)
    return float(reached[0] + 1) if reached.size else np.inf
