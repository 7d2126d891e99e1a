"""``gnpolyak reproduce``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from gnpolyak.base.errors import InputError
from gnpolyak.base.files import require_writable
from gnpolyak.cli import ending
from gnpolyak.cli.progress import curve_progress, probe_progress
from gnpolyak.paper import catalogue, work
from gnpolyak.paper.archive import Archive
from gnpolyak.paper.publish import REPORT, publish
from gnpolyak.paper.verdicts import VERDICTS, Claim, tally

_THEORY = "theory"
NAMES = (*(figure.name for figure in catalogue.figures()), _THEORY)
_SEEDS = ", ".join(f"{sizes.seeds} if {scale}" for scale, sizes in catalogue.SIZES.items())


@click.command()
@click.argument("what", nargs=-1, type=click.Choice([*NAMES, "all"], case_sensitive=False), metavar="[FIGURE]...")
@click.option(
    "--scale", type=click.Choice(catalogue.SCALES), default="quick", show_default=True, help="Sizes to run at."
)
@click.option(
    "--variant",
    type=click.Choice(catalogue.VARIANTS),
    default="paper",
    show_default=True,
    help="Settings of the paper's text, or of its authors' code.",
)
@click.option(
    "--seeds", type=click.IntRange(1, 1000), default=None, help=f"Instances of each setting.  [default: {_SEEDS}]"
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
      gnpolyak reproduce                             everything, quickly
      gnpolyak reproduce conditioning --seeds 5      one figure, five instances
      gnpolyak reproduce all --scale paper           the paper's sizes
      gnpolyak reproduce restarts --variant authors  as the authors' code does it
    """
    folder = out or Path("gnpolyak-reproduction") / f"{scale}-{variant}"
    command = _command(what, scale, variant, seeds, out)
    with _told(folder):
        archive = Archive(folder, catalogue.figures(scale, variant), scale, seeds)
        _run(NAMES if not what or "all" in what else what, archive, jobs)
        heading = _heading(scale, variant)
        judged = publish(archive, heading=heading, command=command, with_errata=variant == "paper")
    click.echo(_summary(judged))
    click.echo(f"\nOpen {folder / REPORT} in a browser. Rows and figures are beside it.")


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    """End with a sentence and the right exit status, whatever goes wrong with the folder or the work."""
    ending.also(f"What is done is in {folder}; the same command goes on from there.")
    try:
        yield
    except InputError as error:
        raise click.UsageError(str(error)) from error
    except BrokenPipeError:
        # That is the terminal's, and none of the folder.
        raise
    except OSError as error:
        raise click.ClickException(f"cannot use {folder}: {error.strerror or error}") from error


def _run(asked: Sequence[str], archive: Archive, jobs: int) -> None:
    archive.folder.mkdir(parents=True, exist_ok=True)
    require_writable(archive.folder / REPORT)
    todo = [curve for figure in archive.figures if figure.name in asked for curve in archive.missing(figure)]
    probes = len(archive.missing_probes()) if _THEORY in asked else 0
    with curve_progress(todo, jobs, probes) as watch:
        work.complete(archive, todo, jobs, watch)
    if _THEORY in asked:
        work.probe(archive, probe_progress())


def _heading(scale: str, variant: str) -> str:
    sizes = "" if scale == "paper" else " at small sizes"
    settings = "" if variant == "paper" else " with its authors' settings"
    return f"The Gauss–Newton–Polyak paper, reproduced{sizes}{settings}"


def _command(what: Sequence[str], scale: str, variant: str, seeds: int | None, out: Path | None) -> str:
    given = {"--scale": scale, "--variant": variant, "--seeds": seeds, "--out": out}
    options = [f"{name} {value}" for name, value in given.items() if value is not None]
    return " ".join(["gnpolyak reproduce", *(what or ["all"]), *options])


def _summary(judged: Sequence[Claim]) -> str:
    lines = [f"Of {len(judged)} claims of the paper: {tally(judged)}."]
    for verdict in VERDICTS[1:-1]:
        lines += [f"  {verdict}: {claim.statement} ({claim.place})" for claim in judged if claim.verdict == verdict]
    return "\n".join(lines)
