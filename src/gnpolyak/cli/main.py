"""The command line: `gnpolyak demo` and `gnpolyak run`, with `bench`, `info` and `reproduce` from their own modules."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

try:
    import click
    import matplotlib  # noqa: F401  # asked for here, so that the demo does not fail after its work
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

    from gnpolyak.solve import plots
except ImportError as error:
    sys.exit(f"The command line needs {error.name}: pip install 'gnpolyak[cli]'")

import gnpolyak as gnp
from gnpolyak.cli import options
from gnpolyak.cli.bench import bench
from gnpolyak.cli.check import check
from gnpolyak.cli.info import info
from gnpolyak.cli.reproduce import reproduce
from gnpolyak.steps.methods import METHODS

_DEMO_KAPPAS = (1.0, 10.0, 100.0)
_DEMO_METHODS = ("gnp", "scaledsm", "polyak")
_DEMO_CALLS = 4000
_START_HELP = "Start near the truth (--radius), as the paper does, or from the data alone."


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(gnp.__version__, prog_name="gnpolyak")
def main() -> None:
    """Minimise sharp, nonsmooth, ill-conditioned h(c(x)) with the Gauss–Newton–Polyak method.

    \b
    Start here:
      gnpolyak demo                     GNP, ScaledSM and Polyak as the conditioning worsens
      gnpolyak run --kappa 100          one solve, with its figures
      gnpolyak run --p-fail 0.2 --start data --strategy level     outliers, from the data alone
      gnpolyak reproduce                the paper's figures again, and which of its claims hold
      gnpolyak check                    the paper's assumptions and bounds, beside a run
      gnpolyak bench                    this library and its peers, timed side by side
      gnpolyak info                     versions, devices, and which oracle is in use
    """


main.add_command(bench)
main.add_command(check)
main.add_command(info)
main.add_command(reproduce)


@main.command()
@click.option(
    "--figure",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("gnpolyak-demo.png"),
    show_default=True,
    help="Where to write the figure; .png, .svg and .pdf are understood.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the instances.")
def demo(figure: Path, seed: int) -> None:
    """Recover a 100×100 matrix of rank 5 from 4,000 quadratic measurements, ever worse conditioned.

    Three methods run at condition numbers κ = 1, 10 and 100 of the factor, all from the same start. The table fills
    as they finish, and the curves are written to a file. Takes a few seconds.
    """
    _require_directory(figure)
    console = Console()
    table = Table(title="Oracle calls to a relative gap of 1e-10", caption="✗ limit reached first")
    for heading in ("κ", "GNP", "ScaledSM", "Polyak", "GNP's recovery error"):
        table.add_column(heading, justify="right")
    panels: dict[str, dict[str, Any]] = {}
    with Live(table, console=console, refresh_per_second=8):
        for kappa in _DEMO_KAPPAS:
            case = gnp.instances.tensor_sensing(kappa=kappa, seed=seed)
            results = {name: _demo_solve(case, name) for name in _DEMO_METHODS}
            error = f"{case.recovery_error(results['gnp'].x):.1e}"
            table.add_row(f"{kappa:g}", *(_cell(res) for res in results.values()), error)
            panels[f"κ = {kappa:g}"] = {name: _relative(res, case.target) for name, res in results.items()}
    plots.convergence(panels, figure)
    console.print(
        "\nWhat this shows: as the factor's condition number κ grows, the subgradient method with Polyak's step slows "
        "down until it is useless, while GNP needs the same number of calls. So does ScaledSM, which exists only for "
        "matrices; GNP takes any smooth map."
    )
    console.print(_from_the_data_alone(seed), highlight=False)
    console.print(f"The curves are in {figure}.", highlight=False)


def _from_the_data_alone(seed: int) -> str:
    case = gnp.instances.tensor_sensing(kappa=_DEMO_KAPPAS[-1], p_fail=0.2, seed=seed)
    res = gnp.minimize(case.problem, rank=case.truth.shape[1])
    found = 0 if res.outliers is None else len(res.outliers)
    return (
        f"And with a fifth of the measurements ruined, no start and no optimal value given, "
        f"gnpolyak.minimize(problem, rank=5) at κ = {_DEMO_KAPPAS[-1]:g}: {res.calls} calls, recovery error "
        f"{case.recovery_error(res.x):.0e}, {found} measurements told to be corrupted."
    )


def _demo_solve(case: gnp.instances.Instance, method: str) -> gnp.Result:
    return gnp.minimize(case.problem, case.x0, method, target=case.target, max_calls=_DEMO_CALLS)


def _cell(res: gnp.Result) -> str:
    return f"{res.calls:,}" if res.success else f"✗ > {res.calls:,}"


def _relative(res: gnp.Result, target: float) -> Any:
    gap = res.history.gap(target)
    return gap / gap[0]


class _TargetOption(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A number, or the word known."""

    name = "known|NUMBER"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "known" or isinstance(value, float):
            return value
        return click.FLOAT.convert(value, param, ctx)


@main.command()
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
    # JSON has no NaN: a figure that is not finite is null.
    finite = {name: float(v) if abs(v) < float("inf") else None for name, v in figures.items()}
    return {"status": res.status.name.lower(), "success": res.success, "calls": res.calls, **finite}


def _summary(report: dict[str, Any], res: gnp.Result) -> str:
    rows = {name: f"{value:.6g}" if isinstance(value, float) else str(value) for name, value in report.items()}
    lines = [f"{name.replace('_', ' '):<16}{text}" for name, text in rows.items()]
    return "\n".join([*lines, "", res.status.advice])


def _require_directory(path: Path) -> None:
    if not path.parent.is_dir():
        raise click.BadParameter(f"the folder {path.parent} does not exist", param_hint="--figure")
    if path.suffix.lower() not in {".png", ".svg", ".pdf"}:
        raise click.BadParameter(f"cannot write {path.suffix or 'a file without suffix'}", param_hint="--figure")


if __name__ == "__main__":
    main()
