"""How a command ends when it is asked to: within two seconds, with one line, the right code, and nothing half-written.

XLA's compiler takes seconds, and Python's handlers of signals wait for its return. So a thread waits for the signal
too, and ends the process where nothing else has.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any, NoReturn

import click

from gnpolyak.base.files import remove_drafts

# Of the two seconds, what a command is left with to end by itself.
_GRACE = 1.2
_WORDS = {"SIGINT": "Interrupted.", "SIGTERM": "Terminated.", "SIGHUP": "The terminal is gone."}
_SIGNALS = {int(getattr(signal, name)): words for name, words in _WORDS.items() if hasattr(signal, name)}
_SHOW_CURSOR = b"\x1b[?25h"


class _Asked:
    """What is known of the request to end, and what is to be said then."""

    number = int(signal.SIGINT)
    also = ""
    told = False


def begin() -> None:
    """Forget what an earlier command in this process was asked."""
    _Asked.number, _Asked.also, _Asked.told = int(signal.SIGINT), "", False


def also(words: str) -> None:
    """What is to be said beside "Interrupted."."""
    _Asked.also = words


def code() -> int:
    """The exit code of a command that was asked to end: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + _Asked.number


def leave() -> NoReturn:
    """Say so, and end with the code."""
    if not _Asked.told:
        _Asked.told = True
        click.echo(_line(), err=True)
    sys.exit(code())


def watch() -> None:
    """Have requests to end raise KeyboardInterrupt, and end the process by force where that does not help."""
    for number in _SIGNALS:
        # Whoever started this may have had it ignore a signal, as nohup does, or a shell for what is in the background.
        if number != signal.SIGINT and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _raise)
    atexit.register(_at_exit)
    sys.unraisablehook = _quietly(sys.unraisablehook)
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    # The thread keeps both ends: one that is collected is closed.
    threading.Thread(target=_wait, args=(reader, writer), daemon=True).start()


def _raise(number: int, frame: FrameType | None) -> None:
    _Asked.number = number
    raise KeyboardInterrupt


def _quietly(hook: Callable[[Any], Any]) -> Callable[[Any], None]:
    """The hook, but for a KeyboardInterrupt that came where nobody could pass it on: the thread ends the process."""

    def unraisable(found: Any) -> None:
        if found.exc_type is not KeyboardInterrupt:
            hook(found)

    return unraisable


def _wait(reader: socket.socket, writer: socket.socket) -> None:
    number = 0
    while number not in _SIGNALS:
        number = reader.recv(1)[0]
    time.sleep(_GRACE)
    _Asked.number = number
    _end()


def _end() -> NoReturn:
    """End now. Nothing here waits for a lock that the main thread may hold; all that was said was flushed when said."""
    remove_drafts()
    for child in multiprocessing.active_children():
        child.kill()
    if not _Asked.told:
        _show_cursor()
        _write(2, _line().encode(getattr(sys.stderr, "encoding", None) or "ascii", "replace") + b"\n")
    os._exit(code())


def _show_cursor() -> None:
    """Progress bars hide it."""
    for handle in (1, 2):
        if os.isatty(handle) and os.environ.get("TERM") != "dumb":
            _write(handle, _SHOW_CURSOR + b"\n")
            return


def _at_exit() -> None:
    """Python's own end takes a second where JAX has computed, and may give another code than was asked for."""
    if _Asked.told:
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):
                stream.flush()
        _end()


def _line() -> str:
    return f"{_SIGNALS[_Asked.number]} {_Asked.also}".strip()


def _write(handle: int, content: bytes) -> None:
    try:
        os.write(handle, content)
    except OSError:
        # Nobody is there to be told.
        return
