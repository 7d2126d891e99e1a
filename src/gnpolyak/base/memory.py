"""Memory that is free within the process, given back to the system."""

from __future__ import annotations

import ctypes
import functools
from typing import Any


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
