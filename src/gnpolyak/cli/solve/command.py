"""``gnpolyak solve``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, NoReturn

import click

import gnpolyak as gnp
from gnpolyak.cli.options import NumberOr
from gnpolyak.cli.solve import page
from gnpolyak.cli.solve.answer import Answer
from gnpolyak.cli.solve.kinds import KINDS
from gnpolyak.cli.solve.understanding import Understood, example, from_file

_INTERRUPTED = 130


class _Choice(click.Choice):  # type: ignore[type-arg,unused-ignore]
    """A problem class, with hyphens or underscores."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(str(value).replace("-", "_"), param, ctx)


def _holdings() -> str:
    return "\n".join(f"  {name}: {kind.holds}" for name, kind in KINDS.items())


@click.command(epilog="\b\nWhat a file of each kind holds:\n" + _holdings())
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--kind", type=_Choice(list(KINDS)), default=None, help="The problem class.  [default: guessed]")
@click.option("--rank", type=NumberOr("auto", click.INT), default=None, help="Number of factors.  [default: found]")
@click.option("--out", type=click.Path(path_type=Path), default=None, help="Folder to write to.  [default: the file's]")
@click.option("--max-seconds", type=float, default=None, help="Most seconds.")
@click.option("--example", "wanted", type=_Choice(list(KINDS)), default=None, help="Write a small file to try instead.")
def solve(
    file: Path | None, kind: str | None, rank: Any, out: Path | None, max_seconds: float | None, wanted: str | None
) -> None:
    """Solve the problem that is in FILE, a .npz, .npy, .csv or .parquet file of numbers.

    Says what it understood, solves, prints three lines, and writes NAME.answer.npz (the solution, the residuals and
    which data are wrong) and NAME.html (the same in pictures) next to the file. Ctrl-C ends it with the best so far.
    Exits with 0 if solved, 1 if not, 2 on a file or an option that cannot be used, 130 after Ctrl-C.

    \b
    Examples:
      gnpolyak solve table.csv                                a matrix; empty cells are completed
      gnpolyak solve video.npy --kind robust_pca --rank 1     a stack of images
      gnpolyak solve --example regression                     write a file to try
      gnpolyak solve regression.npz
    """
    try:
        if wanted is not None:
            _write_example(wanted, file or Path(f"{wanted}.npz"))
            return
        if file is None:
            raise click.UsageError("name a FILE, or --example CLASS for one to try")
        targets = _targets(file, out)
        understood = from_file(file, kind)
        click.echo(understood.description, err=True)
        _finish(_solved(understood, rank, max_seconds), file, targets)
    except gnp.InputError as error:
        _fail(str(error))
    except KeyboardInterrupt:
        click.echo("Interrupted before there was anything to write.", err=True)
        sys.exit(_INTERRUPTED)


class _Refused(click.ClickException):
    """Input that cannot be used: one line, without the usage, which was right."""

    exit_code = 2


def _fail(message: str) -> NoReturn:
    raise _Refused(message)


def _write_example(kind: str, path: Path) -> None:
    if path.exists() or not path.parent.is_dir() or path.suffix != ".npz":
        _fail(f"{path} is there already, or not a .npz file in a folder that exists: name another")
    example(kind, path)
    click.echo(f"{path}: {KINDS[kind].holds}.\nNow: gnpolyak solve {path}")


def _targets(file: Path, out: Path | None) -> tuple[Path, Path]:
    """The two files to write, refused before any work is done where they cannot be."""
    folder = file.parent if out is None else out
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        _fail(f"the folder {folder} does not exist or cannot be written to: name another with --out")
    answer, summary = folder / f"{file.stem}.answer.npz", folder / f"{file.stem}.html"
    if summary.exists() and not _is_ours(summary):
        _fail(f"{summary} is there already and not a page of gnpolyak solve: name another folder with --out")
    return answer, summary


def _is_ours(summary: Path) -> bool:
    if not summary.is_file():
        return False
    with summary.open("rb") as file:
        return page.MARK.encode() in file.read(1000)


def _solved(understood: Understood, rank: Any, max_seconds: float | None) -> Answer:
    default = KINDS[understood.kind].rank
    chosen = (default or "auto") if rank is None else rank
    shown = sys.stderr.isatty()
    return Answer(understood, gnp.minimize(understood.problem, rank=chosen, max_seconds=max_seconds, progress=shown))


def _finish(answer: Answer, file: Path, targets: tuple[Path, Path]) -> NoReturn:
    try:
        answer.save(targets[0])
        page.write(answer, file.name, targets[1])
    except OSError as error:
        _fail(f"the answer cannot be written: {error.strerror}")
    click.echo(answer.lines(*targets))
    if answer.result.status is gnp.Status.INTERRUPTED:
        sys.exit(_INTERRUPTED)
    sys.exit(0 if answer.solved else 1)
