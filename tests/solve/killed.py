"""Solves in processes of their own that are killed at random moments, and the bits that they end with.

Run as a program it is a parent that has imported the library and forks a child for each solve, before JAX has begun to
compute: ``killed.py CASE FILE DELAY...`` prints a line for each child, and the digest of the end of one that nobody
kills, as for the delay 0. A delay counts from the second chunk on, or for ``start0.5`` from where `minimize` is called.
"""

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time

import jax
import numpy as np

import gnpolyak as gnp
from gnpolyak.solve import driver


def curve():
    """A model in plain NumPy, solved on the host; slow, so that there is something to kill."""
    t = np.linspace(0, 4, 60)
    b = 2.5 * np.exp(-1.3 * t) + 0.5 + 0.01 * np.random.default_rng(3).standard_normal(60)
    b[::8] += 3.0

    def model(p):
        time.sleep(0.0005)
        return p[0] * np.exp(-p[1] * t) + p[2]

    return gnp.composite(gnp.NumpyMap(model), gnp.L1(b)), {"x0": np.array([1.0, 1.0, 0.0])}


def sensing():
    case = gnp.instances.tensor_sensing(d=20, r=2, kappa=10.0, p_fail=0.2)
    return case.problem, {"x0": case.x0}


def completion():
    return gnp.instances.matrix_completion(d1=40, d2=30, r=2, observed=0.6, kappa=3.0).problem, {}


CASES = {"curve": curve, "sensing": sensing, "completion": completion}


def bits(res):
    """All that a solve found, but for the clock."""
    told = res.history
    parts = [*jax.tree.leaves(res.x), told.value, told.best, told.step, told.inner_iterations, res.outliers]
    numbers = [np.array([res.value, res.bound, res.calls, res.status, res.noise or 0.0]), *parts]
    digest = hashlib.sha256()
    for each in numbers:
        digest.update(np.asarray(each).tobytes() if each is not None else b"none")
    return digest.hexdigest()


def solve(case, path=None):
    problem, options = CASES[case]()
    kept = {} if path is None else {"checkpoint": path, "checkpoint_seconds": 0}
    return gnp.minimize(problem, **options, **kept)


def killed(case, path, delays):
    """What the solves in processes of their own print, one after the other."""
    command = [sys.executable, __file__, case, str(path), *delays, "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ, timeout=600)
    return done.stdout.split("\n")[:-1]


def _child(case, path, delay):
    if delay != "0":
        killer = threading.Timer(float(delay.removeprefix("start")), os.kill, (os.getpid(), signal.SIGKILL))
        # More chunks, and time between them: moments to be killed at.
        driver.next_length = lambda *_: 1
        driver.Run._observe = _slowly(driver.Run._observe, killer, 0 if delay.startswith("start") else 2)
    print(bits(solve(case, path)), flush=True)
    os._exit(0)


def _slowly(observe, killer, begin):
    seen = iter(range(10**9))
    if not begin:
        killer.start()

    def slow(self, *args):
        time.sleep(0.01)
        if begin and next(seen) == begin:
            killer.start()
        return observe(self, *args)

    return slow


def _ran(case, path, delay):
    """Whether a solve in a child was killed; what it left is told."""
    child = os.fork()
    if child == 0:
        _child(case, path, delay)
    ended = os.WIFSIGNALED(os.waitpid(child, 0)[1])
    size = os.path.getsize(path) if os.path.exists(path) else 0
    print(f"killed {ended} with {size} bytes on file", flush=True)
    return ended


if __name__ == "__main__":
    for delay in sys.argv[3:]:
        while not _ran(*sys.argv[1:3], delay) and delay != "0":
            # It was quicker than its killer: from the beginning, so that there are as many kills as delays.
            os.unlink(sys.argv[2])
