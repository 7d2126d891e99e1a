"""The progress bar of `minimize(progress=True)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gnpolyak.base.errors import InputError
from gnpolyak.solve.result import Result


class Bar:
    """Shows a Result so far, and what is done while there is no other one."""

    def __init__(self, bar: Any, task: Any, name: str) -> None:
        self._bar, self._task, self._name = bar, task, name

    def __call__(self, res: Result) -> None:
        self._bar.update(self._task, completed=res.calls, best=f"{res.value:.6g}")

    def say(self, what: str) -> None:
        """Name the work beside the method."""
        self._bar.update(self._task, description=f"{self._name}: {what}" if what else self._name)


@contextmanager
def progress_bar(max_calls: int, name: str) -> Iterator[Bar]:
    """Yield what shows a Result so far."""
    console, progress = _rich()
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("best {task.fields[best]}"),
        progress.TimeElapsedColumn(),
    )
    # Standard output is for results, and may go to a file.
    with progress.Progress(*columns, console=console.Console(stderr=True), transient=True) as bar:
        yield Bar(bar, bar.add_task(name, total=max_calls, best="-"), name)


@contextmanager
def members_bar(count: int, name: str) -> Iterator[Callable[[int], Any]]:
    """Yield a function that shows how many members of a batch are done."""
    console, progress = _rich()
    shown = (progress.TextColumn("{task.description}"), progress.BarColumn(), progress.MofNCompleteColumn())
    columns = *shown, progress.TimeElapsedColumn()
    with progress.Progress(*columns, console=console.Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=count)
        yield lambda done: bar.update(task, completed=done)


def _rich() -> tuple[Any, Any]:
    """What draws bars, and where to."""
    try:
        from rich import console, progress
    except ImportError as error:
        raise InputError(
            given="progress=True",
            needed="the package rich, to draw the bar",
            missing="rich is not installed",
            advice="pip install 'gnpolyak[cli]', or leave out progress",
        ) from error
    return console, progress
