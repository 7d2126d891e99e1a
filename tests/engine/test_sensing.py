"""The paper's sensing by the default engine: `pytest -m slow -s tests/engine/test_sensing.py`."""

import numpy as np
import pytest

import gnpolyak as gnp

pytestmark = pytest.mark.slow
RECOVERED = 1e-12


def solves(name, seeds=range(5), **setting):
    """Calls to the end, calls without those of the certificate, and the worst recovery error, over seeds."""
    errors, calls, before, statuses, found = [], [], [], [], []
    for seed in seeds:
        case = gnp.instances.tensor_sensing(d=100, r=5, seed=seed, **setting)
        res = gnp.minimize(case.problem, case.x0)
        errors.append(case.recovery_error(res.x))
        calls.append(res.calls)
        before.append(res.calls - (res.certificate.products if res.certificate else 0))
        statuses.append(res.status.name)
        found.append(res)
        if not (res.success and errors[-1] <= RECOVERED):
            print(f"  missed: {setting}, seed {seed}: {res.status.name}, error {errors[-1]:.1e}, {res.calls} calls")
    print(
        f"{name}: recovery worst {max(errors):.0e}; calls median {np.median(calls):g} worst {max(calls)}; "
        f"without the certificate {np.median(before):g}, {max(before)}; {sorted(set(statuses))}"
    )
    assert all(res.success for res in found)
    return errors, calls, before


@pytest.mark.parametrize("kappa", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("p_fail", [0.05, 0.2, 0.4])
def test_recovery_within_110_calls(kappa, p_fail):
    errors, calls, _ = solves(f"p_fail={p_fail}, κ={kappa:g}", kappa=kappa, p_fail=p_fail)
    assert max(errors) <= RECOVERED
    assert np.median(calls) <= 110


@pytest.mark.parametrize("kappa", [1.0, 100.0])
@pytest.mark.parametrize("corruption", [1.0, 1e3, 1e10, 1e20])
def test_the_size_of_corruption_is_immaterial(kappa, corruption):
    name = f"corruption of {corruption:g}, κ={kappa:g}"
    errors, calls, _ = solves(name, kappa=kappa, p_fail=0.2, corruption=corruption)
    # Each within 1e-12 of the same truth: the same answer.
    assert max(errors) <= RECOVERED
    assert np.median(calls) <= 110


@pytest.mark.parametrize("p_fail", [0.0, 0.2])
@pytest.mark.parametrize("n", [3, 4])
def test_tensors_within_140_calls(n, p_fail):
    errors, calls, _ = solves(f"n={n}, κ=3, p_fail={p_fail}", n=n, kappa=3.0, p_fail=p_fail)
    assert max(errors) <= RECOVERED
    assert np.median(calls) <= 140
