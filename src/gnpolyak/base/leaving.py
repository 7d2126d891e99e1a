"""The end of a process that has lost others: it waits for none of them, but not before it has said what it has."""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

LEAVING = 75
"""What a process ends with that has lost another: the code for what may go well the next time."""
# What must not be destroyed before the process is: JAX would wait for the lost ones then.
_kept: list[Any] = []


def store() -> Any:
    """The store that JAX keeps for all processes, which has no public name."""
    from jax._src import distributed  # noqa: PLC0415

    return distributed.global_state.client


def is_alone() -> bool:
    """Whether this process has lost others, and can take part in nothing any more."""
    return bool(_kept)


def leave_alone() -> None:
    """Have this process end without the others: neither its end nor ``jax.distributed.shutdown`` waits for any."""
    from jax._src import distributed  # noqa: PLC0415

    state = distributed.global_state
    _kept.extend((state.preemption_sync_manager, state.client, state.service))
    state.preemption_sync_manager = state.client = state.service = None
    atexit.register(leave, LEAVING)


def leave(code: int) -> None:
    """End the process at once, with all that was written before."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(code)


class Aborts:
    """Aborts of C++ code in this process, which is how JAX ends one that has lost others.

    JAX gives no other word in it: the callback that its client has cannot be called in Python. An abort that comes of
    lost processes is held up, in the thread that it came in, for the process to end by itself.
    """

    _is_ours: Callable[[], bool] | None = None
    _before: Any = None
    _handler: Any = None

    @classmethod
    def held(cls, is_ours: Callable[[], bool]) -> None:
        """From now on hold up those aborts of which `is_ours` says that they come of lost processes."""
        if os.name == "posix" and cls._is_ours is None:
            cls._handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(cls._aborted)
            cls._before = _handled_by(ctypes.cast(cls._handler, ctypes.c_void_p))
            cls._is_ours = is_ours

    @classmethod
    def let_go(cls, is_ours: Callable[[], bool]) -> None:
        """Aborts as they were before, if it is with this function that they are held."""
        if cls._is_ours == is_ours:
            _handled_by(cls._before)
            cls._is_ours = None

    @classmethod
    def _aborted(cls, signum: int) -> None:
        """Runs in the thread that aborts; the process ends when this returns."""
        if cls._is_ours is None or not cls._is_ours():
            return
        if threading.current_thread() is threading.main_thread():
            leave(LEAVING)
        threading.Event().wait()


def _handled_by(handler: Any) -> Any:
    """Have the C function handle SIGABRT, and return the one that did."""
    libc = ctypes.CDLL(None)
    libc.signal.argtypes, libc.signal.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    return libc.signal(signal.SIGABRT, handler)
