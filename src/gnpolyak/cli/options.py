"""The options that several commands have: an instance of the paper, and files to write."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import click

from gnpolyak import instances
from gnpolyak.base.files import require_writable

_MEASUREMENTS = f"Measurements.  [default: {instances.DEFAULT_MEASUREMENTS}]"
_INSTANCE = (
    click.option("--d", type=int, default=100, show_default=True, help="Dimension."),
    click.option("--r", type=int, default=5, show_default=True, help="Rank."),
    click.option("--n", type=int, default=2, show_default=True, help="Order of the tensor; 2 is a matrix."),
    click.option("--kappa", type=float, default=10.0, show_default=True, help="Condition number of the true factor."),
    click.option("--p-fail", type=float, default=0.0, show_default=True, help="Share of corrupted measurements."),
    click.option("--m", type=int, default=None, help=_MEASUREMENTS),
    click.option(
        "--radius", type=float, default=0.1, show_default=True, help="Distance of the start from the truth, relative."
    ),
    click.option("--seed", type=int, default=0, show_default=True, help="Seed of the instance."),
)
INSTANCE = ("d", "r", "n", "kappa", "p_fail", "m", "radius", "seed")
"""The names of these options, which are those of `instances.tensor_sensing`."""


def instance(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of an instance."""
    for option in reversed(_INSTANCE):
        command = option(command)
    return command


class Refused(click.ClickException):
    """Input that cannot be used: one line, without the usage, which was right."""

    exit_code = 2


def reason(error: OSError) -> str:
    """What the system says of an error, within a sentence."""
    words = error.strerror or str(error)
    return words[:1].lower() + words[1:]


PICTURES = (".png", ".svg", ".pdf")
"""The kinds of pictures that can be written."""


class OutputFile(click.Path):
    """A file to write, refused before any work is done if its kind is wrong or it could not be written."""

    def __init__(self, suffixes: Collection[str] = ()) -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self.suffixes = suffixes

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(value)
        if not path.parent.is_dir():
            raise Refused(f"the folder {path.parent} does not exist: make it, or name another file")
        if self.suffixes and path.suffix.lower() not in self.suffixes:
            known = ", ".join(self.suffixes)
            raise Refused(f"cannot write {path.suffix or 'a file without suffix'}: name one of {known}")
        try:
            require_writable(path)
        except OSError as error:
            raise Refused(f"{path} cannot be written: {reason(error)}") from error
        return super().convert(value, param, ctx)


CHECKPOINT = (
    click.option(
        "--checkpoint",
        type=OutputFile(),
        default=None,
        help="A file to keep the solve in: after a kill or Ctrl-C the same command goes on from there.",
    ),
    click.option(
        "--checkpoint-seconds", type=float, default=60.0, show_default=True, help="Time between two writes of it."
    ),
)


def checkpoint(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a file to keep its solve in."""
    for option in reversed(CHECKPOINT):
        command = option(command)
    return command


class NumberOr(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A number, or one word."""

    def __init__(self, word: str, number: click.ParamType) -> None:  # type: ignore[type-arg,unused-ignore]
        self.word, self.number = word, number
        self.name = f"{word}|NUMBER"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == self.word else self.number.convert(value, param, ctx)


def finite(number: float) -> float | None:
    """The number as JSON can say it, which has no NaN and no infinity: those are null."""
    return float(number) if math.isfinite(number) else None
