"""Files opened without being trusted: what is no plain file is refused, and so is what would not fit into memory."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from gnpolyak.base.errors import InputError
from gnpolyak.base.memory import available, in_words

# A solve keeps a few copies of its data.
_SHARE = 0.25


@contextmanager
def opened(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """A plain file and its size in bytes, at least one."""
    try:
        # Asked before it is opened, which has some devices do something, and again then: it may be another by now.
        _require_plain(path, os.stat(path))
        # Without O_NONBLOCK a pipe that nobody writes to would be waited for.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except InputError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise unreadable(path, f"it cannot be opened ({reason.lower()})", "check the name and the rights") from error
    try:
        found = os.fstat(handle)
        _require_plain(path, found)
        if not found.st_size:
            raise unreadable(path, "it is empty", "write it again: nothing was saved into it")
        with os.fdopen(handle, "rb", closefd=False) as file:
            yield file, found.st_size
    finally:
        os.close(handle)


def _require_plain(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise unreadable(path, "it is no plain file", "name the file itself, not a folder, pipe or device")


def unreadable(path: Path, missing: str, advice: str) -> InputError:
    """The error for a file that cannot be read as it is."""
    return InputError(
        given=f"the file {shown(path.name or str(path))}",
        needed="a .npy, .npz, .csv or .parquet file of numbers",
        missing=missing,
        advice=advice,
    )


def shown(name: str) -> str:
    """A name from outside on one line, however long it is and whatever is in it."""
    text = ascii(name)
    return text if len(text) <= 80 else text[:60] + "…" + text[-19:]


def require_room(path: Path, size: int, what: str = "it declares") -> None:
    """Raise InputError unless that many bytes of numbers can be held, before any of them is."""
    room = int(_SHARE * available())
    if size > room:
        missing = f"room: {what} {in_words(size)} of numbers, and there is room for {in_words(room)}"
        raise unreadable(path, missing, "use a part of the data, or a machine with more memory")
