"""Linear problems that nobody tuned for: a success is the value of a linear program, or there is none. `-m slow -s`."""

from collections import Counter

import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from engine.linear_programs import least_absolute_value

pytestmark = pytest.mark.slow
M, N = 200, 6


def line(x, matrix):
    return jnp.dot(matrix, x)


class Draw:
    """A matrix, a truth, exact data, and heavy-tailed ones."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.matrix = self.rng.standard_normal((M, N))
        self.truth = self.rng.standard_normal(N)
        self.exact = self.matrix @ self.truth
        self.noisy = self.exact + 0.1 * self.rng.standard_t(2, M)

    def wrong(self, share, replaced):
        """The exact data with a share of them replaced."""
        bad = self.rng.permutation(M)[: int(share * M)]
        b = self.exact.copy()
        b[bad] = np.broadcast_to(replaced, M)[bad]
        return self.matrix, b


def weighted_rows(d):
    w = 10.0 ** d.rng.uniform(-8, 8, M)
    matrix, b = d.wrong(0.2, d.exact + 5)
    return w[:, None] * matrix, w * b


def duplicates(d):
    matrix, b = d.matrix.copy(), d.noisy.copy()
    matrix[100:], b[100:] = matrix[0], b[0]
    return matrix, b


def spread_duplicates(d):
    matrix, b = duplicates(d)
    b[100:] = np.linspace(-3, 3, 100)
    return matrix, b


def blind(d, rows):
    """Exact data that do not see the last variable, and a few noisy ones that do."""
    matrix = d.matrix.copy()
    matrix[:rows, -1] = 0
    b = matrix @ d.truth
    b[rows:] += d.rng.standard_normal(M - rows)
    return matrix, b


def replaced_column(d, column):
    matrix = d.matrix.copy()
    matrix[:, 2] = column
    return matrix, d.noisy


def leverage(d, size):
    matrix = d.matrix.copy()
    matrix[:40] *= size
    b = matrix @ d.truth
    b[:40] = d.rng.standard_normal(40)
    return matrix, b


def ties(d):
    return d.rng.integers(-2, 3, (M, N)).astype(float), d.rng.integers(-5, 6, M).astype(float)


def few(d, rows):
    return d.matrix[:rows], d.noisy[:rows]


LINEAR = {
    "Student noise": lambda d: (d.matrix, d.noisy),
    "Cauchy noise": lambda d: (d.matrix, d.exact + d.rng.standard_cauchy(M)),
    "log-normal noise": lambda d: (d.matrix, d.exact + d.rng.choice([-1, 1], M) * d.rng.lognormal(0, 5, M)),
    "weights of 1e±8": weighted_rows,
    "columns of 1e±8": lambda d: (d.matrix * 10.0 ** d.rng.uniform(-8, 8, N), d.noisy),
    "half of the rows the same": duplicates,
    "the same row, other data": spread_duplicates,
    "60% of the data zero": lambda d: (d.matrix, np.where(d.rng.random(M) < 0.6, 0.0, d.noisy)),
    "all data zero": lambda d: (d.matrix, np.zeros(M)),
    "a zero column": lambda d: replaced_column(d, 0.0),
    "equal columns": lambda d: replaced_column(d, d.matrix[:, 1]),
    "nearly equal columns": lambda d: replaced_column(d, d.matrix[:, 1] + 1e-9 * d.rng.standard_normal(M)),
    "60% exact, blind to a variable": lambda d: blind(d, 120),
    "98% exact, blind to a variable": lambda d: blind(d, 196),
    "49% wrong": lambda d: d.wrong(0.49, d.exact + 5 * d.rng.standard_normal(M)),
    "49% the same": lambda d: d.wrong(0.49, 7.0),
    "49% of another truth": lambda d: d.wrong(0.49, d.matrix @ d.rng.standard_normal(N)),
    "leverage of 1e6": lambda d: leverage(d, 1e6),
    "ties": ties,
    "4 data": lambda d: few(d, 4),
    "6 data": lambda d: few(d, 6),
    "7 data": lambda d: few(d, 7),
    "9 data": lambda d: few(d, 9),
    "an offset of 1e8": lambda d: (np.c_[d.matrix[:, 1:], np.ones(M)], d.noisy + 1e8),
}


@pytest.mark.parametrize("name", LINEAR)
def test_a_success_is_the_value_of_a_linear_program(name):
    above, statuses, false = [], Counter(), []
    for seed in range(5):
        matrix, b = LINEAR[name](Draw(seed))
        res = gnp.minimize(gnp.composite(line, gnp.L1(b), args=(matrix,)), np.zeros(N))
        least, _ = least_absolute_value(matrix, b)
        rounding = 16 * np.finfo(float).eps * (np.abs(b).sum() + np.abs(matrix @ res.x).sum())
        statuses[res.status.name] += 1
        above.append(max(res.value - least - rounding, 0.0) / (least or 1.0))
        if res.success and above[-1] > 1e-6:
            false.append((seed, res.status.name, above[-1]))
    print(f"{name}: above by median {np.median(above):.1e}, worst {max(above):.1e}, {dict(statuses)}")
    assert not false


@pytest.mark.parametrize("unit", [1e-150, 1e-30, 1e30, 1e150])
@pytest.mark.parametrize("both", [False, True], ids=["data", "matrix and data"])
def test_units_are_immaterial(unit, both):
    draw = Draw(0)
    matrix, b = draw.wrong(0.2, draw.exact + 5)
    res = gnp.minimize(gnp.composite(line, gnp.L1(b * unit), args=(matrix * (unit if both else 1),)), np.zeros(N))
    x = res.x if both else res.x / unit
    print(f"unit {unit:g}: {res.status.name}, {res.calls} calls, off by {np.abs(x - draw.truth).max():.0e}")
    assert res.success
    assert np.allclose(x, draw.truth, rtol=1e-8)
