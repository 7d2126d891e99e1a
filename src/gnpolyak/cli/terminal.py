"""What a command is read on: a terminal, a file, a pipe, or nothing at all."""

from __future__ import annotations

import errno
import io
import os
import shutil
import sys
from typing import NoReturn

import click

from gnpolyak.cli.options import reason


def prepare() -> None:
    """A sign that a terminal cannot show is a question mark, not the end."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def is_watched() -> bool:
    """Whether somebody is looking: progress is shown to them only."""
    # None stands for a stream that was closed before we began.
    return sys.stderr is not None and sys.stderr.isatty()


def width() -> int | None:
    """The columns of the terminal that results are read on; None where that is a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else None


def fail(error: OSError) -> NoReturn:
    """End a command whose output could not be written, in one line, or none where nobody reads any more."""
    if error.errno in {errno.EPIPE, errno.ESHUTDOWN}:
        _discard()
        sys.exit(1)
    _discard()
    raise click.ClickException(f"{error.filename or 'The output'} cannot be written: {reason(error)}")


def _discard() -> None:
    """Drop what is left in the buffer of a standard output that takes nothing: Python would complain at its end."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
