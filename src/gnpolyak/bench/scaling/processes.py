"""Processes that measure together, on the CPU, and end at a given time whatever happens to them."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

_MODULE = "gnpolyak.bench.scaling.inside"
_SYSTEM = Path("/sys/devices/system/cpu")
# A process has as many threads as this says; without them, as many as there are cores.
_ONE_THREAD = dict.fromkeys(("GNPOLYAK_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class FailedError(Exception):
    """Processes that did not answer, in the words of the first that failed."""


def asked(task: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """What one process with all cores answers."""
    return _answers([dict(task)], {}, seconds)[0]


def asked_together(task: Mapping[str, Any], count: int, seconds: float) -> list[dict[str, Any]]:
    """What so many processes answer that meet in sums, each with one thread on a core of its own."""
    address, cores = f"127.0.0.1:{_free_port()}", spread_cores()
    tasks = [{**task, "group": [address, count, k], "core": cores[k % len(cores)]} for k in range(count)]
    return _answers(tasks, _ONE_THREAD, seconds)


def spread_cores() -> list[int]:
    """The cores that this process may use, first one of each pair that shares its units."""
    allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    return sorted(allowed, key=lambda core: (_siblings(core).index(core), core))


def _siblings(core: int) -> list[int]:
    """The cores as the system counts them that are one core in silicon."""
    try:
        told = (_SYSTEM / f"cpu{core}" / "topology" / "thread_siblings_list").read_text()
    except OSError:
        return [core]
    found = [int(word) for word in re.findall(r"\d+", told)]
    both = list(range(found[0], found[-1] + 1)) if "-" in told else found
    return both if core in both else [core]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(tasks: Sequence[Mapping[str, Any]], threads: Mapping[str, str], seconds: float) -> list[dict[str, Any]]:
    """The answers of a process for each task; all are ended if one fails or the time is over."""
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile("w+")) for _ in range(2 * len(tasks))]
        pairs = list(zip(files[::2], files[1::2], strict=True))
        group: list[subprocess.Popen[bytes]] = []
        try:
            for task, pair in zip(tasks, pairs, strict=True):
                group.append(_started(task, threads, *pair))
            _await(group, [errors for _, errors in pairs], time.monotonic() + seconds)
        finally:
            for process in group:
                process.kill()
                process.wait()
        return [json.loads(text.splitlines()[-1]) for text in _texts(answers for answers, _ in pairs)]


def _started(
    task: Mapping[str, Any], threads: Mapping[str, str], answers: IO[str], errors: IO[str]
) -> subprocess.Popen[bytes]:
    # Flags for XLA are for the program that was started with them: here they would change devices or the code.
    inherited = {name: value for name, value in os.environ.items() if name not in ("XLA_FLAGS", *_ONE_THREAD)}
    environment = {**inherited, **threads, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", _MODULE, json.dumps(task)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=answers, stderr=errors, env=environment)


def _await(group: Sequence[subprocess.Popen[bytes]], errors: Sequence[IO[str]], deadline: float) -> None:
    """Return when all have answered."""
    while any(process.poll() is None for process in group):
        if time.monotonic() > deadline:
            raise FailedError("not done in the time they had")
        if any(process.poll() for process in group):
            break
        time.sleep(0.05)
    failed = [text for process, text in zip(group, _texts(errors), strict=True) if process.poll()]
    if failed:
        raise FailedError(next(iter(failed[0].strip().splitlines()[-1:]), "ended without a word"))


def _texts(files: Iterator[IO[str]] | Sequence[IO[str]]) -> list[str]:
    found = []
    for file in files:
        file.seek(0)
        found.append(file.read())
    return found
