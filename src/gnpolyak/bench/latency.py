"""How soon a small model is answered, in processes of their own: ``python -m gnpolyak.bench.latency answers|memory N``.

A model of four parameters, 200 points, a tenth of them wrong. Nothing is kept on disk between processes.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gnpolyak.bench import fresh
from gnpolyak.bench.clock import Sample
from gnpolyak.bench.rows import OURS, Row, timing
from gnpolyak.bench.specs import Fresh, Lambdas, Latency

MEASURE = "answer of a four-parameter model"
MEMORY = "memory after many models"
IMPORT = "import in a fresh process"
FIRST = "first answer in a fresh process, and later ones"
_NAMES = {"first": "the first", "warm": "the same again", "fresh lambda": "a fresh lambda of the same code"}
_FIRST = """
import numpy as np, gnpolyak as gnp
{extra}
t = np.linspace(0, 4, 200)
y = 2.5 * np.exp(-1.3 * t) + 0.5 + 0.1 * t + 0.01 * np.random.default_rng(0).standard_normal(200)
y[::10] += 3
popt, pcov = gnp.curve_fit(lambda t, a, b, c, d: a * {xp}.exp(-b * t) + c + d * t, t, y, (1.0, 1.0, 0.0, 0.0))
assert abs(popt[1] - 1.3) < 0.1
"""
_BASE = "import jax, and no more"
_PROCESSES = {
    _BASE: "import jax",
    "fresh process, model in jax.numpy": _FIRST.format(extra="import jax.numpy as jnp", xp="jnp"),
    "fresh process, model in NumPy": _FIRST.format(extra="", xp="np"),
}


def answers(spec: Latency) -> list[Row]:
    """Fresh processes in turn, then what a process that has answered once takes for the next."""
    seconds: dict[str, list[float]] = {name: [] for name in _PROCESSES}
    later: dict[str, list[float]] = {}
    for _ in range(spec.rounds):
        for name, code in _PROCESSES.items():
            seconds[name].append(_elapsed(code))
        for name, taken in _told("answers").items():
            later.setdefault(name, []).extend(taken)
    base = (_BASE, Sample(np.array(seconds.pop(_BASE))))
    rows = [timing(MEASURE, "fresh process", _BASE, base[1], None)]
    rows += [timing(MEASURE, name, OURS, Sample(np.array(found)), base) for name, found in seconds.items()]
    return rows + [timing(MEASURE, name, OURS, Sample(np.array(found)), None) for name, found in later.items()]


def first(spec: Fresh) -> list[Row]:
    """The import, then each class and model: the first answer of a process over what it takes for the same again."""
    found = fresh.measured(spec.rounds, small=spec.small, repeats=spec.repeats)
    taken = {name: Sample(np.array(seconds)) for name, seconds in found.pop("import").items()}
    beyond = Sample(taken["gnpolyak"].over(taken["jax"]).seconds - 1)
    rows = [timing(IMPORT, "import", "jax", taken["jax"], None)]
    note = f"{beyond.median:.0%} of it beyond jax"
    rows.append(timing(IMPORT, "import", OURS, taken["gnpolyak"], ("jax", taken["jax"]), note))
    return rows + [row for case, numbers in found.items() for row in _answers_of(case, numbers)]


def _answers_of(case: str, numbers: dict[str, list[float]]) -> list[Row]:
    samples = {_NAMES[name]: Sample(np.array(found)) for name, found in numbers.items() if name in _NAMES}
    warm = (_NAMES["warm"], samples[_NAMES["warm"]])
    notes = {}
    if "programs" in numbers:
        solved = f"{sum(map(bool, numbers['success']))} of {len(numbers['success'])} solved"
        notes[_NAMES["first"]] = f"{statistics.median(numbers['programs']):.0f} programs compiled, {solved}"
    return [timing(FIRST, case, name, sample, warm, notes.get(name, "")) for name, sample in samples.items()]


def memory(spec: Lambdas) -> list[Row]:
    """What the process holds after many models, beyond what it held after a tenth of them."""
    told = _told("memory", str(spec.count))
    return [Row(MEMORY, f"{spec.count:,} {name}", OURS, "MB", grown) for name, grown in told.items()]


def _elapsed(code: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env=fresh.alone())
    return time.perf_counter() - began


def _told(*words: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "gnpolyak.bench.latency", *words]
    told: dict[str, Any] = json.loads(
        subprocess.run(command, check=True, capture_output=True, env=fresh.alone()).stdout
    )
    return told


def _solve(length: int, rate: float, seed: int) -> None:
    import jax.numpy as jnp

    import gnpolyak as gnp

    t = np.linspace(0, 4, length)
    y = 2.5 * np.exp(-1.3 * t) + 0.5 + 0.1 * t + 0.01 * np.random.default_rng(seed).standard_normal(length)
    y[::10] += 3
    # A lambda of its own each time; another rate is another program.
    problem = gnp.composite(lambda p: p[0] * jnp.exp(-rate * p[1] * t) + p[2] + p[3] * t, gnp.L1(y))
    if not gnp.minimize(problem, np.array([1.0, 1.0, 0.0, 0.0])).success:
        raise RuntimeError("the model was not fitted")


def _taken(work: Callable[[int], None], repeats: int) -> list[float]:
    found = []
    for k in range(repeats):
        began = time.perf_counter()
        work(k)
        found.append(time.perf_counter() - began)
    return found


def _later() -> dict[str, list[float]]:
    _solve(200, 1.0, 0)
    return {
        "a fresh lambda, other data": _taken(lambda k: _solve(200, 1.0, k + 1), 20),
        "another length": [statistics.median(_taken(lambda k: _solve(150 + k, 1.0, k), 5))],
    }


def _held() -> float:
    """Megabytes that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _grown(count: int) -> dict[str, float]:
    kinds: dict[str, Callable[[int], None]] = {
        "fresh lambdas of one code": lambda k: _solve(200, 1.0, k),
        "different models": lambda k: _solve(200, 1.0 + k / count, k),
        "different models and lengths": lambda k: _solve(100 + k, 1.0 + k / count, k),
    }
    grown = {}
    for name, work in kinds.items():
        before = 0.0
        for k in range(count):
            work(k)
            before = _held() if k == count // 10 else before
        grown[name] = _held() - before
    return grown


def main() -> None:
    """Measure in this process, and print JSON."""
    what, *rest = sys.argv[1:]
    sys.stdout.write(json.dumps(_later() if what == "answers" else _grown(int(rest[0]))))


if __name__ == "__main__":
    main()
