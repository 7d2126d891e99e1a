"""What a user waits for in a fresh process: the import, whole problem classes from their data, and models.

``python -P fresh.py [ROUNDS]`` prints medians for the source tree that PYTHONPATH names. To hold two trees against each
other, this file stands on the public face alone; ``-P`` keeps its neighbours from being taken for other modules.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import gnpolyak as gnp

Arrays = Mapping[str, Any]
Measures = dict[str, dict[str, list[float]]]
"""One number a process, by case and by what was measured."""

REPEATS = 5
SIZES = (5, 50, 500)
# Seconds after which what is slow is not repeated.
_ENOUGH = 10.0
_IMPORT = """
import os, sys, time
began = time.perf_counter()
import {name}
sys.stdout.write(str(time.perf_counter() - began))
sys.stdout.flush()
os._exit(0)
"""


@dataclass(frozen=True)
class Class:
    """A problem class: the instance its arrays are read from, and how a user builds the problem of them."""

    label: str
    settings: Mapping[str, Any]
    small: Mapping[str, Any]
    """Settings for a test."""
    build: Callable[[Arrays], gnp.Composite]
    arrays: Callable[[Any], Arrays] = lambda problem: {}
    """The problem's arrays beside b."""
    rank: Callable[[Mapping[str, Any]], Any] = lambda settings: settings.get("r", ())


CLASSES: dict[str, Class] = {
    "robust_pca": Class(
        "robust PCA 200×150 r=5",
        {"d1": 200, "d2": 150, "r": 5, "p_fail": 0.1},
        {"d1": 30, "d2": 20, "r": 2, "p_fail": 0.1},
        lambda a: gnp.composite(gnp.LowRank(), gnp.L1(a["b"])),
    ),
    "matrix_completion": Class(
        "completion 400×300 r=5, 30% seen",
        {"d1": 400, "d2": 300, "r": 5, "observed": 0.3, "p_fail": 0.1},
        {"d1": 40, "d2": 30, "r": 2, "observed": 0.6, "p_fail": 0.1},
        lambda a: gnp.composite(
            gnp.LowRank(), gnp.L1(a["b"]), sensing=gnp.Entries(a["i"], a["j"], shape=tuple(map(int, a["shape"])))
        ),
        lambda problem: dict(zip("ij", problem.sensing.indices, strict=True), shape=problem.sensing.shape),
    ),
    "bilinear_sensing": Class(
        "bilinear sensing 60×80 r=5",
        {"d1": 60, "d2": 80, "r": 5, "p_fail": 0.1},
        {"d1": 12, "d2": 10, "r": 2, "p_fail": 0.1},
        lambda a: gnp.composite(gnp.LowRank(), gnp.L1(a["b"]), sensing=gnp.BilinearSensing(a["p"], a["q"])),
        lambda problem: {"p": problem.sensing.p, "q": problem.sensing.q},
    ),
    "tensor_decomposition": Class(
        "CP 30×30×30 r=5",
        {"shape": (30, 30, 30), "r": 5, "p_fail": 0.1},
        {"shape": (10, 10, 10), "r": 2, "p_fail": 0.1},
        lambda a: gnp.composite(gnp.CP(), gnp.L1(a["b"])),
    ),
    "tucker": Class(
        "Tucker 30×30×30 ranks 3",
        {"shape": (30, 30, 30), "ranks": (3, 3, 3), "p_fail": 0.1},
        {"shape": (10, 10, 10), "ranks": (2, 2, 2), "p_fail": 0.1},
        lambda a: gnp.composite(gnp.Tucker(), gnp.L1(a["b"])),
        rank=lambda settings: settings["ranks"],
    ),
    "phase_retrieval": Class(
        "phase retrieval d=200",
        {"d": 200, "p_fail": 0.1},
        {"d": 20, "p_fail": 0.1},
        lambda a: gnp.composite(gnp.SymmetricCP(2), gnp.L1(a["b"]), sensing=gnp.PowerSensing(a["p"])),
        lambda problem: {"p": problem.sensing.p},
        lambda settings: 1,
    ),
    "synchronisation": Class(
        "synchronisation of 50 rotations, 30% wrong",
        {"n": 50, "p_fail": 0.3, "observed": 0.3},
        {"n": 12, "p_fail": 0.1, "observed": 0.8},
        lambda a: gnp.composite(gnp.RelativeRotations(a["i"], a["j"], int(a["n"])), gnp.L1(a["b"])),
        lambda problem: {"i": problem.map.i, "j": problem.map.j, "n": problem.map.n},
    ),
    "quantum_tomography": Class(
        "tomography of 4 qubits r=2",
        {"qubits": 4, "r": 2, "p_fail": 0.1},
        {"qubits": 3, "r": 1, "p_fail": 0.1},
        lambda a: gnp.composite(
            gnp.Hermitian(),
            gnp.L1(a["b"]),
            sensing=gnp.PauliSensing(int(a["qubits"]), np.stack([a["x"], a["z"]], axis=1)),
        ),
        lambda problem: {"qubits": problem.sensing.qubits, "x": problem.sensing.x, "z": problem.sensing.z},
    ),
    "sparse_recovery": Class(
        "sparse recovery d=200 m=1000",
        {"d": 200, "m": 1000, "p_fail": 0.1},
        {"d": 20, "m": 100, "p_fail": 0.1},
        lambda a: gnp.composite(gnp.Hadamard(), gnp.L1(a["b"]), sensing=gnp.LinearSensing(a["rows"])),
        lambda problem: {"rows": problem.sensing.operator.rows},
    ),
    "tensor_sensing": Class(
        "the paper's sensing d=100 r=5 n=2 m=8dr",
        {"d": 100, "r": 5, "n": 2, "p_fail": 0.1},
        {"d": 10, "r": 2, "n": 2, "p_fail": 0.1},
        lambda a: gnp.composite(gnp.SymmetricCP(2), gnp.L1(a["b"]), sensing=gnp.PowerSensing(a["p"], a["q"])),
        lambda problem: {"p": problem.sensing.p, "q": problem.sensing.q},
    ),
}


def _compiled() -> list[str]:
    """The programs that XLA compiles from now on."""
    names: list[str] = []

    def listen(event: str, duration_secs: float, **kwargs: Any) -> None:
        if event.endswith("backend_compile_duration"):
            names.append(str(kwargs.get("fun_name")))

    jax.monitoring.register_event_duration_secs_listener(listen)
    return names


def measured(rounds: int, *, small: bool = False, repeats: int = REPEATS, say: Callable[[str], Any] = str) -> Measures:
    """Each case in a process of its own, in turn, as many times; `say` hears what is next."""
    found: Measures = {}
    with data_files(small) as files:
        children = [["classes", str(repeats), name, str(path)] for name, path in files.items()]
        children += [["model", str(repeats), str(size)] for size in SIZES[: 1 if small else None]]
        children += [["curves", str(repeats)]]
        for _ in range(rounds):
            _add(found, "import", {name: imported(name) for name in ("jax", "gnpolyak")})
            for words in children:
                say(" ".join(words))
                for case, numbers in told(*words).items():
                    _add(found, case, numbers)
    return found


def _add(found: Measures, case: str, numbers: Mapping[str, float]) -> None:
    for name, number in numbers.items():
        found.setdefault(case, {}).setdefault(name, []).append(number)


def imported(name: str) -> float:
    """Seconds that a fresh process takes to import a package, its own start and end apart."""
    command = [sys.executable, "-c", _IMPORT.format(name=name)]
    return float(subprocess.run(command, check=True, capture_output=True, env=alone()).stdout)


def told(*words: str) -> dict[str, dict[str, float]]:
    """What this file finds in a process of its own."""
    command = [sys.executable, "-P", __file__, *words]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=alone()).stdout)


def alone() -> dict[str, str]:
    """The environment without programs kept on disk, and with bytecode, which an installed package has."""
    left_out = ("JAX_COMPILATION_CACHE_DIR", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if name not in left_out}


@contextmanager
def data_files(small: bool) -> Iterator[dict[str, Path]]:
    """The arrays of an instance of each class in files: to make them compiles programs, which must not serve later."""
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for name, each in CLASSES.items():
            settings = dict(each.small if small else each.settings)
            problem: Any = getattr(gnp.instances, name)(**settings).problem
            files[name] = Path(folder) / f"{name}.npz"
            np.savez(files[name], b=problem.penalty.b, rank=each.rank(settings), **each.arrays(problem))
        yield files


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def _first_and_warm(solve: Callable[[], gnp.Result], repeats: int) -> dict[str, float]:
    names = _compiled()
    first, result = _timed(solve)
    found = {"first": first, "programs": len(names), "success": float(result.success)}
    return found | ({"warm": _median(solve, repeats)} if repeats else {})


def _median(work: Callable[[], Any], repeats: int) -> float:
    taken = [_timed(work)[0]]
    while len(taken) < repeats and sum(taken) < _ENOUGH:
        taken.append(_timed(work)[0])
    return statistics.median(taken)


def _class(name: str, path: str, repeats: int) -> dict[str, float]:
    with np.load(path) as file:
        arrays = dict(file)
    # Empty for a class that has no rank.
    rank = arrays["rank"].astype(int).tolist()
    given: dict[str, Any] = {} if rank == [] else {"rank": rank if isinstance(rank, int) else tuple(rank)}
    return _first_and_warm(lambda: gnp.minimize(CLASSES[name].build(arrays), **given), repeats)


def _model(size: int, repeats: int) -> dict[str, float]:
    """A log-linear model of that many variables, ten points for each, a tenth of them wrong, from zero."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal((10 * size, size)) / np.sqrt(size)
    y = np.exp(a @ rng.standard_normal(size))
    y[rng.random(len(y)) < 0.1] += 3.0

    def written() -> Callable[[Any], Any]:
        return lambda p: jnp.exp(a @ p)

    def solve(model: Callable[[Any], Any]) -> gnp.Result:
        return gnp.minimize(gnp.composite(model, gnp.L1(y)), np.zeros(size))

    same = written()
    found = _first_and_warm(lambda: solve(same), repeats)
    return found | {"fresh lambda": _median(lambda: solve(written()), repeats)}


def _curves(repeats: int) -> dict[str, dict[str, float]]:
    """`curve_fit` of four parameters and a hundred points in a process that has answered before."""
    t = np.linspace(0, 4, 100)
    y = 2.5 * np.exp(-1.3 * t) + 0.5 + 0.1 * t + 0.01 * np.random.default_rng(0).standard_normal(100)
    y[::10] += 3

    def taken(xp: Any) -> dict[str, float]:
        def model(t: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
            return a * xp.exp(-b * t) + c + d * t

        def fit() -> Any:
            return gnp.curve_fit(model, t, y, (1.0, 1.0, 0.0, 0.0))

        fit()
        return {"warm": _median(fit, 10 * repeats)}

    case = "curve_fit of 4 parameters, 100 points, model in"
    return {f"{case} jax.numpy": taken(jnp), f"{case} NumPy": taken(np)}


def _here(what: str, *words: str) -> dict[str, dict[str, float]]:
    """What one process finds: as many repeats, then what they are repeats of."""
    repeats, *rest = words
    if what == "curves":
        return _curves(int(repeats))
    if what == "model":
        return {f"model of {rest[0]} variables": _model(int(rest[0]), int(repeats))}
    pairs = zip(rest[::2], rest[1::2], strict=True)
    return {CLASSES[name].label: _class(name, path, int(repeats)) for name, path in pairs}


def main(words: list[str]) -> None:
    """Measure in this process what the words name, or everything in processes of their own; print JSON."""
    if words and not words[0].isdigit():
        sys.stdout.write(json.dumps(_here(*words)))
        return
    found = measured(int(words[0]) if words else 5, say=lambda next_one: sys.stderr.write(f"{next_one}\n"))
    medians = {case: {name: statistics.median(n) for name, n in each.items()} for case, each in found.items()}
    sys.stdout.write(json.dumps(medians, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
