"""GNP as the authors' public code has it."""

import jax
import numpy as np

import gnpolyak as gnp
from gnpolyak.oracles import oracle_for
from gnpolyak.paper.authors import WarmStartedGNP


def test_the_authors_method_keeps_what_its_memory_has_in_the_null_space():
    case = gnp.instances.tensor_sensing(d=12, r=2, kappa=5.0)
    problem, x, method = case.problem, case.x0, WarmStartedGNP()
    gauge = x @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    with jax.enable_x64(True):
        point = problem.evaluate(x)
        outlook = gnp.Outlook(gap=point.value, fraction=1.0, budget=9)
        oracle = oracle_for(problem, x)
        found = [method.propose(oracle, point, memory, outlook) for memory in (np.zeros_like(x), gauge)]
    assert all(float(one.residual) < 1e-9 for one in found)
    assert np.allclose(np.asarray(found[1].memory) - np.asarray(found[0].memory), gauge)


def test_the_warm_start_does_no_harm_to_matrices():
    """The last direction Z is orthogonal to the null space {XΩ} at X − γZ too, because ZᵀZ is symmetric and Ω skew."""
    case = gnp.instances.tensor_sensing(d=30, r=3, kappa=5.0)
    res = gnp.minimize(case.problem, case.x0, WarmStartedGNP(), target=case.target)
    plain = gnp.minimize(case.problem, case.x0, "gnp", target=case.target)
    assert res.success
    assert np.allclose(res.x, plain.x, atol=1e-8)
