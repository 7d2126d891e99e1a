"""From rows to lines: medians and bands over the seeds."""

import numpy as np

from gnpolyak.paper import gather
from paper.made import small, trace


def test_a_line_is_the_median_over_the_seeds_with_its_band():
    figure = small("conditioning")
    traces = [trace(seed=seed, best=10.0 ** -(np.arange(20.0) + seed)) for seed in range(3)]
    line = gather.picture(figure, traces).panels[0].lines[0]
    assert (line.method, line.value, line.seeds) == ("GNP", 1.0, 3)
    assert np.allclose(line.calls.median, 10.0 ** -(line.calls.x - 1 + 1))
    assert np.allclose(line.calls.low, line.calls.median / 10)
    assert np.allclose(line.calls.high, line.calls.median * 10)
    assert line.calls.x[0] == 1
    assert line.calls.x[-1] == 20
    assert np.all(np.diff(line.seconds.x) > 0)


def test_a_seed_that_ended_keeps_its_last_value():
    traces = [trace(seed=0, best=(1.0, 1e-3)), trace(seed=1, best=10.0 ** -np.arange(1.0, 9.0))]
    line = gather.picture(small("conditioning"), traces).panels[0].lines[0]
    assert line.calls.high[-1] == 1e-3
    assert line.calls.low[-1] == 1e-8
