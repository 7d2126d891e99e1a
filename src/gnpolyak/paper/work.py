"""Run what an archive is missing, keep each curve and each probe as soon as it is done, and say how far it is."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import gnpolyak as gnp
from gnpolyak.base.errors import InputError
from gnpolyak.base.interrupts import uncaught
from gnpolyak.paper.archive import Archive
from gnpolyak.paper.rows import Trace
from gnpolyak.paper.run import run
from gnpolyak.paper.specs import Curve

Watch = Callable[[Curve, float], Any]
"""Called with a curve and the share of it that is done, 1 when it is kept."""

# What a process may need beside the measurements, and what all of them together may take.
# At n = 6, d = 1000 a run was seen to peak at 5.4 GB for 3.84 GB of measurements.
_BESIDE, _MOST = 1.25e9, 16e9


def complete(archive: Archive, todo: Sequence[Curve], jobs: int, watch: Watch) -> None:
    """Run the curves, so many at a time."""
    require_memory(todo, jobs)
    for curve, trace in _in_turn(todo, watch) if jobs == 1 else _at_once(todo, jobs):
        archive.keep(trace)
        watch(curve, 1.0)


def probe(archive: Archive, watch: Callable[[str, int, int], Any]) -> None:
    """Measure what is missing of theory's constants; `watch` gets each probe's name, its place and their number."""
    todo = archive.missing_probes()
    for place, each in enumerate(todo):
        watch(each.name, place, len(todo))
        archive.keep_findings(each, list(each.measure()))


def memory(todo: Sequence[Curve], jobs: int) -> float:
    """The most bytes that so many of the curves take at the same time."""
    sizes = sorted((16.0 * curve.setting.m * curve.setting.d for curve in todo), reverse=True)
    return sum(1.1 * size + _BESIDE for size in sizes[:jobs])


def require_memory(todo: Sequence[Curve], jobs: int) -> None:
    """Refuse what could bring the machine down before it is begun."""
    needed = memory(todo, jobs)
    if needed > _MOST:
        raise InputError(
            given=f"{jobs} jobs, which may take up to {needed / 1e9:.0f} GB at once",
            needed=f"at most {_MOST / 1e9:.0f} GB",
            missing="room for so many",
            advice="use fewer jobs",
        )


def _in_turn(todo: Sequence[Curve], watch: Watch) -> Iterator[tuple[Curve, Trace]]:
    for curve in todo:
        yield curve, run(curve, watch=lambda res, c=curve: watch(c, min(res.calls / c.likely_calls, 0.99)))  # type: ignore[misc]


def _at_once(todo: Sequence[Curve], jobs: int) -> Iterator[tuple[Curve, Trace]]:
    """In processes of their own: JAX must not be forked. Each gets its share of the cores."""
    share = max(1, (os.cpu_count() or 1) // jobs)
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, spawn, initializer=_prepare, initargs=(share,))
    try:
        pending: dict[Future[Trace], Curve] = {pool.submit(_run_alone, curve, jobs): curve for curve in todo}
        while pending:
            finished, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in finished:
                yield pending.pop(future), future.result()
    except KeyboardInterrupt:
        # Half a curve is worth nothing: nobody should wait for its end.
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    except BrokenProcessPool as error:
        raise _ended_from_outside(jobs) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _prepare(share: int) -> None:
    """Set a process up. Ctrl-C is for the one that started it: it reaches all of them, and each would have its say."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gnp.native.set_num_threads(share)


def _run_alone(curve: Curve, jobs: int) -> Trace:
    with uncaught():
        return run(curve, jobs)


def _ended_from_outside(jobs: int) -> InputError:
    return InputError(
        given=f"{jobs} processes at a time",
        needed="processes that live to the end of their curve",
        missing="one of them, which was ended from outside, perhaps for want of memory",
        advice="use fewer jobs; what is done is kept, and the same command goes on from there",
    )
