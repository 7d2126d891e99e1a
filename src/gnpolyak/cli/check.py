"""``gnpolyak check``."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from gnpolyak import diagnostics, instances
from gnpolyak.base.errors import InputError
from gnpolyak.cli import options


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
    click.echo(json.dumps(_report(found), allow_nan=False, ensure_ascii=False) if as_json else str(found))
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
        "contraction": {"bound": rate and rate.factor, "observed": options.finite(found.contraction)},
        "restarts": found.restarts_bound,
    }
