"""Batches against a loop: the benchmark runs, and compares what it says."""

import pytest

from gnpolyak.bench import batches
from gnpolyak.bench.specs import Batch, Batches


@pytest.mark.slow
def test_a_batch_and_a_loop_are_timed_in_turn():
    rows = batches.against_a_loop(Batch(d=5, r=1, count=3, alone=2, rounds=1))
    assert [row.contestant for row in rows] == 2 * [batches.TOGETHER, batches.ALONE]
    assert rows[1].against == batches.TOGETHER
    assert rows[1].ratio == pytest.approx(rows[1].median / rows[0].median)
    (grown,) = batches.memory(Batches(d=5, r=1, count=3, batches=3))
    assert grown.unit == "MB"
    assert grown.median < 50
