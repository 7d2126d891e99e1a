"""The constrained minimum of problems whose bounds are active there, against linear programs and SLSQP."""

import jax
import numpy as np
import pytest

import gnpolyak as gnp
from engine.bounded import CASES, by_linear_program, by_slsqp, flattened

# One of each kind by default; the others are slow.
DEFAULT = {"regression, narrow", "regression, some fixed", "exponentials, both"}


def solved(case):
    """The result, its point and the bounds, flat."""
    res = gnp.minimize(case.problem, case.x0, bounds=case.bounds)
    x = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(res.x)])
    _, _, lo, hi = flattened(case)
    return res, x, lo, hi


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=() if c.name in DEFAULT else pytest.mark.slow, id=c.name) for c in CASES],
)
def test_the_constrained_minimum_to_eight_digits(case):
    res, x, lo, hi = solved(case)
    assert np.all((lo <= x) & (x <= hi))
    assert np.any((x == lo) | (x == hi))
    reference = by_linear_program(case) if case.linear else by_slsqp(case, x)
    assert abs(res.value - reference) <= 1e-8 * reference
    assert res.success
    assert res.certificate.holds
