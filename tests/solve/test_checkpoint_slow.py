"""The promise of checkpoints over many moments: twenty kills of one solve, and the bits that nobody disturbed."""

import os

import numpy as np
import pytest

from solve.killed import bits, killed, solve

KILLS = 20


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(("case", "longest"), [("curve", 0.05), ("sensing", 0.15), ("completion", 0.15)])
def test_killed_at_twenty_random_moments_it_ends_with_the_same_bits(tmp_path, case, longest):
    """Most of them after the second chunk of each process; some while it starts or reads the file."""
    rng = np.random.default_rng()
    late = [f"{delay:.4f}" for delay in rng.uniform(0.0, longest, KILLS - 5)]
    early = [f"start{delay:.4f}" for delay in rng.uniform(0.0, longest, 5)]
    delays = [str(each) for each in rng.permutation([*late, *early])]
    told = killed(case, tmp_path / "run.ckpt", delays)
    sizes = [line.split()[3] for line in told if line.startswith("killed True")]
    ends = [line for line in told if " " not in line]
    print(f"{case}: {len(sizes)} kills, with {', '.join(sizes)} bytes on file; {len(ends)} ends")
    assert set(ends) == {bits(solve(case))}, delays
    assert len(sizes) == KILLS
