"""Run what is missing of a figure, keep each curve as soon as it is done, and say how far it is."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from gnpolyak.base.errors import InputError
from gnpolyak.paper import rows
from gnpolyak.paper.run import run
from gnpolyak.paper.specs import Curve, Figure
from gnpolyak.problem.oracles import native

Watch = Callable[[Curve, float], Any]
"""Called with a curve and the share of it that is done, 1 when it is kept."""


def path(folder: Path, figure: Figure) -> Path:
    """Where the rows of a figure are kept."""
    return folder / f"{figure.name}.csv.gz"


def missing(folder: Path, figure: Figure, seeds: int | None) -> list[Curve]:
    """The curves of a figure that have no rows yet."""
    known = {trace.identity for trace in rows.load(path(folder, figure))}
    return [curve for curve in figure.curves(seeds) if rows.identity(curve) not in known]


def complete(folder: Path, figures: Sequence[Figure], seeds: int | None, jobs: int, watch: Watch) -> None:
    """Run what is missing. After each curve the file of its figure is replaced as a whole, in the order of the spec."""
    owner = {figure.name: figure for figure in figures}
    todo = [curve for figure in figures for curve in missing(folder, figure, seeds)]
    for curve, trace in _in_turn(todo, watch) if jobs == 1 else _at_once(todo, jobs):
        _keep(folder, owner[curve.figure], seeds, trace)
        watch(curve, 1.0)


def _keep(folder: Path, figure: Figure, seeds: int | None, trace: rows.Trace) -> None:
    kept = [old for old in rows.load(path(folder, figure)) if old.identity != trace.identity]
    order = {rows.identity(curve): place for place, curve in enumerate(figure.curves(seeds))}
    together = sorted([*kept, trace], key=lambda one: order.get(one.identity, len(order)))
    rows.save(path(folder, figure), together)


def _in_turn(todo: Sequence[Curve], watch: Watch) -> Iterator[tuple[Curve, rows.Trace]]:
    for curve in todo:
        yield curve, run(curve, watch=lambda res, c=curve: watch(c, min(res.calls / c.likely_calls, 0.99)))  # type: ignore[misc]


def _at_once(todo: Sequence[Curve], jobs: int) -> Iterator[tuple[Curve, rows.Trace]]:
    """In processes of their own: JAX must not be forked. Each gets its share of the cores."""
    share = max(1, (os.cpu_count() or 1) // jobs)
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, spawn, initializer=native.set_num_threads, initargs=(share,))
    try:
        pending: dict[Future[rows.Trace], Curve] = {pool.submit(run, curve, jobs): curve for curve in todo}
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
        raise InputError(
            given=f"{jobs} processes at a time",
            needed="processes that live to the end of their curve",
            missing="one of them, which was ended from outside, perhaps for want of memory",
            advice="use fewer jobs; what is done is kept, and the same command goes on from there",
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
