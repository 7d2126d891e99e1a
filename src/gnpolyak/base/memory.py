"""The memory there is: asked before it is taken, and given back when it is free."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any

import numpy as np

from gnpolyak.base.errors import InputError

# Where the memory that is left cannot be told.
_CAUTIOUS = 2 * 2**30


def require_room(size: float, what: str, advice: str) -> None:
    """Raise InputError unless that many bytes can be had, before any of them is taken."""
    room = available()
    if size > room:
        raise InputError(
            given=f"{what}, which takes {in_words(size)} of memory",
            needed=f"at most the {in_words(room)} that can be had here",
            missing=f"{in_words(size - room)}",
            advice=advice,
        )


def available() -> int:
    """The bytes of memory that can be had."""
    limits = [_meminfo(), _cgroup()]
    return min((limit for limit in limits if limit is not None), default=_CAUTIOUS)


def _meminfo() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration):
        return None


def _cgroup() -> int | None:
    """The limit of a container, which the machine's own figures do not show."""
    try:
        return int(Path("/sys/fs/cgroup/memory.max").read_text())
    except (OSError, ValueError):
        return None


def in_words(size: float) -> str:
    """A number of bytes, for people."""
    size = int(size)
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if size < 1000:
            return f"{size} {unit}"
        size //= 1000
    return "more than a thousand terabytes"


def give_back() -> None:
    """Return what the C library holds of freed memory, where it is one that can be asked to (glibc).

    The compiler's threads leave freed memory behind in arenas of their own: some megabytes for each program, however
    many were dropped again. It takes a millisecond or two.
    """
    trim = _trim()
    if trim is not None:
        trim(0)


@functools.cache
def _trim() -> Any:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None


@functools.cache
def keep_pages() -> None:
    """Have the C library keep memory that was freed, up to some ten megabytes, for what is asked for next.

    A step on the host makes and drops dozens of arrays. Without this glibc hands each back to the system, and a third
    of a solve goes into page faults. Its threshold follows the largest block that was ever freed: here is one.
    """
    np.empty(31 * 2**20, np.uint8)
