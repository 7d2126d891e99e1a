"""The paper's sensing by the default engine: `pytest -m slow -s tests/engine/test_sensing.py`."""

import numpy as np
import pytest

import gnpolyak as gnp
from engine.figures import Figures

pytestmark = pytest.mark.slow
RECOVERED = 1e-12


def first_recovered(case, most):
    """The least number of calls after which the truth is recovered, by bisection; the solve itself takes `most`."""
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        res = gnp.minimize(case.problem, case.x0, max_calls=middle)
        low, high = (low, middle) if case.recovery_error(res.x) <= RECOVERED else (middle + 1, high)
    return low


def solves(name, seeds=range(5), **setting):
    """The median over seeds of the calls to recovery; that each solve recovers the truth and says so is held here."""
    figures, before, first = Figures(name), [], []
    for seed in seeds:
        case = gnp.instances.tensor_sensing(d=100, r=5, seed=seed, **setting)
        res = gnp.minimize(case.problem, case.x0)
        figures.add(res, case.recovery_error(res.x))
        before.append(res.calls - res.certificate.products)
        first.append(first_recovered(case, res.calls))
    print(f"{figures}; without the certificate {np.median(before):g}, {max(before)}; ", end="")
    print(f"recovered at {np.median(first):g}, {max(first)}")
    assert figures.successes == len(seeds)
    assert max(figures.errors) <= RECOVERED
    return np.median(first)


@pytest.mark.parametrize("kappa", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("p_fail", [0.05, 0.2, 0.4])
def test_recovery_within_110_calls(kappa, p_fail):
    assert solves(f"p_fail={p_fail}, κ={kappa:g}", kappa=kappa, p_fail=p_fail) <= 110


@pytest.mark.parametrize("kappa", [1.0, 100.0])
@pytest.mark.parametrize("corruption", [1e3, 1e10, 1e20])
def test_the_size_of_corruption_is_immaterial(kappa, corruption):
    # Each within 1e-12 of the same truth: the same answer.
    assert solves(f"corruption {corruption:g}, κ={kappa:g}", kappa=kappa, p_fail=0.2, corruption=corruption) <= 110


@pytest.mark.parametrize("p_fail", [0.05, 0.2])
@pytest.mark.parametrize("n", [3, 4])
def test_tensors_within_140_calls(n, p_fail):
    assert solves(f"n={n}, κ=3, p_fail={p_fail}", n=n, kappa=3.0, p_fail=p_fail) <= 140
