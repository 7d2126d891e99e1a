"""What batches promise of time, memory and devices."""

import os
import resource
import subprocess
import sys
import time

import numpy as np
import pytest

import gnpolyak as gnp

COUNT = 1000


def thousand():
    instances = [gnp.instances.tensor_sensing(d=20, r=2, p_fail=0.1, seed=seed) for seed in range(COUNT)]
    return [each.problem for each in instances], np.stack([each.x0 for each in instances])


@pytest.mark.slow
def test_a_thousand_small_problems(capsys):
    """Times say what this machine and its other users were like: the ratio is shown, and only a floor is held."""
    problems, x0s = thousand()
    gnp.minimize_batch(problems, x0s)
    alone = [gnp.minimize(problem, x0) for problem, x0 in zip(problems[:100], x0s, strict=False)]
    ratios = []
    for part in range(5):
        begin = time.perf_counter()
        together = gnp.minimize_batch(problems, x0s)
        batch = (time.perf_counter() - begin) / COUNT
        begin = time.perf_counter()
        for i in range(100 * part, 100 * part + 100):
            gnp.minimize(problems[i], x0s[i])
        ratios.append((time.perf_counter() - begin) / 100 / batch)
    with capsys.disabled():
        print(f"\na loop of minimize takes {np.median(ratios):.1f} times as long ({min(ratios):.1f}–{max(ratios):.1f})")
    # On two quiet cores about twice as many; the suite is compiled without optimisation, and may share them.
    assert np.median(ratios) > 5
    for each, other in zip(together, alone, strict=False):
        assert each.status is other.status
        np.testing.assert_array_equal(each.outliers, other.outliers)
        np.testing.assert_allclose(each.x, other.x, atol=1e-9)
    assert all(res.success for res in together)


@pytest.mark.slow
def test_memory_is_flat_over_a_hundred_batches():
    problems, x0s = thousand()
    problems, x0s = problems[:64], x0s[:64]
    peaks = []
    for _ in range(100):
        gnp.minimize_batch(problems, x0s)
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    assert peaks[-1] - peaks[19] < 20, peaks[::10]


ON_TWO = """
import jax, numpy as np, gnpolyak as gnp
assert len(jax.devices()) == 2
instances = [gnp.instances.tensor_sensing(d=6, r=1, m=60, p_fail=0.1, seed=seed) for seed in range(40)]
problems, x0s = [each.problem for each in instances], np.stack([each.x0 for each in instances])
used = set()
from gnpolyak.solve.batch.rounds import Rounds
original = Rounds._members
Rounds._members = lambda self, places: used.add(self.lane.device.id) or original(self, places)
results = gnp.minimize_batch(problems, x0s, "graduated")
shared = gnp.minimize_batch(problems[0], np.repeat(x0s[:1], 40, axis=0), "graduated")
assert used == {0, 1}, used
assert all(each.recovery_error(res.x) < 1e-9 for each, res in zip(instances, results)), [r.status for r in results]
assert all(np.allclose(res.x, shared[0].x, atol=1e-10) for res in shared)
"""


@pytest.mark.slow
def test_members_are_dealt_out_to_devices():
    flags = "--xla_force_host_platform_device_count=2"
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", ON_TWO], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
