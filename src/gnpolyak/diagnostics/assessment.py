"""All assumptions of the paper on one problem, and its theorems beside a run."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np

from gnpolyak.base.errors import InputError
from gnpolyak.base.numbers import counted, require_positive, require_real
from gnpolyak.base.trees import Tree
from gnpolyak.diagnostics import inputs
from gnpolyak.diagnostics.derivatives import check_adjoint
from gnpolyak.diagnostics.rank import ConstantRank, constant_rank
from gnpolyak.diagnostics.rate import Rate, contraction
from gnpolyak.diagnostics.sharpness import NO_RATIO, Regularity, Sharpness, regularity, sharpness
from gnpolyak.diagnostics.taylor import check_taylor
from gnpolyak.problem.composite import Composite
from gnpolyak.solve.minimize import minimize
from gnpolyak.solve.result import Result
from gnpolyak.steps.status import Status

_WIDTH = 80
_RUNAWAY = {Status.DIVERGED, Status.NON_FINITE, Status.LINEAR_SOLVE_FAILED}
# The column in which the evidence begins.
_EVIDENCE = 33
# At how many iterates of the run the sharpness is measured.
_ITERATES = 8


@dataclass(frozen=True)
class Verdict:
    """What was found about one assumption."""

    assumption: str
    holds: bool | None
    """None if it could not be told."""
    evidence: str

    @property
    def word(self) -> str:
        """holds, does not hold, or cannot tell."""
        return {True: "holds", False: "does not hold", None: "cannot tell"}[self.holds]


@dataclass(frozen=True)
class Assessment:
    """The assumptions of Theorems 1 and 2 on one problem, and what the theorems say beside what a run did."""

    verdicts: tuple[Verdict, ...]
    rank: ConstantRank
    sharpness: Sharpness
    regularity: Regularity
    rate: Rate | None
    """The theorem's rate for the constants estimated; None if h is not sharp."""
    tolerance: float
    """ε, absolute."""
    calls_bound: int | None
    """T of Theorem 1 for ε."""
    restarts_bound: int | None
    """K of Theorem 2 for ε and the lower bound; None if the lower bound is the optimum."""
    run: Result
    """GNP with the optimal value known, one step a call, to ε."""
    contraction: float
    """The factor per call that the run showed; NaN if it was too short."""

    @property
    def passed(self) -> bool:
        """Whether all assumptions hold, as far as sampling can tell."""
        return all(verdict.holds is True for verdict in self.verdicts)

    def __str__(self) -> str:
        return _text(self)


def assess(
    problem: Composite,
    x0: Tree,
    solution: Tree = None,
    target: float | None = None,
    *,
    lower_bound: float | None = None,
    tolerance: float = 1e-8,
    seed: int = 0,
) -> Assessment:
    """Check the paper's assumptions on a problem, and hold its theorems against a run of GNP.

    Parameters
    ----------
    problem : Composite
    x0 : array_like or pytree
        Where the run starts.
    solution : array_like or pytree, optional
        x⋆; by default the answer of ``minimize(problem, x0)``.
    target : float, optional
        h*; by default the value at the solution.
    lower_bound : float, optional
        h₀, for the number of restarts; by default the penalty's infimum.
    tolerance : float
        The gap to reach, relative to the one at x0.
    seed : int
        Seed of all samples.

    Returns
    -------
    Assessment
        Estimates from samples are evidence, not proof: see `sharpness`.
    """
    require_positive("tolerance", tolerance)
    for name, number in (("target", target), ("lower_bound", lower_bound)):
        if number is not None:
            require_real(name, number)
    computed = solution is None
    if computed:
        solution = minimize(problem, x0).x
    level, distance = _level_and_distance(problem, x0, solution, target)
    run = minimize(problem, x0, "gnp", target=level, tol=tolerance)
    rank = constant_rank(problem, solution, seed=seed)
    sharp = sharpness(problem, solution, level, seed=seed, points=[x0, *_iterates(problem, x0, level, run)])
    regular = regularity(problem, solution, level, seed=seed)
    rate = sharp.rate() if sharp.holds is not False else None
    epsilon = tolerance * float(run.history.value[0] - level)
    shortfall = _shortfall(problem, level, lower_bound)
    return Assessment(
        verdicts=(
            _smooth_map(problem, _aside(x0, solution, seed), seed),
            _constant_rank(rank, run.status if computed else Status.RUNNING),
            _sharpness(sharp),
            _regularity(regular),
        ),
        rank=rank,
        sharpness=sharp,
        regularity=regular,
        rate=rate,
        tolerance=epsilon,
        calls_bound=rate.calls(distance, epsilon) if rate and distance > 0 < epsilon else None,
        restarts_bound=Rate.restarts(shortfall, epsilon) if shortfall > epsilon > 0 else None,
        run=run,
        contraction=contraction(run.history, level),
    )


def _level_and_distance(problem: Composite, x0: Tree, solution: Tree, target: float | None) -> tuple[float, float]:
    """h*, and how far the image of the start is from that of the solution."""
    with inputs.on_the_problem(problem, solution, x0) as (exact, [centre, start]):
        _require_finite(float(exact.evaluate(start).value))
        level = float(exact.evaluate(centre).value) if target is None else float(target)
        return level, float(exact.map.distance(start, centre))


def _shortfall(problem: Composite, level: float, lower_bound: float | None) -> float:
    """How far the lower bound is below the optimal value; 0 where there is none."""
    bound = problem.penalty.infimum if lower_bound is None else lower_bound
    return 0.0 if bound is None else level - bound


def _require_finite(value: float) -> None:
    if not math.isfinite(value):
        raise InputError(
            given="a start x0 at which the problem has no finite value",
            needed="a start inside the model's domain",
            missing="a finite value of h(c(x0))",
            advice="start elsewhere, or write the model so that it is finite there",
        )


def _aside(x0: Tree, solution: Tree, seed: int) -> Tree:
    """The start; where that is the solution, a point beside it: at the solution all residuals are rounding."""
    leaves, others = (jax.tree.leaves(jax.tree.map(np.asarray, tree)) for tree in (x0, solution))
    if not all(np.array_equal(leaf, other) for leaf, other in zip(leaves, others, strict=True)):
        return x0
    rng = np.random.default_rng(seed)
    size = max(float(np.sqrt(sum(np.sum(leaf**2) for leaf in leaves))), 1.0) / sum(leaf.size for leaf in leaves) ** 0.5
    return jax.tree.map(lambda leaf: leaf + 0.01 * size * rng.standard_normal(np.shape(leaf)), x0)


def _iterates(problem: Composite, x0: Tree, target: float, run: Result) -> Sequence[Tree]:
    """Points that a run passed: the answers of the same run with lower call limits, which compile nothing again."""
    counts = sorted({int(k) for k in np.linspace(2, max(run.calls, 2), _ITERATES)})
    shorter = [minimize(problem, x0, "gnp", target=target, tol=0.0, max_calls=k).x for k in counts[:-1]]
    return [*shorter, run.x]


def _smooth_map(problem: Composite, x: Tree, seed: int) -> Verdict:
    adjoint, taylor = check_adjoint(problem, x, seed=seed), check_taylor(problem, x, seed=seed)
    failed = [check.message for check in (adjoint, taylor) if not check.passed]
    orders = [taylor.figures[name] for name in ("map", "measurements") if name in taylor.figures]
    fine = f"adjoints to {max(adjoint.figures.values()):.0e}, Taylor order {min(orders):.2f}" if orders else ""
    return Verdict("smooth map", not failed, " ".join(failed) or fine)


def _constant_rank(rank: ConstantRank, status: Status) -> Verdict:
    found = ", ".join(sorted({"unknown" if value is None else f"{value:,}" for value in rank.ranks}))
    evidence = f"rank {found} of {counted(rank.variables, 'variable')} at {counted(len(rank.ranks), 'point')}"
    if rank.holds and status in _RUNAWAY:
        # A solution found numerically has full rank where the exact one has not: its zeros are only small.
        return Verdict("constant rank", None, f"{evidence}, but the run ended with {status.name}")
    return Verdict("constant rank", rank.holds, evidence)


def _sharpness(sharp: Sharpness) -> Verdict:
    if sharp.mu < -1e-9 * sharp.lipschitz:
        evidence = "a value below h* nearby: the solution is not one"
    elif not sharp.mu > NO_RATIO * sharp.lipschitz:
        evidence = "the optimal value is reached at another image: the solution is not isolated"
    elif sharp.holds is False:
        evidence = "(h − h*)/dist falls with the distance"
    else:
        seen = counted(sharp.points, "point")
        evidence = f"(h − h*)/dist from {sharp.mu:.3g}, ‖Pv‖ to {sharp.lipschitz:.3g}, at {seen}"
    return Verdict("sharpness", sharp.holds, evidence)


def _regularity(regular: Regularity) -> Verdict:
    if not regular.allowed > 0:
        return Verdict("regularity", None, "nothing to compare with: h is not sharp here")
    ratio = max(regular.ratios[-1], 0.0)
    evidence = f"excess {ratio:.1g} per distance, {regular.allowed:.3g} allowed"
    return Verdict("regularity", regular.holds if math.isfinite(ratio) else None, evidence)


def _text(found: Assessment) -> str:
    lines = [f"{'assumption':<16}{'verdict':<{_EVIDENCE - 16}}measured", "-" * _WIDTH]
    for verdict in found.verdicts:
        lines += _wrapped(f"{verdict.assumption:<16}{verdict.word:<{_EVIDENCE - 16}}", verdict.evidence)
    return "\n".join([*lines, "", *_theorems(found), *_outside(found)])


def _outside(found: Assessment) -> list[str]:
    if found.run.success or found.rate is None:
        return []
    status = found.run.status.name
    advice = "The theorem is for starts near enough to the solution: start closer."
    return ["", *_wrapped("", f"The run ended with {status} after {counted(found.run.calls, 'call')}. {advice}")]


def _wrapped(head: str, text: str) -> list[str]:
    first, *others = textwrap.wrap(text, _WIDTH - len(head)) or [""]
    return [head + first, *(" " * len(head) + line for line in others)]


def _theorems(found: Assessment) -> list[str]:
    sharp, rate = found.sharpness, found.rate
    if rate is None:
        return _wrapped("", "Without sharpness about this solution the theorems give no rate towards it.")
    calls = f"{found.run.calls}" if found.run.success else "not reached"
    rows = [
        ("", "theorem", "observed"),
        ("μ_h, sharpness on the image (at most)", "", f"{sharp.mu:.4g}"),
        ("L_h, Lipschitz constant on the image (at least)", "", f"{sharp.lipschitz:.4g}"),
        ("L_h/μ_h", "", f"{rate.condition:.3f}"),
        ("c₁ = (1 − μ_h²/2L_h²)^½", f"{rate.c1:.4f}", ""),
        (
            "contraction per call, (1 + c₁)/2",
            f"{rate.factor:.4f}",
            f"{found.contraction:.4f}" if math.isfinite(found.contraction) else "",
        ),
        (f"calls to a gap of {found.tolerance:.2g}, T", _number(found.calls_bound), calls),
        ("restarts to that gap from the lower bound, K", _number(found.restarts_bound), ""),
    ]
    lines = [f"{name:<48}{theorem:>16}{observed:>16}".rstrip() for name, theorem, observed in rows]
    return [lines[0], "-" * _WIDTH, *lines[1:]]


def _number(count: int | None) -> str:
    return "none needed" if count is None else f"{count:,}"
