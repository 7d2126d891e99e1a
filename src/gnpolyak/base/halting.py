"""Work that ends early: where somebody wants an end, or where the time is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_HALT: ContextVar[Callable[[], bool] | None] = ContextVar("_HALT", default=None)
_HURRY: ContextVar[Callable[[], bool] | None] = ContextVar("_HURRY", default=None)


class HaltedError(Exception):
    """Work was given up between two of its parts."""


@contextmanager
def halted_by(halt: Callable[[], bool]) -> Iterator[None]:
    """A block of code whose work raises `HaltedError` at the next place where `halt` is looked at and true."""
    token = _HALT.set(halt)
    try:
        yield
    finally:
        _HALT.reset(token)


@contextmanager
def hurried_by(hurry: Callable[[], bool]) -> Iterator[None]:
    """A block of code whose `rounds` end early, with what they have, once `hurry` is true."""
    token = _HURRY.set(hurry)
    try:
        yield
    finally:
        _HURRY.reset(token)


def is_halted() -> bool:
    """Whether the work that goes on here is to be given up."""
    halt = _HALT.get()
    return halt is not None and halt()


def go_on() -> None:
    """Raise `HaltedError` where the work that goes on here is to be given up."""
    if is_halted():
        raise HaltedError


def is_hurried() -> bool:
    """Whether the work that goes on here is to make do with what it has."""
    hurry = _HURRY.get()
    return hurry is not None and hurry()


def rounds(count: int) -> Iterator[int]:
    """0, 1, …, `count` − 1; after the first no more than there is time for."""
    for i in range(count):
        go_on()
        if i and is_hurried():
            return
        yield i


@contextmanager
def interrupts() -> Iterator[None]:
    """A block of code in which work that is given up ends as Ctrl-C does: it has nothing to return."""
    try:
        yield
    except HaltedError:
        raise KeyboardInterrupt from None
