"""Problems on four devices beside the same on one. Run by test_shards.py in a process of its own: devices are for life.

Prints a line of JSON for each case.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
import scipy.sparse
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import gnpolyak as gnp
from gnpolyak.problem.sharding import joined
from gnpolyak.solve.runners import compiled
from gnpolyak.steps.named import as_method

RNG = np.random.default_rng(0)
SENSING = gnp.instances.tensor_sensing(d=20, r=2, m=799, p_fail=0.2, kappa=3.0)
ENTRIES = gnp.instances.matrix_completion(d1=60, d2=50, r=2, p_fail=0.1, kappa=3.0)
IMAGE = gnp.instances.robust_pca(d1=41, d2=30, r=2, p_fail=0.1, kappa=3.0)
MESH = Mesh(np.array(jax.devices()), ("mine",))


def apart(one: gnp.Result, many: gnp.Result) -> float:
    """The largest difference of values and points, against the first value and the largest entry."""
    calls = min(one.calls, many.calls)
    first, second = (res.history.value[:calls] for res in (one, many))
    points = zip(*map(jax.tree.leaves, (one.x, many.x)), strict=True)
    values = float(np.max(np.abs(first - second)) / first[0])
    return max([values, *(float(np.max(np.abs(a - b)) / np.max(np.abs(a))) for a, b in points)])


def told(one: gnp.Result, many: gnp.Result) -> dict[str, Any]:
    return {
        "status": [one.status.name, many.status.name],
        "apart": apart(one, many),
        "calls": [one.calls, many.calls],
        "outliers": bool(np.array_equal(one.outliers, many.outliers)),
        "label": many.problem,
    }


def beside(problem: gnp.Composite, **settings: Any) -> dict[str, Any]:
    return told(gnp.minimize(problem, **settings), gnp.minimize(gnp.shard(problem), **settings))


def known() -> dict[str, Any]:
    return beside(SENSING.problem, x0=SENSING.x0, method="gnp", target=SENSING.target)


def from_the_data() -> dict[str, Any]:
    return beside(SENSING.problem, rank=2)


def completion() -> dict[str, Any]:
    return beside(ENTRIES.problem)


def image() -> dict[str, Any]:
    return beside(IMAGE.problem, x0=IMAGE.x0, polish=True)


def bilinear() -> dict[str, Any]:
    case = gnp.instances.bilinear_sensing(d1=15, d2=10, r=1)
    return beside(case.problem, x0=case.x0)


def uneven_rows() -> dict[str, Any]:
    stretch = np.diag(np.geomspace(1.0, 30.0, 20))
    rows = [np.asarray(each) @ stretch for each in (SENSING.problem.sensing.p, SENSING.problem.sensing.q)]
    problem = gnp.composite(SENSING.problem.map, SENSING.problem.penalty, sensing=gnp.PowerSensing(*rows))
    return beside(problem, x0=np.linalg.inv(stretch) @ SENSING.x0)


def noise() -> dict[str, Any]:
    b = np.asarray(SENSING.problem.penalty.b)
    noisy = gnp.L1(b + 0.01 * RNG.standard_normal(b.shape))
    problem = gnp.composite(SENSING.problem.map, noisy, sensing=SENSING.problem.sensing)
    one, many = (gnp.minimize(each, SENSING.x0) for each in (problem, gnp.shard(problem)))
    errors = [res.uncertainty.standard_errors() for res in (one, many)]
    return told(one, many) | {"errors": float(np.max(np.abs(errors[0] / errors[1] - 1)))}


def sparse_and_weighed() -> dict[str, Any]:
    rows = scipy.sparse.random(401, 20 * 15, 0.1, random_state=0)
    u, v = RNG.standard_normal((20, 1)), RNG.standard_normal((15, 1))
    b = rows @ (u @ v.T).ravel()
    b[::11] += 5.0
    problem = gnp.composite(gnp.LowRank(), gnp.L1(b, weights=1 + RNG.random(401)), sensing=gnp.LinearSensing(rows))
    return beside(problem, x0=(u + 0.05, v + 0.05))


def as_they_lie() -> dict[str, Any]:
    """Arrays that were spread by hand; their number is a multiple of the devices'."""
    case = gnp.instances.tensor_sensing(d=20, r=2, m=800, p_fail=0.2, kappa=3.0)
    problem = case.problem
    with jax.enable_x64():
        place = NamedSharding(MESH, P("mine"))
        p, q, b = (
            jax.device_put(np.asarray(each), place)
            for each in (problem.sensing.p, problem.sensing.q, problem.penalty.b)
        )
    mine = gnp.composite(problem.map, gnp.L1(b), sensing=gnp.PowerSensing(p, q))
    solves = [gnp.minimize(each, case.x0, method="gnp", target=case.target) for each in (problem, mine)]
    return told(*solves)


def own_model() -> dict[str, Any]:
    rows, truth = RNG.standard_normal((2000, 12)), RNG.standard_normal(12)
    b = np.tanh(rows @ truth)
    b[::7] += 3.0
    with jax.enable_x64():
        spread = jax.device_put(rows, NamedSharding(MESH, P("mine")))
    model = lambda x, a: jax.numpy.tanh(a @ x)  # noqa: E731
    one, many = (gnp.minimize(gnp.composite(model, gnp.L1(b), args=(a,)), truth + 0.1) for a in (rows, spread))
    return told(one, many)


def large() -> dict[str, Any]:
    """More data than medians are taken of: both take the same sample."""
    case = gnp.instances.matrix_completion(d1=900, d2=800, r=1, p_fail=0.1)
    return beside(case.problem, x0=case.x0, max_calls=60)


def checkpoint() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a.ckpt"
        whole = gnp.minimize(gnp.shard(SENSING.problem), SENSING.x0)
        gnp.minimize(gnp.shard(SENSING.problem), SENSING.x0, max_calls=40, checkpoint=file)
        again = gnp.minimize(gnp.shard(SENSING.problem), SENSING.x0, checkpoint=file)
    return told(whole, again) | {"bits": bool(np.array_equal(whole.x, again.x)) and whole.value == again.value}


def diagnostics() -> dict[str, Any]:
    x, found = SENSING.truth, {}
    for name in ("certify", "spectrum", "jacobian_rank", "assess"):
        one, many = (str(getattr(gnp.diagnostics, name)(p, x)) for p in (SENSING.problem, gnp.shard(SENSING.problem)))
        found[name] = re.sub(r"\d\.\d+e?-?\d*", "", one) == re.sub(r"\d\.\d+e?-?\d*", "", many)
    return found


def collectives() -> dict[str, Any]:
    """How often devices meet in the program of a stage, and for what."""
    found = {}
    for name, case in (("sensing", SENSING), ("completion", ENTRIES)):
        for method in ("gnp", "auto"):
            with jax.enable_x64():
                problem = gnp.shard(case.problem)
                x = joined(problem, jax.tree.map(jax.numpy.asarray, case.x0))
                own, rule = as_method(method, None), gnp.Known(0.0)
                stage = own.stages(problem, rule, False)[0]
                state = compiled._start(problem, *stage, x, (0, 100))
                text = compiled._chunk.lower(problem, *stage, state, 5).compile().as_text()
            found[f"{name} {method}"] = re.findall(r"= [^=]*? (all-[a-z]+|collective-[a-z]+|reduce-scatter)\(", text)
    return found


CASES = [known, from_the_data, completion, image, noise, as_they_lie, own_model, checkpoint, collectives]
SLOW = [bilinear, uneven_rows, sparse_and_weighed, diagnostics, large]

if __name__ == "__main__":
    for case in SLOW if "slow" in sys.argv else CASES:
        began = time.process_time()
        found = {"case": case.__name__, **case()}
        print(json.dumps(found | {"seconds": time.process_time() - began}), flush=True)
