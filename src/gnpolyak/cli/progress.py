"""How far `gnpolyak reproduce` is and how long it will take: bars on a terminal, lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
from rich import progress
from rich.console import Console

from gnpolyak.cli import terminal
from gnpolyak.paper.specs import Curve

# Seconds that a probe of theory takes, in the units of `Curve.work`.
_PROBE = 5.0


class _Account:
    """The work done so far, and from its pace the time left."""

    def __init__(self, todo: Sequence[Curve], probes: int) -> None:
        self.total = sum(curve.work for curve in todo) + _PROBE * probes
        self.count = len(todo)
        self.done = 0.0
        self.finished = 0
        self.began = time.perf_counter()

    def finish(self, curve: Curve) -> None:
        self.done += curve.work
        self.finished += 1

    def left(self) -> str:
        elapsed = time.perf_counter() - self.began
        return _duration(elapsed * (self.total - self.done) / max(self.done, 1e-9))


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def probe_progress() -> Callable[[str, int, int], None]:
    """A function that says which probe comes next, and from the pace of those before it the time left."""
    began = time.perf_counter()

    def line(name: str, place: int, count: int) -> None:
        pace = (time.perf_counter() - began) / max(place, 1)
        left = f", about {_duration(pace * (count - place))} left" if place else ""
        click.echo(f"[{place + 1}/{count}] theory: {name}{left}", err=True)

    return line


@contextmanager
def curve_progress(todo: Sequence[Curve], jobs: int, probes: int) -> Iterator[Any]:
    """Yield a function to be told of a curve and the share of it that is done.

    The time left includes that of the probes of theory, which come after the curves.
    """
    if not todo:
        yield lambda curve, share: None
    elif terminal.is_watched():
        with _bars(_Account(todo, probes), jobs == 1) as watch:
            yield watch
    else:
        account = _Account(todo, probes)

        def line(curve: Curve, share: float) -> None:
            if share >= 1:
                account.finish(curve)
                click.echo(f"[{account.finished}/{account.count}] {curve.name}, about {account.left()} left", err=True)

        yield line


@contextmanager
def _bars(account: _Account, one_at_a_time: bool) -> Iterator[Any]:
    columns = (
        progress.TextColumn("{task.description:<39}"),
        progress.BarColumn(bar_width=10),
        progress.TextColumn("{task.fields[note]}"),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        everything = bars.add_task("all curves", total=account.total, note=f"0/{account.count}")
        current = bars.add_task("", total=1.0, note="", visible=one_at_a_time)

        def watch(curve: Curve, share: float) -> None:
            if share < 1:
                bars.update(current, description=curve.name, completed=share)
                return
            account.finish(curve)
            note = f"{account.finished}/{account.count}, about {account.left()} left"
            bars.update(everything, completed=account.done, note=note)

        yield watch
