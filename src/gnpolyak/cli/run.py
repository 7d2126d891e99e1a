"""``gnpolyak run``."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable
from typing import Any

import click

import gnpolyak as gnp
from gnpolyak.cli import classes, ending, options, terminal
from gnpolyak.cli.fitting import Fitting
from gnpolyak.steps.named import METHODS

_START_HELP = "Start near the truth, as the paper does, or from the data alone."
_RANK_HELP = "Number of factors of a start from the data: a number, or 'auto' to find it.  [default: the truth's]"


_SOLVING = (
    click.option("--start", type=click.Choice(["near", "data"]), default="near", show_default=True, help=_START_HELP),
    click.option("--rank", type=options.NumberOr("auto", click.INT), default=None, help=_RANK_HELP),
    click.option("--method", type=click.Choice(list(METHODS)), default="auto", show_default=True, help="The method."),
    click.option(
        "--cuts", type=int, default=None, help="Points a step takes into account.  [default: 5 for auto, else 1]"
    ),
    click.option(
        "--target",
        type=options.NumberOr("known", click.FLOAT),
        default=None,
        help="The optimal value; 'known' is the value at the truth.",
    ),
    click.option("--lower-bound", type=float, default=None, help="Only this bound on the optimal value is known."),
    click.option(
        "--strategy", type=click.Choice(["level", "restart"]), default=None, help="How to find the optimal value."
    ),
    click.option("--inner", type=int, default=200, show_default=True, help="Steps in a restart (the paper's T)."),
    click.option("--outer", type=int, default=50, show_default=True, help="Restarts (the paper's K)."),
    click.option("--tol", type=float, default=1e-10, show_default=True, help="Relative gap to reach."),
    click.option(
        "--max-calls", type=int, default=None, help="Most oracle calls.  [default: 1000 for a known target, else 20000]"
    ),
    click.option("--max-seconds", type=float, default=None, help="Most seconds."),
    click.option("--polish", is_flag=True, help="Finish on the good measurements, to the limit of the arithmetic."),
    *options.CHECKPOINT,
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a summary."),
)


def _solving(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a solve."""
    for option in reversed(_SOLVING):
        command = option(command)
    return command


class _Classes(click.Group):
    """A command of its own that has one for each problem class as well."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(gnp.instances.INSTANCES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = cmd_name.replace("-", "_")
        return _command(name) if name in gnp.instances.INSTANCES else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if self.get_command(ctx, args[0]) is None:
            known = ", ".join(self.list_commands(ctx))
            ctx.fail(f"no problem class {args[0]!r}; there are {known}")
        early = [
            name for name in ctx.params if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        ]
        if early:
            ctx.fail(f"--{early[0].replace('_', '-')} comes before {args[0]}; put the options of a class after it")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        summaries = ((name, classes.summary(gnp.instances.INSTANCES[name])) for name in self.list_commands(ctx))
        with formatter.section("Problem classes"):
            # The formula that follows a colon is for the class's own help.
            formatter.write_dl([(name, text.partition(":")[0].rstrip(".")) for name, text in summaries])


@click.group(cls=_Classes, invoke_without_command=True, subcommand_metavar="[CLASS [OPTIONS OF THE CLASS]]")
@options.instance
@_solving
@click.pass_context
def run(ctx: click.Context, /, **given: Any) -> None:
    """Make one instance of a problem class and solve it.

    Without CLASS it is the paper's tensor sensing, with the options below, and its own optimal value is used unless
    --target, --lower-bound or --strategy says otherwise. With a CLASS nothing is known of the optimal value unless
    --target says so; "gnpolyak run CLASS --help" shows the options of each. Exits with 0 if the solver reached what
    was asked, 1 if it did not, 2 on bad usage, 130 after Ctrl-C, which ends it with the best so far.

    \b
    Examples:
      gnpolyak run --p-fail 0.2 --kappa 100 --start data --strategy level
      gnpolyak run --n 3 --kappa 3
      gnpolyak run --p-fail 0.2 --lower-bound 0 --json
      gnpolyak run --p-fail 0.1 --kappa 5 --strategy restart --method gnp
      gnpolyak run robust_pca --kappa 10 --start data
      gnpolyak run synchronisation --n 100 --p-fail 0.4 --start data
    """
    if ctx.invoked_subcommand is not None:
        return
    if given["target"] is None and given["lower_bound"] is None and given["strategy"] is None:
        given["target"] = "known"
    _run(gnp.instances.tensor_sensing, options.INSTANCE, given)


def _command(name: str) -> click.Command:
    """The command that makes and solves an instance of one class."""
    generator = gnp.instances.INSTANCES[name]
    making = classes.settings(generator)
    solve = _solving(lambda **given: _run(generator, making, given))
    command = click.command(name, help=_help(name, generator))(solve)
    # An argument of the generator goes before an option of the solve of the same name.
    solving = [option for option in command.params if option.name not in making]
    command.params = [*classes.options(generator), *solving]
    command.context_class = Fitting
    return command


def _help(name: str, generator: Callable[..., Any]) -> str:
    typed = (f"gnpolyak run {name}", f"gnpolyak run {name} --seed 1 --start data --json")
    return "\n".join([classes.summary(generator), "", "\b", "Examples:", *(f"  {line}" for line in typed)])


def _run(generator: Callable[..., gnp.instances.Instance], making: Any, given: dict[str, Any]) -> None:
    """Make, solve, report, and exit with what came of it."""
    as_json = given.pop("as_json")
    try:
        case = generator(**{name: given.pop(name) for name in making})
        res = _solved(case, progress=not as_json and terminal.is_watched(), **given)
    except gnp.InputError as error:
        raise click.UsageError(str(error)) from error
    report = _report(case, res)
    click.echo(json.dumps(report, allow_nan=False) if as_json else _summary(report, res))
    if res.status is gnp.Status.INTERRUPTED:
        ending.leave()
    sys.exit(0 if res.success else 1)


def _solved(case: gnp.instances.Instance, *, start: str, target: Any, rank: Any = None, **given: Any) -> gnp.Result:
    x0, rank = (case.x0, "auto") if start == "near" else (None, _rank(case) if rank is None else rank)
    return gnp.minimize(case.problem, x0, rank=rank, target=case.target if target == "known" else target, **given)


def _rank(case: gnp.instances.Instance) -> Any:
    """The truth's rank, where a start of the class takes one, or its factors are found one by one."""
    start = gnp.starts.row_for(gnp.starts.STARTS, case.problem)
    by_factors = start is None and gnp.starts.row_for(gnp.starts.LARGER, case.problem) is not None
    if not by_factors and (start is None or "rank" not in inspect.signature(start).parameters):
        return "auto"
    return next((case.settings[name] for name in ("r", "rank", "ranks") if name in case.settings), "auto")


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
