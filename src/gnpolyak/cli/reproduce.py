"""``gnpolyak reproduce``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from gnpolyak.base.errors import InputError
from gnpolyak.paper import constants, publish, specs, work
from gnpolyak.paper.pictures import VERDICTS, Claim, counted
from gnpolyak.paper.progress import reporting, theory_progress

NAMES = ("conditioning", "scaledsm", "order", "restarts", "rank", "theory")
# What a process may need beside the measurements, and what all of them together may take.
# At n = 6, d = 1000 a run was seen to peak at 5.4 GB for 3.84 GB of measurements.
_BESIDE, _MOST = 1.25e9, 16e9


@click.command()
@click.argument("what", nargs=-1, type=click.Choice([*NAMES, "all"], case_sensitive=False), metavar="[FIGURE]...")
@click.option("--scale", type=click.Choice(specs.SCALES), default="quick", show_default=True, help="Sizes to run at.")
@click.option(
    "--variant",
    type=click.Choice(specs.VARIANTS),
    default="paper",
    show_default=True,
    help="Settings of the paper's text, or of its authors' code.",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, 1000),
    default=None,
    help="Instances of each setting.  [default: 1 if quick, else 3]",
)
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Curves to run at a time.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    help="Folder for rows, figures and report.  [default: gnpolyak-reproduction/SCALE-VARIANT]",
)
def reproduce(what: Sequence[str], scale: str, variant: str, seeds: int | None, jobs: int, out: Path | None) -> None:
    """Make the paper's figures again, and see which of its claims hold.

    FIGURE is one or more of conditioning (the paper's Figure 1), scaledsm (2), order (3), restarts (4), rank (5) and
    theory (the constants of the theorems); all of them by default. Each curve is kept as soon as it is done: after
    Ctrl-C, a crash or a power cut the same command goes on where it stopped. Delete the folder to start afresh.

    \b
    --scale quick   all figures at d = 30 and 60, about a minute on two cores
    --scale paper   the paper's sizes, d = 100 and 1000, up to 90 minutes and 6 GB

    Written to the folder: FIGURE.csv.gz (tidy rows with settings and provenance), FIGURE.png and .svg, and
    report.html, one page for a browser with all charts and every claim of the paper. Timings are worth comparing
    with --jobs 1 only.

    \b
    Examples:
      gnpolyak reproduce                               everything, quickly
      gnpolyak reproduce conditioning --seeds 5        one figure, with a band over five instances
      gnpolyak reproduce all --scale paper             the paper's sizes
      gnpolyak reproduce restarts --variant authors    with the settings of the authors' code
    """
    asked = NAMES if not what or "all" in what else what
    folder = out or Path("gnpolyak-reproduction") / f"{scale}-{variant}"
    figures = specs.figures(scale, variant)
    try:
        publish.evidence(folder, figures, scale, seeds)  # rows that cannot be read are better told before the work
        _run(asked, figures, scale, seeds, jobs, folder)
        judged = publish.publish(
            folder,
            figures,
            publish.evidence(folder, figures, scale, seeds),
            heading=_heading(scale, variant),
            command=_command(what, scale, variant, seeds, out),
            with_errata=variant == "paper",
        )
    except InputError as error:
        raise click.UsageError(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"cannot use {folder}: {error.strerror or error}") from error
    except KeyboardInterrupt:
        click.echo(f"\nInterrupted. What is done is in {folder}; the same command goes on from there.", err=True)
        sys.exit(130)
    click.echo(_summary(judged))
    click.echo(f"\nOpen {folder / publish.REPORT} in a browser. Rows and figures are beside it.")


def _run(
    asked: Sequence[str], figures: Sequence[specs.Figure], scale: str, seeds: int | None, jobs: int, folder: Path
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [figure for figure in figures if figure.name in asked]
    todo = [curve for figure in chosen for curve in work.missing(folder, figure, seeds)]
    _require_memory(todo, jobs)
    probes = len(constants.missing(folder / publish.THEORY, scale)) if "theory" in asked else 0
    with reporting(todo, jobs, probes) as watch:
        work.complete(folder, chosen, seeds, jobs, watch)
    if "theory" in asked:
        constants.complete(folder / publish.THEORY, scale, theory_progress())


def _memory(todo: Sequence[specs.Curve], jobs: int) -> float:
    """The most bytes that so many of the curves take at the same time."""
    sizes = sorted((16.0 * curve.setting.m * curve.setting.d for curve in todo), reverse=True)
    return sum(1.1 * size + _BESIDE for size in sizes[:jobs])


def _require_memory(todo: Sequence[specs.Curve], jobs: int) -> None:
    needed = _memory(todo, jobs)
    if needed > _MOST:
        raise click.UsageError(
            f"--jobs {jobs} would take up to {needed / 1e9:.0f} GB at once, more than {_MOST / 1e9:.0f}: use fewer jobs"
        )


def _heading(scale: str, variant: str) -> str:
    sizes = "" if scale == "paper" else " at small sizes"
    settings = "" if variant == "paper" else " with its authors' settings"
    return f"The Gauss–Newton–Polyak paper, reproduced{sizes}{settings}"


def _command(what: Sequence[str], scale: str, variant: str, seeds: int | None, out: Path | None) -> str:
    given = {"--scale": scale, "--variant": variant, "--seeds": seeds, "--out": out}
    options = [f"{name} {value}" for name, value in given.items() if value is not None]
    return " ".join(["gnpolyak reproduce", *(what or ["all"]), *options])


def _summary(judged: Sequence[Claim]) -> str:
    lines = [f"Of {len(judged)} claims of the paper: {counted(judged)}."]
    for verdict in VERDICTS[1:-1]:
        lines += [f"  {verdict}: {claim.statement} ({claim.place})" for claim in judged if claim.verdict == verdict]
    return "\n".join(lines)
