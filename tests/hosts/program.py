"""What one of several processes does: ``program.py SCENARIO FILE ADDRESS COUNT INDEX``. Its lines are JSON."""

import json
import sys
import time
from hashlib import sha256

import jax
import numpy as np

import gnpolyak as gnp
from gnpolyak.solve import driver


def say(**words):
    print(json.dumps(words), flush=True)


def sensing():
    return gnp.instances.tensor_sensing(d=20, r=2, kappa=5.0, p_fail=0.1, seed=0)


def completion(observed=0.3):
    return gnp.instances.matrix_completion(d1=30, d2=20, r=2, observed=observed, p_fail=0.1, seed=0)


def own_part(problem):
    """The problem of this process's measurements alone, as if it had loaded no others."""
    rows = gnp.local_rows(problem.penalty.b.shape[0])
    sensing, penalty = problem.sensing.block(rows.start, rows.stop), problem.penalty.block(rows.start, rows.stop)
    return gnp.composite(problem.map, penalty, sensing=sensing)


def watched(problem, case, **settings):
    """The result, and each iterate."""
    points = []
    # One step at a time, for every iterate to be seen.
    driver.next_length = lambda *_: 1
    driver.FIRST_CHUNK = 1
    res = gnp.minimize(problem, case.x0, callback=lambda res: points.append(flat(res.state.point.x)), **settings)
    return res, np.array([*points, flat(res.state.point.x)])


def flat(x):
    return np.concatenate([np.asarray(leaf).ravel() for leaf in jax.tree.leaves(x)])


def compare(case, spread, **settings):
    """How far the values and iterates of all processes are from those of one, which need not wait for the others."""
    res, points = watched(spread, case, **settings)
    told = {"status": res.status.name, "calls": res.calls, "digest": sha256(points.tobytes()).hexdigest()}
    if jax.process_index() == 0:
        alone, alone_points = watched(case.problem, case, **settings)
        told["alike"] = (alone.status, points.shape) == (res.status, alone_points.shape)
        made = min(alone.calls, res.calls)
        values = np.abs(res.history.value[:made] - alone.history.value[:made])
        told["values"] = float(np.max(values) / alone.history.value[0])
        seen = min(len(points), len(alone_points))
        told["points"] = float(np.max(np.abs(points[:seen] - alone_points[:seen])) / np.max(np.abs(points[0])))
        told["outliers"] = bool(np.array_equal(res.outliers, alone.outliers))
    say(**told)


def solve(**settings):
    """A solve that goes on until somebody ends it, or to the end."""
    case = sensing()
    problem = gnp.shard_from_local(own_part(case.problem))
    say(at="shared")
    res = gnp.minimize(problem, case.x0, **settings)
    say(end=res.status.name, calls=res.calls, value=res.value, x=res.x.tolist(), success=res.success)
    return problem, case.x0


def slowly(res):
    say(at=res.calls)
    time.sleep(0.05)


ENDLESS = {"method": "polyak", "target": 0.0, "tol": 0.0, "max_calls": 10**6}


def agree(file):
    for case in (sensing(), completion()):
        compare(case, gnp.shard_from_local(own_part(case.problem)), method="gnp", target=case.target)
    differ(file)
    several()
    one_stops()
    solve(**ENDLESS | {"max_seconds": 0.2})
    solve(callback=slowly, **ENDLESS)


def everything(file):
    for case in (sensing(), completion()):
        compare(case, gnp.shard(case.problem), method="gnp", target=case.target)
    for case in (sensing(), completion(observed=0.9)):
        compare(case, gnp.shard(case.problem))


def endless(file):
    solve(callback=slowly, **ENDLESS)


def one_raises(file):
    def callback(res):
        if jax.process_index() == 1 and res.calls > 10:
            raise ZeroDivisionError("my own mistake")

    problem, x0 = solve(callback=callback, **ENDLESS)
    jax.distributed.shutdown()  # which many scripts end with, and which would wait for the one that is gone
    try:
        gnp.minimize(problem, x0)
    except ConnectionError as error:
        say(error=str(error))


def one_stops():
    def callback(res):
        if jax.process_index() == 1 and res.calls > 10:
            raise StopIteration

    solve(callback=callback, **ENDLESS)


def differ(file):
    name = f"{file}.nowhere/none" if jax.process_index() == 0 else file
    for settings in (
        {"tol": 1e-3 * (1 + jax.process_index())},
        {"max_calls": 100 + jax.process_index()},
        {"checkpoint": name},
    ):
        try:
            solve(**ENDLESS | settings)
        except gnp.InputError as error:
            say(error=str(error))


def several():
    """Several starts, and a batch, of a problem that both have the parts of."""
    case = sensing()
    problem = gnp.shard_from_local(own_part(case.problem))
    for call in (
        lambda: gnp.minimize(problem, case.x0, starts=3),
        lambda: gnp.minimize_batch(problem, np.stack([case.x0, case.x0])),
    ):
        try:
            call()
        except gnp.InputError as error:
            say(error=str(error))


def unfit(file):
    """The second process has read something that is no problem."""
    try:
        gnp.shard_from_local(own_part(sensing().problem) if jax.process_index() != 1 else None)
    except ConnectionError as error:
        say(error=str(error))


def asleep(file):
    def callback(res):
        say(at=res.calls)
        time.sleep(100.0 if jax.process_index() == 1 and res.calls > 10 else 0.0)

    solve(callback=callback, **ENDLESS)


def kept(file):
    """With a file that only process 0 has."""
    name = file if jax.process_index() == 0 else f"{file}.nowhere/none"
    solve(callback=slowly, checkpoint=name, checkpoint_seconds=0.0)


def main(scenario, file, address, count, index):
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(address, int(count), int(index))
    globals()[scenario](file)


if __name__ == "__main__":
    main(*sys.argv[1:])
