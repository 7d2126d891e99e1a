"""``gnpolyak solve``."""

from __future__ import annotations

import sys
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import click

import gnpolyak as gnp
from gnpolyak.base.files import require_writable
from gnpolyak.cli import ending, options, terminal
from gnpolyak.cli.options import Refused, reason
from gnpolyak.cli.solve import page
from gnpolyak.cli.solve.answer import Answer
from gnpolyak.cli.solve.classes import KINDS
from gnpolyak.cli.solve.understanding import Understood, example, from_file

_KIND_HELP = "The problem class, one of those below.  [default: guessed]"
_EXAMPLE_HELP = "Write a small file of this kind to try instead."


class _Choice(click.Choice):  # type: ignore[type-arg,unused-ignore]
    """A problem class, with hyphens or underscores."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(str(value).replace("-", "_"), param, ctx)


class _Rank(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A number, one for each axis with commas between them, or "auto"."""

    name = "auto|NUMBER[,...]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "auto" or not isinstance(value, str):
            return value
        try:
            ranks = tuple(int(part) for part in value.split(","))
        except ValueError:
            self.fail(f"{value!r} is not 'auto', a number, or numbers with commas between them", param, ctx)
        return ranks if len(ranks) > 1 else ranks[0]


class _Solve(click.Command):
    """A command whose help ends with what a file of each kind holds."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("What a file of each kind holds, by name"):
            formatter.write_dl([(name, kind.holds) for name, kind in KINDS.items()])


@click.command(cls=_Solve)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--kind", type=_Choice(list(KINDS)), metavar="KIND", default=None, help=_KIND_HELP)
@click.option("--rank", type=_Rank(), default=None, help="Number of factors; 2,3,2 for tucker.  [default: found]")
@click.option("--out", type=click.Path(path_type=Path), default=None, help="Folder to write to.  [default: the file's]")
@click.option("--max-seconds", type=float, default=None, help="Most seconds.")
@options.checkpoint
@click.option("--example", "wanted", type=_Choice(list(KINDS)), metavar="KIND", default=None, help=_EXAMPLE_HELP)
def solve(file: Path | None, kind: str | None, rank: Any, out: Path | None, wanted: str | None, **solving: Any) -> None:
    """Solve the problem that is in FILE, a .npz, .npy, .csv or .parquet file of numbers.

    Says what it understood, solves, prints three lines, and writes NAME.answer.npz (the solution, the residuals and
    which data are wrong) and NAME.html (the same in pictures) next to the file. Ctrl-C ends it with the best so far,
    which is written without the page.
    Exits with 0 if solved, 1 if not, 2 on a file or an option that cannot be used, 130 after Ctrl-C.

    The kind is guessed from the names and shapes of the arrays, unless --kind says it, or a word in the file itself:
    numpy.savez("data.npz", kind="tucker", T=T). In a .csv or .parquet file the columns are the arrays, or all of
    them together one matrix. Nothing in a file is ever executed. With --checkpoint a long solve goes on after a kill.

    \b
    Examples:
      gnpolyak solve table.csv               a matrix; empty cells are completed
      gnpolyak solve video.npy --kind robust_pca --rank 1      a stack of images
      gnpolyak solve block.npy --kind tucker --rank 3,3,2      its ranks known
      gnpolyak solve --example regression    write a file to try
      gnpolyak solve regression.npz
    """
    ending.also("There was nothing to write yet.")
    try:
        if wanted is not None:
            _write_example(wanted, file or Path(f"{wanted}.npz"))
            return
        if file is None:
            raise click.UsageError("name a FILE, or --example CLASS for one to try")
        targets = _targets(file, out)
        understood = from_file(file, kind)
        click.echo(understood.description, err=True)
        _finish(_solved(understood, rank, **solving), file, targets)
    except gnp.InputError as error:
        _fail(str(error))
    except MemoryError:
        _fail("there is not enough memory for this: use a part of the data, or a machine with more")


def _fail(message: str) -> NoReturn:
    raise Refused(message)


def _write_example(kind: str, path: Path) -> None:
    if path.exists() or not path.parent.is_dir() or path.suffix != ".npz":
        _fail(f"{path} is there already, or not a .npz file in a folder that exists: name another")
    try:
        example(kind, path)
    except OSError as error:
        _fail(f"{path} cannot be written: {reason(error)}")
    click.echo(f"{path}: {KINDS[kind].holds}.\nNow: gnpolyak solve {path}")


def _targets(file: Path, out: Path | None) -> tuple[Path, Path]:
    """The two files to write, refused before any work is done where they cannot be."""
    folder = file.parent if out is None else out
    if not folder.is_dir():
        _fail(f"the folder {folder} does not exist: name another with --out")
    answer, summary = folder / f"{file.stem}.answer.npz", folder / f"{file.stem}.html"
    for path, ours in ((summary, _is_page), (answer, _is_answer)):
        if path.exists() and not ours(path):
            _fail(f"{path} is there already and not of gnpolyak solve: name another folder with --out")
    try:
        require_writable(answer)
    except OSError as error:
        _fail(f"nothing can be written to the folder {folder} ({reason(error)}): name another with --out")
    return answer, summary


def _is_page(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return page.MARK.encode() in file.read(1000)


def _is_answer(path: Path) -> bool:
    try:
        # A pipe that nobody writes to would be waited for.
        if not path.is_file():
            return False
        with zipfile.ZipFile(path) as archive:
            return {"residuals.npy", "outliers.npy", "value.npy"} <= set(archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return False


def _solved(understood: Understood, rank: Any, **solving: Any) -> Answer:
    kind = KINDS[understood.kind]
    if rank is not None and kind.rank is None:
        _fail(f"{understood.kind} has no rank to choose: leave out --rank")
    stated = next(each for each in (rank, understood.built.rank, kind.rank, "auto") if each is not None)
    with _noted():
        res = gnp.minimize(
            understood.problem,
            understood.built.x0,
            rank=stated if understood.built.x0 is None else "auto",
            progress=terminal.is_watched(),
            **solving,
        )
    return Answer(understood, res)


@contextmanager
def _noted() -> Iterator[None]:
    """Say warnings in a line each, without the place in the library where they arose."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            yield
        finally:
            for each in caught:
                if issubclass(each.category, gnp.starts.WeakStartWarning):
                    click.echo(f"Note: {each.message}", err=True)


def _finish(answer: Answer, file: Path, targets: tuple[Path, Path]) -> NoReturn:
    interrupted = answer.result.status is gnp.Status.INTERRUPTED
    try:
        answer.save(targets[0])
        if not interrupted:
            page.write(answer, file.name, targets[1])
    except OSError as error:
        click.echo(answer.lines())
        _fail(f"the answer cannot be written to {targets[0].parent}: {reason(error)}")
    click.echo(answer.lines(*targets[:1] if interrupted else targets))
    if interrupted:
        # Nobody who pressed Ctrl-C waits for pictures.
        ending.also("The best so far is kept, and no page is drawn of it.")
        ending.leave()
    sys.exit(0 if answer.solved else 1)
