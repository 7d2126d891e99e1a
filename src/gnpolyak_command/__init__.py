"""The command `gnpolyak` until the library is loaded, which takes seconds: Ctrl-C in them is answered in a line too."""

import os
import signal
from types import FrameType
from typing import NoReturn


def main() -> None:
    """Load the command line, and hand over to it."""
    # An exception would be no use: what is interrupted while it is imported may lose it, or print it.
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeded:
        signal.signal(signal.SIGINT, _leave)
    from gnpolyak.cli.main import main as command  # noqa: PLC0415

    if heeded:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    command()


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    os.write(2, b"Interrupted.\n")
    os._exit(128 + number)
