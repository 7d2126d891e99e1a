"""One curve, run."""

import numpy as np

import gnpolyak as gnp
from gnpolyak.paper import rows
from gnpolyak.paper.run import run
from paper.made import curves


def test_a_run_records_the_solve_and_where_it_came_from():
    curve = next(c for c in curves("conditioning", "quick", kappa=10) if c.contender.label == "GNP")
    found = run(curve)
    case = gnp.instances.tensor_sensing(**vars(curve.setting), seed=0)
    res = gnp.minimize(case.problem, case.x0, "gnp", target=case.target, tol=1e-13, max_calls=5000)
    assert np.array_equal(found.gap, res.history.value - case.target)
    assert found.call[-1] == res.calls
    assert found.identity == rows.identity(curve)
    facts = found.facts
    assert facts["dtype"] == "float64"
    assert facts["status"] == "target_reached"
    assert f"gnpolyak {gnp.__version__}" in facts["versions"]
    assert "jax " in facts["versions"]
    assert all(facts[name] for name in rows.PROVENANCE)
