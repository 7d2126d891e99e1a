"""Nonlinear models from far starts: what is called a minimum is one, says a linear program. `pytest -m slow -s`."""

from collections import Counter

import numpy as np
import pytest

import gnpolyak as gnp
from engine.figures import EXACT
from engine.linear_programs import least_absolute_value
from engine.models import MODELS, fit, linearised

pytestmark = pytest.mark.slow
# A step may change each parameter by a tenth of itself, and may not gain more of the value than this.
BOX, ALLOWED = 0.1, 1e-6
SEEDS = range(32)


def gain(problem, x):
    """The share of the value that a tenth of each parameter gains to first order."""
    r, jacobian = linearised(problem, x)
    least, _ = least_absolute_value(jacobian, r, BOX * np.abs(x))
    return 1 - least / np.abs(r).sum()


@pytest.mark.parametrize("factor", [2.0, 4.0])
@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.function.__name__)
def test_no_success_at_a_point_that_a_linear_program_improves(model, factor):
    exact, false, unchecked, calls, statuses = 0, [], 0, [], Counter()
    for seed in SEEDS:
        problem, start, error = fit(model, seed, factor)
        res = gnp.minimize(problem, start)
        statuses[res.status.name] += 1
        calls.append(res.calls)
        exact += error(res.x) <= EXACT
        if res.success:
            more = gain(problem, res.x)
            unchecked += bool(np.isnan(more))
            if more > ALLOWED:
                false.append((seed, f"{more:.1e}"))
    name = f"{model.function.__name__}, starts off by up to {factor:g}"
    print(f"{name}: exact {exact}/{len(SEEDS)}, false {false}, no program {unchecked}, {dict(statuses)}, ", end="")
    print(f"calls median {np.median(calls):g} worst {max(calls)}")
    assert not false
    assert not unchecked
