"""Linear l1 regression in heavy-tailed noise, beside a linear program: `pytest -m slow -s`."""

import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from engine.linear_programs import least_absolute_value

pytestmark = pytest.mark.slow


def line(x, matrix):
    return jnp.dot(matrix, x)


def regression(n, condition, freedom, seed, m=2000):
    """A matrix with singular values from 1 down to 1/condition, and data with noise of Student's law."""
    rng = np.random.default_rng(seed)
    left, _ = np.linalg.qr(rng.standard_normal((m, n)))
    right, _ = np.linalg.qr(rng.standard_normal((n, n)))
    matrix = np.sqrt(m) * left * np.geomspace(1.0, 1.0 / condition, n) @ right
    return matrix, matrix @ rng.standard_normal(n) + 0.1 * rng.standard_t(freedom, m)


@pytest.mark.parametrize("freedom", [2.0, 1.5])
@pytest.mark.parametrize("n", [10, 30, 100])
def test_the_least_value_is_that_of_a_linear_program(n, freedom):
    above = []
    for condition in (1e2, 1e4, 1e6):
        for seed in range(5 if n < 100 else 2):
            matrix, b = regression(n, condition, freedom, seed)
            res = gnp.minimize(gnp.composite(line, gnp.L1(b), args=(matrix,)), np.zeros(n))
            least, _ = least_absolute_value(matrix, b)
            above.append(res.value / least - 1)
            where = f"n={n}, condition {condition:g}, t({freedom:g}), seed {seed}"
            print(f"  {where}: {res.status.name}, {above[-1]:.1e} above, {res.calls} calls, {res.seconds:.2g} s")
    print(f"n={n}, t({freedom:g}): above the program by median {np.median(above):.1e}, worst {max(above):.1e}")
    assert max(above) <= 1e-6
