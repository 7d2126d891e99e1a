"""Numbers over the seeds, and the tables that tell them."""

import numpy as np

from gnpolyak.paper.evidence import Runs
from gnpolyak.paper.tables import markdown, summary
from paper.made import geometric, trace


def test_a_median_with_runs_that_never_arrive():
    traces = [geometric(50, seed=0), trace(seed=1, best=np.ones(9)), trace(seed=2, best=np.ones(9))]
    assert Runs(traces).calls("GNP", 1.0) == np.inf
    assert Runs(traces[:1]).calls("GNP", 1.0) == 50


def test_tables_show_medians_ranges_and_what_did_not_arrive():
    slow = [geometric(100, method="Polyak", seed=0), trace(method="Polyak", seed=1, best=np.ones(500))]
    runs = Runs([geometric(50, seed=0), geometric(40, seed=1), *slow])
    text = summary(runs, "κ", ["GNP", "Polyak"], relative=True)
    assert "| 50 (40 – 50) | > 500 (100 – > 500) |" in text
    assert "> 12.5 (2 – > 12.5)" in text
    assert markdown(["a"], [["x|y"]]).endswith("| x\\|y |")
