"""Ctrl-C, and SIGTERM where the solve is kept in a file, as an event that the loop looks at."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

_UNCAUGHT = ContextVar("_UNCAUGHT", default=False)
_PRESSED: ContextVar[threading.Event | None] = ContextVar("_PRESSED", default=None)


@contextmanager
def interruptible(terminable: bool = False) -> Iterator[threading.Event]:
    """Turn the first Ctrl-C into an event for the loop to see; a second one raises as usual.

    Compiled code cannot be interrupted, and an exception between two chunks would lose the best iterate. With
    `terminable` the first SIGTERM is such an event too, and the second ends the process as usual; a handler that the
    program has for it stays. In a thread that works for such a block, the event is that block's.
    """
    pressed = threading.Event()
    if _UNCAUGHT.get() or threading.current_thread() is not threading.main_thread():
        yield _PRESSED.get() or pressed
        return
    previous, ours = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    def press(signum: int, frame: FrameType | None) -> None:
        if pressed.is_set():
            raise KeyboardInterrupt
        pressed.set()

    def terminate(signum: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        pressed.set()

    signal.signal(signal.SIGINT, press)
    if terminable and ours:
        signal.signal(signal.SIGTERM, terminate)
    token = _PRESSED.set(pressed)
    try:
        yield pressed
    finally:
        _PRESSED.reset(token)
        # None stands for a handler that was not installed from Python, and cannot be put back from here.
        signal.signal(signal.SIGINT, signal.default_int_handler if previous is None else previous)
        if terminable and ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def uncaught() -> Iterator[None]:
    """A block whose solves leave Ctrl-C alone, so that it raises: where half a solve is worth nothing to anybody."""
    token = _UNCAUGHT.set(True)
    try:
        yield
    finally:
        _UNCAUGHT.reset(token)
