"""``gnpolyak check``."""

from __future__ import annotations

import json
import math
import sys
import textwrap
from typing import Any

import click

from gnpolyak import diagnostics, instances, options
from gnpolyak.errors import InputError

_WIDTH = 80
_EVIDENCE = 33
"""The column in which the evidence begins."""


@click.command()
@options.instance
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check(as_json: bool, **making: Any) -> None:
    """Check the paper's assumptions on one tensor sensing instance, and its theorems against a run.

    One line for each assumption says what was measured and the verdict: that the map is smooth (its derivatives
    are right), that its Jacobian has constant rank near the solution, that the penalty is sharp on the image, and that
    it is regular. Then the constants μ_h and L_h, estimated from samples and iterates, give the theorems' rate, number
    of calls T and restarts K, beside what a run of GNP showed. Exits with 0 if all assumptions hold, 1 if one does
    not or cannot be told, 2 on bad usage. In Python: gnpolyak.diagnostics.assess(problem, x0).

    \b
    Examples:
      gnpolyak check                        the paper's instance, smaller
      gnpolyak check --kappa 100            L_h/μ_h stays where it was
      gnpolyak check --p-fail 0.2           outliers make h less sharp
      gnpolyak check --d 20 --r 2 --m 20    too few measurements
      gnpolyak check --n 3 --json
    """
    try:
        case = instances.tensor_sensing(**making)
        found = diagnostics.assess(case.problem, case.x0, case.truth, case.target, seed=making["seed"])
    except InputError as error:
        raise click.UsageError(str(error)) from error
    click.echo(json.dumps(_report(found), allow_nan=False, ensure_ascii=False) if as_json else _text(found))
    sys.exit(0 if found.passed else 1)


def _report(found: diagnostics.Assessment) -> dict[str, Any]:
    rate = found.rate
    return {
        "passed": found.passed,
        "assumptions": {
            verdict.assumption.replace(" ", "_"): {"verdict": verdict.word, "evidence": verdict.evidence}
            for verdict in found.verdicts
        },
        "mu": found.sharpness.mu,
        "lipschitz": found.sharpness.lipschitz,
        "condition": rate and rate.condition,
        "c1": rate and rate.c1,
        "tolerance": found.tolerance,
        "calls": {"bound": found.calls_bound, "observed": found.run.calls if found.run.success else None},
        "contraction": {"bound": rate and rate.factor, "observed": _finite(found.contraction)},
        "restarts": found.restarts_bound,
    }


def _finite(number: float) -> float | None:
    """JSON has no NaN: what is not finite is null."""
    return number if math.isfinite(number) else None


def _text(found: diagnostics.Assessment) -> str:
    lines = [f"{'assumption':<16}{'verdict':<{_EVIDENCE - 16}}measured", "-" * _WIDTH]
    for verdict in found.verdicts:
        lines += _wrapped(f"{verdict.assumption:<16}{verdict.word:<{_EVIDENCE - 16}}", verdict.evidence)
    return "\n".join([*lines, "", *_theorems(found), *_outside(found)])


def _outside(found: diagnostics.Assessment) -> list[str]:
    if found.run.success or found.rate is None:
        return []
    status = found.run.status.name
    advice = "The theorem is for starts near enough to the solution: try a smaller --radius."
    return ["", *_wrapped("", f"The run ended with {status} after {found.run.calls} calls. {advice}")]


def _wrapped(head: str, text: str) -> list[str]:
    first, *others = textwrap.wrap(text, _WIDTH - len(head)) or [""]
    return [head + first, *(" " * len(head) + line for line in others)]


def _theorems(found: diagnostics.Assessment) -> list[str]:
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
