"""``gnpolyak run``."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

import gnpolyak as gnp
from gnpolyak.cli import options
from gnpolyak.steps.named import METHODS

_START_HELP = "Start near the truth (--radius), as the paper does, or from the data alone."


class _TargetOption(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A number, or the word known."""

    name = "known|NUMBER"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "known" or isinstance(value, float):
            return value
        return click.FLOAT.convert(value, param, ctx)


@click.command()
@options.instance
@click.option("--start", type=click.Choice(["near", "data"]), default="near", show_default=True, help=_START_HELP)
@click.option("--method", type=click.Choice(list(METHODS)), default="auto", show_default=True, help="The method.")
@click.option("--cuts", type=int, default=None, help="Points a step takes into account.  [default: 5 for auto, else 1]")
@click.option("--target", type=_TargetOption(), default=None, help="The optimal value; 'known' is the instance's own.")
@click.option("--lower-bound", type=float, default=None, help="Only this bound on the optimal value is known.")
@click.option(
    "--strategy", type=click.Choice(["level", "restart"]), default=None, help="How to find the optimal value."
)
@click.option("--inner", type=int, default=200, show_default=True, help="Steps in a restart (the paper's T).")
@click.option("--outer", type=int, default=50, show_default=True, help="Restarts (the paper's K).")
@click.option("--tol", type=float, default=1e-10, show_default=True, help="Relative gap to reach.")
@click.option("--max-calls", type=int, default=None, help="Most oracle calls.  [default: 1000 for a known target]")
@click.option("--max-seconds", type=float, default=None, help="Most seconds.")
@click.option("--polish", is_flag=True, help="Finish on the good measurements, to the limit of the arithmetic.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a summary.")
def run(as_json: bool, start: str, target: Any, lower_bound: float | None, strategy: str | None, **given: Any) -> None:
    """Make one tensor sensing instance and solve it.

    Without --target, --lower-bound or --strategy the instance's own optimal value is used. Exits with 0 if the
    solver reached what was asked, 1 if it did not, 2 on bad usage.

    \b
    Examples:
      gnpolyak run --p-fail 0.2 --kappa 100 --start data --strategy level
      gnpolyak run --n 3 --kappa 3
      gnpolyak run --p-fail 0.2 --lower-bound 0 --json
      gnpolyak run --p-fail 0.1 --kappa 5 --strategy restart --method gnp
    """
    if target is None and lower_bound is None and strategy is None:
        target = "known"
    making = {name: given.pop(name) for name in options.INSTANCE}
    try:
        case = gnp.instances.tensor_sensing(**making)
        res = gnp.minimize(
            case.problem,
            case.x0 if start == "near" else None,
            rank=making["r"],
            target=case.target if target == "known" else target,
            lower_bound=lower_bound,
            strategy=strategy,
            progress=not as_json and sys.stderr.isatty(),
            **given,
        )
    except gnp.InputError as error:
        raise click.UsageError(str(error)) from error
    report = _report(case, res)
    click.echo(json.dumps(report, allow_nan=False) if as_json else _summary(report, res))
    sys.exit(0 if res.success else 1)


def _report(case: gnp.instances.Instance, res: gnp.Result) -> dict[str, Any]:
    gap, first = res.value - case.target, res.history.value[0] - case.target
    figures = {
        "value": res.value,
        "gap": gap,
        "relative_gap": gap / first if first else 0.0,
        "recovery_error": case.recovery_error(res.x),
        "seconds": res.seconds,
    }
    finite = {name: options.finite(figure) for name, figure in figures.items()}
    return {"status": res.status.name.lower(), "success": res.success, "calls": res.calls, **finite}


def _summary(report: dict[str, Any], res: gnp.Result) -> str:
    rows = {name: f"{value:.6g}" if isinstance(value, float) else str(value) for name, value in report.items()}
    lines = [f"{name.replace('_', ' '):<16}{text}" for name, text in rows.items()]
    return "\n".join([*lines, "", res.status.advice])
