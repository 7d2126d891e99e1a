"""What may be given as bounds, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import Bounds

import gnpolyak as gnp
from gnpolyak.solve.bounds import as_box
from gnpolyak.solve.certificate import certify
from gnpolyak.solve.evaluation import Evaluation

FLAT = np.zeros(3)
PAIR = (np.zeros((4, 2)), np.zeros((3, 2)))
INF = np.inf


@pytest.mark.parametrize(
    ("bounds", "lo", "hi"),
    [
        ((0, 1), [0, 0, 0], [1, 1, 1]),
        ((None, 1.0), [-INF] * 3, [1, 1, 1]),
        (([0, 1, 2], 5), [0, 1, 2], [5, 5, 5]),
        (([0, None, -INF], None), [0, -INF, -INF], [INF] * 3),
        (Bounds([0, 1, 2], [1, 2, 3]), [0, 1, 2], [1, 2, 3]),
        (Bounds(0, 1), [0, 0, 0], [1, 1, 1]),
        ([(0, 1), (None, 2), (3, None)], [0, -INF, 3], [1, 2, INF]),
        (((0, 1), (None, 2), (3, 3)), [0, -INF, 3], [1, 2, 3]),
        ((np.zeros(3), np.ones(1)), [0, 0, 0], [1, 1, 1]),
        ((jnp.zeros(3), 1), [0, 0, 0], [1, 1, 1]),
    ],
)
def test_ways_to_write_bounds_of_a_vector(bounds, lo, hi):
    low, high = as_box(bounds, FLAT).flat()
    np.testing.assert_array_equal(low, lo)
    np.testing.assert_array_equal(high, hi)


def test_bounds_of_a_pytree_follow_its_leaves():
    low, high = as_box(((0, None), (1, np.full((3, 1), 2.0))), PAIR).flat()
    np.testing.assert_array_equal(low, [0] * 8 + [-INF] * 6)
    np.testing.assert_array_equal(high, [1] * 8 + [2] * 6)
    low, _ = as_box((0, None), PAIR).flat()
    np.testing.assert_array_equal(low, np.zeros(14))
    named = {"a": np.zeros(()), "b": np.zeros(2)}
    low, high = as_box(({"a": 1, "b": None}, {"a": None, "b": [3, 4]}), named).flat()
    np.testing.assert_array_equal(low, [1, -INF, -INF])
    np.testing.assert_array_equal(high, [INF, 3, 4])


def test_two_numbers_are_read_in_one_way_or_refused():
    two = np.zeros(2)
    np.testing.assert_array_equal(as_box(([0, 1], [2, 3]), two).flat()[1], [2, 3])
    np.testing.assert_array_equal(as_box([(0, 1), (2, 3)], two).flat()[1], [1, 3])
    for unclear in (((0, 1), (2, 3)), [[0, 1], [2, 3]]):
        with pytest.raises(gnp.InputError, match="one way only"):
            as_box(unclear, two)


@pytest.mark.parametrize("bounds", [None, (None, None), (-INF, INF), [(None, None)] * 3])
def test_no_bounds_are_no_box(bounds):
    assert as_box(bounds, FLAT) is None


@pytest.mark.parametrize(
    ("bounds", "x", "message"),
    [
        ((1, 0), FLAT, "nothing between"),
        ((INF, INF), FLAT, "nothing between"),
        ((np.nan, 1), FLAT, "NaN"),
        ((np.zeros(2), 1), FLAT, "shape"),
        ((np.zeros((3, 3)), 1), FLAT, "shape"),
        (("a", 1), FLAT, "not numbers"),
        ((1j, 2), FLAT, "not numbers"),
        (3.0, FLAT, "type float"),
        ({"lo": 1}, FLAT, "type dict"),
        ((0, 1, 2), PAIR, "3 parts"),
        (((0, 1, 2), 1), PAIR, "structure"),
        (([0, 1], 1), PAIR, "structure"),
        ((0, 1), FLAT + 1j, "complex"),
    ],
)
def test_bounds_that_cannot_be_meant_are_refused(bounds, x, message):
    with pytest.raises(gnp.InputError, match=message):
        as_box(bounds, x)


T = np.linspace(0, 5, 40)


def decay(x, t):
    return x[0] * jnp.exp(-x[1] * t)


def noisy(seed=0):
    rng = np.random.default_rng(seed)
    y = 2 * np.exp(-0.5 * T) + 0.02 * rng.standard_normal(40)
    y[::5] += rng.uniform(-1, 2, 8)
    return y


def test_no_point_outside_is_ever_evaluated():
    seen = []

    def model(x, t):
        jax.debug.callback(lambda x: seen.append(np.array(x)), x)
        return jnp.sqrt(x[0] - 1.0) * jnp.exp(-x[1] * t)

    problem = gnp.composite(model, gnp.L1(noisy()), args=(T,))
    res = gnp.minimize(problem, [9.0, 3.0], bounds=([1.0, 0.6], [4.0, 2.0]))
    assert res.success
    assert len(seen) > 10
    assert np.all((np.array(seen) >= [1.0, 0.6]) & (np.array(seen) <= [4.0, 2.0]))


@pytest.mark.parametrize("runner", ["host", "compiled"])
def test_a_multiplier_that_pushes_inwards_is_no_certificate(runner):
    """At the bound of a box that holds the minimum elsewhere, the equation on the free variables alone is solved."""

    def certified(problem, x):
        return certify(Evaluation(problem, x, runner), x).holds

    problem = gnp.composite(gnp.Linear(np.ones((5, 1))), gnp.L1(np.array([1.0, 2.0, 3.0, 4.0, 5.0])))
    with jax.enable_x64(True):
        for lo, hi, x, holds in [(0.0, 9.0, 0.0, False), (4.0, 9.0, 4.0, True), (0.0, 2.5, 2.5, True)]:
            box = as_box((lo, hi), np.zeros(1))
            assert certified(problem.within(box), np.array([x])) is holds
        assert certified(problem.within(as_box((0.0, 9.0), np.zeros(1))), np.array([3.0]))


def test_a_variable_at_the_wrong_bound_is_freed():
    problem = gnp.composite(decay, gnp.L1(noisy()), args=(T,))
    inside, outside = (gnp.minimize(problem, x0, bounds=([1.0, 0.1], [5.0, 3.0])) for x0 in ([1.5, 1.0], [1.0, 3.0]))
    assert outside.success
    assert np.all((outside.x > [1.0, 0.1]) & (outside.x < [5.0, 3.0]))
    assert outside.value == pytest.approx(inside.value, rel=1e-9)


def test_variables_at_their_bounds_have_no_variance():
    problem = gnp.composite(decay, gnp.L1(noisy()), args=(T,))
    res = gnp.minimize(problem, [1.0, 1.0], bounds=(None, [5.0, 0.45]), polish=True)
    assert res.x[1] == 0.45
    fixed = gnp.composite(lambda x, t: decay(jnp.array([x[0], 0.45]), t), gnp.L1(noisy()), args=(T,))
    alone = gnp.minimize(fixed, [1.0], polish=True)
    covariance = res.covariance()
    assert covariance[1, 1] == covariance[0, 1] == 0
    np.testing.assert_allclose(res.x[0], alone.x[0], rtol=1e-3)
    np.testing.assert_allclose(covariance[0, 0], alone.covariance()[0, 0], rtol=0.1)
    np.testing.assert_allclose(res.covariance(along=[np.array([1.0, 7.0])]), [[covariance[0, 0]]], rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["gnp", "polyak"])
def test_methods_of_the_literature_stay_inside_and_claim_nothing(method):
    problem = gnp.composite(decay, gnp.L1(noisy()), args=(T,))
    res = gnp.minimize(problem, [1.0, 1.0], method, bounds=(0.0, [9.0, 0.45]), max_calls=300)
    exact = gnp.minimize(problem, [1.0, 1.0], bounds=(0.0, [9.0, 0.45]))
    assert np.all(res.x <= [9.0, 0.45])
    assert exact.success
    assert res.value <= 1.01 * exact.value
    assert not res.success or res.value <= exact.value * (1 + 1e-7)


@pytest.mark.parametrize(
    ("method", "message"), [("scaledsm", "ScaledSM together with bounds"), (gnp.GNP(solver="closed"), "Closed")]
)
def test_methods_that_cannot_hold_a_variable_are_refused(method, message):
    problem = gnp.composite(gnp.SymmetricCP(2), gnp.L1(np.eye(4)))
    with pytest.raises(gnp.InputError, match=message):
        gnp.minimize(problem, np.ones((4, 2)), method, bounds=(0, None))


def test_bounds_that_differ_need_a_rank():
    problem = gnp.composite(gnp.LowRank(), gnp.L1(np.outer(np.arange(1.0, 7), np.ones(5))))
    lo = np.zeros((6, 1)), np.zeros((5, 1))
    lo[0][2] = 0.5
    with pytest.raises(gnp.InputError, match="rank"):
        gnp.minimize(problem, bounds=(lo, None))


def test_a_variable_is_not_left_where_its_derivative_vanishes():
    """u² ≥ 0 at u = 0, a bound: the first-order certificate is right there, and the minimum is elsewhere."""
    problem = gnp.composite(lambda u: u**2, gnp.L1(np.array([4.0, 9.0])))
    res = gnp.minimize(problem, np.array([0.0, 1.0]), bounds=(0.0, None))
    np.testing.assert_allclose(res.x, [2.0, 3.0], rtol=1e-9)
