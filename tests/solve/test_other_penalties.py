"""Penalties that graduated steps do not know: right answers, and no success that nothing proves."""

import numpy as np
import pytest
from scipy.optimize import linprog

import gnpolyak as gnp


def test_a_quantile_regression_is_that_of_the_linear_program():
    rng = np.random.default_rng(0)
    m, n, q = 200, 4, 0.9
    rows = rng.standard_normal((m, n))
    b = rows @ rng.standard_normal(n) + rng.exponential(size=m)
    res = gnp.minimize(gnp.composite(lambda x, rows: rows @ x, gnp.Pinball(b, q), args=(rows,)), np.zeros(n))
    cost, free = np.r_[np.zeros(n), np.full(m, q), np.full(m, 1 - q)], [(None, None)] * n + [(0, None)] * (2 * m)
    least = linprog(cost, A_eq=np.c_[rows, np.eye(m), -np.eye(m)], b_eq=b, bounds=free).fun
    assert least <= res.value * (1 + 1e-12)
    assert res.value <= least * (1 + 1e-8)
    assert res.status is gnp.Status.CERTIFIED
    problem = gnp.composite(lambda x, rows: rows @ x, gnp.Pinball(b, q), args=(rows,))
    assert gnp.diagnostics.certify(problem, res.x).holds
    assert not gnp.diagnostics.certify(problem, res.x + 1e-5).holds
    # The median is another quantile: what is a minimum for one is none for the other.
    median = gnp.composite(lambda x, rows: rows @ x, gnp.Pinball(b, 0.5), args=(rows,))
    assert not gnp.diagnostics.certify(median, res.x).holds


@pytest.mark.slow
def test_rows_that_are_wrong_as_a_whole():
    rng = np.random.default_rng(0)
    u, v = rng.standard_normal((40, 2)), rng.standard_normal((30, 2))
    bad = rng.random(40) < 0.2
    data = u @ v.T + np.where(bad[:, None], 3 * rng.standard_normal((40, 30)), 0.0)
    x0 = tuple(each + 0.1 * rng.standard_normal(each.shape) for each in (u, v))
    res = gnp.minimize(gnp.composite(gnp.LowRank(), gnp.L21(data)), x0)
    assert np.max(np.abs(res.x[0] @ res.x[1].T - u @ v.T)[~bad]) < 1e-7
    assert not res.success
