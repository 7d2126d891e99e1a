"""Theory beside practice: the constants the theorems speak of, measured on the paper's instances."""

from __future__ import annotations

import csv
import functools
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

import gnpolyak as gnp
from gnpolyak import diagnostics
from gnpolyak.base.errors import InputError
from gnpolyak.base.files import replacing
from gnpolyak.paper.evidence import Finding
from gnpolyak.paper.run import machine, uninterrupted

_KAPPAS = (1.0, 10.0, 100.0)
_ERROR = 1e-8
COLUMNS = ("scale", "probe", "quantity", "setting", "value", "seed", "dtype")


@dataclass(frozen=True)
class Probe:
    """A group of numbers that are measured together."""

    name: str
    measure: Callable[[], Iterator[tuple[str, str, float]]]
    """Yields quantity, setting and value."""


def probes(scale: str) -> tuple[Probe, ...]:
    """What is measured at a scale."""
    large, small = (1000, 100) if scale == "paper" else (200, 30)
    return (
        Probe("rank", functools.partial(_ranks, (5, 3), (small, 5), (large, 5))),
        Probe("system", functools.partial(_systems, small)),
        Probe("composition", functools.partial(_composition, small)),
        Probe("tensors", functools.partial(_tensors, small)),
        Probe("rate", functools.partial(_rates, small)),
        Probe("restarts", functools.partial(_restarts, small)),
        Probe("inner loops", functools.partial(_inner_loops, small)),
        Probe("reparameterisation", _reparameterised),
    )


def _case(d: int, r: int = 5, n: int = 2, kappa: float = 10.0, p_fail: float = 0.0) -> gnp.instances.Instance:
    return gnp.instances.tensor_sensing(d=d, r=r, n=n, kappa=kappa, p_fail=p_fail, seed=0)


def _named(case: gnp.instances.Instance) -> str:
    s = case.settings
    corrupted = f" p_fail={s['p_fail']:g}" if s["p_fail"] else ""
    return f"d={s['d']} r={s['r']} n={s['n']}{corrupted} κ={s['kappa']:g}"


def _ranks(*sizes: tuple[int, int]) -> Iterator[tuple[str, str, float]]:
    for d, r in sizes:
        truth = np.random.default_rng(0).standard_normal((d, r))
        found = diagnostics.jacobian_rank(gnp.SymmetricCP(2), truth)
        yield "rank of the Jacobian, n = 2", f"d={d} r={r}", float(found.rank if found.rank is not None else np.nan)


def _systems(d: int) -> Iterator[tuple[str, str, float]]:
    for kappa in _KAPPAS:
        case = _case(d, kappa=kappa)
        found = diagnostics.jacobian_rank(case.problem, case.truth)
        yield "distinct nonzero singular values", _named(case), float(found.distinct or np.nan)
        res = _solved(case.problem, case.x0, gnp.GNP(solver="cg"), target=case.target)
        yield "conjugate gradient steps per call", _named(case), float(np.mean(res.history.inner_iterations[1:]))


def _composition(d: int) -> Iterator[tuple[str, str, float]]:
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
        yield "L_f/μ_f, n = 2", _named(case), max(slopes) / min(slopes)


def _value(case: gnp.instances.Instance, x: np.ndarray) -> float:
    return _solved(case.problem, x, target=case.target, max_calls=1).history.value[0] - case.target


def _tensors(d: int) -> Iterator[tuple[str, str, float]]:
    for n, p_fail in ((3, 0.0), (4, 0.0), (3, 0.2)):
        case = _case(d, n=n, kappa=3.0, p_fail=p_fail)
        ranks = diagnostics.constant_rank(case.problem, case.truth).ranks
        yield "rank of the Jacobian over dr, n > 2", _named(case), float(min(_known(ranks)) / case.truth.size)
        found = diagnostics.sharpness(case.problem, case.truth, case.target)
        yield "L_h/μ_h, n > 2", _named(case), found.lipschitz / found.mu if found.holds else np.inf


def _known(ranks: Sequence[int | None]) -> list[float]:
    return [np.nan if rank is None else float(rank) for rank in ranks]


def _rates(d: int) -> Iterator[tuple[str, str, float]]:
    for case in (*(_case(d, kappa=kappa) for kappa in _KAPPAS), _case(d, n=3, kappa=3.0)):
        rate = _rate(case)
        yield "μ_h", _named(case), rate.mu
        yield "L_h", _named(case), rate.lipschitz
        yield "L_h/μ_h", _named(case), rate.condition
        res = _solved(case.problem, case.x0, "gnp", target=case.target, tol=1e-13)
        gap = res.history.best - case.target
        yield "observed contraction per call", _named(case), diagnostics.contraction(res.history, case.target)
        yield "bound on the contraction per call", _named(case), rate.factor
        yield "calls to 1e-8", _named(case), float(np.argmax(gap <= _ERROR) + 1) if gap[-1] <= _ERROR else np.inf
        yield "T of Theorem 1 for 1e-8", _named(case), float(rate.calls(_distance(case), _ERROR))


def _rate(case: gnp.instances.Instance) -> diagnostics.Rate:
    return diagnostics.sharpness(case.problem, case.truth, case.target).rate()


def _distance(case: gnp.instances.Instance) -> float:
    """‖c(x₀) − c(X⋆)‖."""
    size = np.sqrt(np.sum((case.truth.T @ case.truth) ** case.settings["n"]))
    return case.recovery_error(case.x0) * float(size)


def _restarts(d: int) -> Iterator[tuple[str, str, float]]:
    case, tolerance = _case(d, kappa=5.0, p_fail=0.2), 1e-4
    rate = _rate(case)
    inner, outer = rate.calls(_distance(case), tolerance), rate.restarts(case.target, tolerance)
    res = _solved(case.problem, case.x0, "gnp", lower_bound=0.0, strategy="restart", inner=inner, outer=outer, tol=0.0)
    name = _named(case)
    yield "error of RGNP with Theorem 2's T and K", name, max(res.value - case.target, 0.0)
    yield "ε asked of RGNP", name, tolerance
    yield "T of Theorem 2", name, float(inner)
    yield "K of Theorem 2", name, float(outer)


def _reparameterised() -> Iterator[tuple[str, str, float]]:
    """The same problem in X and in U with X = diag(units) U, for units from 1 to 1,000."""
    case = _case(12, r=2, kappa=2.0)
    p, q = (np.asarray(rows) for rows in (case.problem.sensing.p, case.problem.sensing.q))  # type: ignore[attr-defined]
    units = np.geomspace(1.0, 1000.0, len(case.truth))[:, None]
    for method in ("GNP", "Polyak"):
        for name, scales in (("X itself", np.ones_like(units)), ("X in other units", units)):
            problem = gnp.composite(_measured, case.problem.penalty, args=(p, q, scales))
            res = _solved(problem, case.x0 / scales, method.lower(), target=0.0, tol=_ERROR, max_calls=20_000)
            calls = float(res.calls) if res.success else np.inf
            yield "calls to 1e-8 under a rescaling of the variable", f"{method} in {name}", calls


def _measured(u: Any, p: Any, q: Any, units: Any) -> Any:
    x = units * u
    return jnp.sum((p @ x) ** 2 - (q @ x) ** 2, axis=1)


def _inner_loops(d: int) -> Iterator[tuple[str, str, float]]:
    """Calls without restarts, on the instances of the figure on restarts; the median of three."""
    for method in ("GNP", "Polyak"):
        for p_fail in (0.0, 0.1, 0.2, 0.3, 0.4):
            calls = sorted(_calls_with_known_optimum(d, method, p_fail, seed) for seed in range(3))
            yield "calls to 1e-8 with h* known", f"{method} p_fail={p_fail:g}", calls[1]


def _calls_with_known_optimum(d: int, method: str, p_fail: float, seed: int) -> float:
    case = gnp.instances.tensor_sensing(d=d, kappa=5.0, p_fail=p_fail, seed=seed)
    res = _solved(case.problem, case.x0, method.lower(), target=case.target, tol=1e-13, max_calls=10_000)
    reached = np.flatnonzero(res.history.best - case.target <= _ERROR)
    return float(reached[0] + 1) if reached.size else np.inf


def _solved(*arguments: Any, **options: Any) -> gnp.Result:
    return uninterrupted(gnp.minimize(*arguments, **options))


def complete(path: Path, scale: str, watch: Callable[[str, int, int], Any]) -> None:
    """Measure the probes that are not in the file yet, and keep each when it is done."""
    kept = load(path)
    todo = missing(path, scale)
    for place, probe in enumerate(todo):
        watch(probe.name, place, len(todo))
        kept += [_row(scale, probe.name, *found) for found in probe.measure()]
        _save(path, kept)


def missing(path: Path, scale: str) -> list[Probe]:
    """The probes that have no rows at a scale."""
    known = {(row["scale"], row["probe"]) for row in load(path)}
    return [probe for probe in probes(scale) if (scale, probe.name) not in known]


def findings(path: Path, scale: str) -> list[Finding]:
    """What was measured at a scale, in the order of the probes."""
    order = [probe.name for probe in probes(scale)]
    kept = [row for row in load(path) if row["scale"] == scale and row["probe"] in order]
    return [_finding(row) for row in sorted(kept, key=lambda row: order.index(row["probe"]))]


def _row(scale: str, probe: str, quantity: str, setting: str, value: float) -> dict[str, str]:
    own = {"scale": scale, "probe": probe, "quantity": quantity, "setting": setting, "value": f"{value:.6g}"}
    return own | {"seed": "0", "dtype": "float64"} | machine()


def _finding(row: Mapping[str, str]) -> Finding:
    return Finding(row["quantity"], row["setting"], float(row["value"]))


def _save(path: Path, kept: Sequence[Mapping[str, str]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, (*COLUMNS, *machine()), lineterminator="\n")
    writer.writeheader()
    writer.writerows(kept)
    with replacing(path) as draft:
        draft.write_text(text.getvalue(), encoding="utf-8")


def load(path: Path) -> list[dict[str, str]]:
    """The rows of a file that `complete` wrote; none if there is no such file."""
    if not path.exists():
        return []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            kept = list(reader)
        if tuple(reader.fieldnames or ()) != (*COLUMNS, *machine()):
            raise ValueError("other columns than this version writes")
        for row in kept:
            _finding(row)
    except (OSError, KeyError, TypeError, ValueError, csv.Error) as error:
        raise InputError(
            given=f"the file {path}",
            needed="CSV as this version of `gnpolyak reproduce theory` writes it",
            missing=f"readable rows ({error})",
            advice="move the file away and start again, or choose another --out",
        ) from error
    return kept
