"""33 data on eight devices, where 7 of 40 places hold none. Run by test_uneven.py in a process of its own.

Prints a line of JSON for each case: the errors of the spread problem's answers beside those of the same on one device.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import gnpolyak as gnp

COUNT = 33
CASE = gnp.instances.tensor_sensing(d=4, r=1, m=COUNT, p_fail=0.2)
TRUTH, START = np.asarray(CASE.truth), np.asarray(CASE.x0)
STARTS = np.stack([START, 1.02 * START])


def noisy(seed: int = 1) -> gnp.Composite:
    b = np.asarray(CASE.problem.penalty.b) + 0.01 * np.random.default_rng(seed).standard_normal(COUNT)
    return gnp.composite(CASE.problem.map, gnp.L1(b), sensing=CASE.problem.sensing)


def told(one: list[gnp.Result], many: list[gnp.Result], truth: np.ndarray) -> dict[str, Any]:
    """How the results differ: their errors, and what is counted."""
    errors = [[float(np.linalg.norm(res.x - truth)) for res in each] for each in (one, many)]
    points = max(float(np.max(np.abs(a.x - b.x))) for a, b in zip(one, many, strict=True))
    return {
        "status": [[res.status.name for res in each] for each in (one, many)],
        "measurements": [[res.measurements for res in each] for each in (one, many)],
        "outliers": [[np.asarray(res.outliers).tolist() for res in each] for each in (one, many)],
        "efficient": [[res.efficient for res in each] for each in (one, many)],
        "errors": errors,
        "apart": max(points, *(abs(a - b) for a, b in zip(*errors, strict=True))),
    }


def beside(solve: Callable[..., list[gnp.Result]], problem: Any, truth: np.ndarray) -> dict[str, Any]:
    return told(solve(problem), solve(gnp.shard(problem)), truth)


def steps() -> dict[str, Any]:
    """`init` and `step` of the graduated method, compiled by the caller."""
    method, rule = gnp.Graduated(), gnp.Level(0.0)
    found = []
    with jax.enable_x64(True):
        for problem in (noisy(), gnp.shard(noisy())):
            state = jax.jit(lambda p: gnp.init(p, method, rule, START))(problem)
            advance = jax.jit(lambda p, state: gnp.step(p, method, rule, state)[0])
            trail = []
            for _ in range(25):
                state = advance(problem, state)
                trail.append([*np.ravel(state.point.x), float(state.memory.width.delta), float(state.memory.size)])
            found.append((np.array(trail), int(state.status), int(state.calls)))
    (one, *ends), (many, *others) = found
    finite = np.isfinite(one)
    return {
        "same": ends == others and bool(np.array_equal(finite, np.isfinite(many))),
        "apart": float(np.max(np.abs(one[finite] - many[finite]))),
        "error": float(np.linalg.norm(many[-1, : TRUTH.size] - TRUTH.ravel())),
    }


def batch() -> dict[str, Any]:
    return beside(lambda p: gnp.minimize_batch(p, STARTS), noisy(), TRUTH)


def polished_batch() -> dict[str, Any]:
    solve = lambda p: gnp.minimize_batch(p, STARTS, polish=True)  # noqa: E731
    return beside(solve, noisy(), TRUTH)


def problems() -> dict[str, Any]:
    """A batch of several spread problems."""
    many = [noisy(1), noisy(2)]
    solves = [gnp.minimize_batch(each, STARTS) for each in (many, [gnp.shard(p) for p in many])]
    return told(*solves, TRUTH)


def certified_batch() -> dict[str, Any]:
    """Exact data, whose certificates are found for all members at once."""
    return beside(lambda p: gnp.minimize_batch(p, STARTS), CASE.problem, TRUTH)


def starts() -> dict[str, Any]:
    return beside(lambda p: [gnp.minimize(p, START, starts=2)], noisy(), TRUTH)


CASES = [steps, batch, starts]
SLOW = [polished_batch, problems, certified_batch]

if __name__ == "__main__":
    assert len(jax.devices()) == 8
    for case in SLOW if "slow" in sys.argv else CASES:
        print(json.dumps({"case": case.__name__, **case()}), flush=True)
