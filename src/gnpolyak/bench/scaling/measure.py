"""The rows of the suite: what one read and one iteration take, on one process and on several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gnpolyak.base.memory import in_words
from gnpolyak.base.numbers import counted
from gnpolyak.bench import peers
from gnpolyak.bench.clock import Sample
from gnpolyak.bench.rows import OURS, Row, timing
from gnpolyak.bench.scaling import inside, model
from gnpolyak.bench.scaling.processes import FailedError, asked, asked_together, spread_cores
from gnpolyak.bench.specs import Alone, Size, Together

ALONE, TOGETHER, MEMORY = "one process", "weak scaling", "memory for rows"
CORES, GPU = "all cores", "GPU"
SHORT, LONG = 64, 2**20
"""The lengths of sums that take as long as their messages and as long as their bytes do."""


def alone(spec: Alone) -> list[Row]:
    """One process with all cores; and on the GPU, where there is one."""
    rows = []
    for size in spec.sizes:
        rows += _told(ALONE, f"{size.label}, {CORES}", size, lambda task: [asked(task, spec.seconds)], spec)
    for size in spec.gpu_sizes if peers.on_gpu() else ():
        rows += _told(ALONE, f"{size.label}, {GPU}", size, lambda task: [inside.measured(task)], spec)
    # What is measured comes in one piece, as tables are made of pieces.
    return sorted(rows, key=lambda row: row.measure == MEMORY)


def together(spec: Together) -> list[Row]:
    """Processes that each have as many rows, as many as there are cores for."""
    rows = []
    for size in spec.sizes:
        for count in spec.processes:
            case = f"{size.label} each, {counted(count, 'process', 'processes')}"
            if count <= len(spread_cores()):
                rows += _told(TOGETHER, case, size, _group(count, spec.seconds), spec)
            else:
                rows.append(Row(TOGETHER, case, OURS, "ms", note="skipped: more processes than cores"))
    return rows


def _group(count: int, seconds: float) -> Callable[[Mapping[str, Any]], list[dict[str, Any]]]:
    return lambda task: asked_together(task, count, seconds)


def _told(
    measure: str,
    case: str,
    size: Size,
    ask: Callable[[Mapping[str, Any]], list[dict[str, Any]]],
    spec: Alone | Together,
) -> list[Row]:
    """The rows of a case, or one that says why there are none."""
    lengths = [SHORT, model.numbers(size.d, size.r), LONG]
    task = {"size": [size.d, size.r, size.rows], "calls": spec.calls, "rounds": spec.rounds, "lengths": lengths}
    try:
        answers = ask(task)
    except FailedError as error:
        return [Row(measure, case, OURS, "ms", note=f"failed: {error}")]
    rows = [_timed(measure, case, size, name, answers) for name in answers[0]["seconds"]]
    if measure == ALONE:
        rows.append(Row(MEMORY, case, OURS, "GB", answers[0]["memory"] / 1e9))
    return rows


def _timed(measure: str, case: str, size: Size, name: str, answers: Sequence[Mapping[str, Any]]) -> Row:
    """A row; of several processes the slowest counts in each round, as the others wait for it."""
    samples = {key: Sample(np.max([each["seconds"][key] for each in answers], axis=0)) for key in answers[0]["seconds"]}
    if name.isdigit():
        return timing(measure, case, summing(int(name)), samples[name], None)
    rate = f"{in_words(model.row_bytes(size.d, size.rows))} of rows each, oracle: {answers[0]['oracle']}"
    return timing(measure, case, name, samples[name], (inside.READ, samples[inside.READ]), rate)


def summing(length: int) -> str:
    """What a sum of so many numbers is called."""
    return f"all-reduce of {counted(length, 'number')}"
