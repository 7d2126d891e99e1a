"""Models in plain NumPy, against the same in jax.numpy and against what they should be."""

import copy
import math
import pickle

import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp

T = np.linspace(0.0, 4.0, 60)


def data(seed=0):
    rng = np.random.default_rng(seed)
    y = 2.5 * np.exp(-1.3 * T) + 0.5 + 0.02 * rng.standard_normal(60)
    y[rng.choice(60, 15, replace=False)] += 4.0
    return y


def test_it_is_fitted_as_the_same_model_in_jax_is_and_compiled_for_a_shape_and_not_for_a_function(compilations):
    found = {}
    for name, c in {
        "jax": lambda p: p[0] * jnp.exp(-p[1] * T) + p[2],
        "numpy": gnp.NumpyMap(lambda p: p[0] * np.exp(-p[1] * T) + p[2]),
        "python": gnp.NumpyMap(lambda p: [p[0] * math.exp(-p[1] * t) + p[2] for t in T]),
    }.items():
        with compilations() as compiled:
            found[name] = gnp.minimize(gnp.composite(c, gnp.L1(data())), np.ones(3), polish=True)
    assert compiled.count == 0, "the last one computes something else, in the same program"
    for name in ("numpy", "python"):
        np.testing.assert_allclose(found[name].x, found["jax"].x, rtol=1e-9)
        assert found[name].outliers.tolist() == found["jax"].outliers.tolist()


def test_values_and_derivatives_on_the_host_are_those_in_jax():
    c = gnp.NumpyMap(lambda p: p["a"] * np.exp(-p["b"] * T)).settled({"a": np.ones(()), "b": np.ones(1)})
    image, matrix = c.on_host(np.array([2.0, 0.5]))
    np.testing.assert_allclose(image, 2 * np.exp(-0.5 * T), rtol=1e-15)
    np.testing.assert_allclose(
        matrix, np.stack([np.exp(-0.5 * T), -2 * T * np.exp(-0.5 * T)], 1), rtol=1e-9, atol=1e-12
    )


def test_a_jacobian_that_is_given_is_used():
    calls = []

    def slope(p):
        calls.append(p)
        return np.stack([np.exp(-p[1] * T), -p[0] * T * np.exp(-p[1] * T), np.ones(60)], axis=1)

    c = gnp.NumpyMap(lambda p: p[0] * np.exp(-p[1] * T) + p[2], jacobian=slope)
    plain = gnp.NumpyMap(lambda p: p[0] * np.exp(-p[1] * T) + p[2])
    fits = [gnp.minimize(gnp.composite(each, gnp.L1(data())), np.ones(3), polish=True).x for each in (c, plain)]
    assert calls
    np.testing.assert_allclose(*fits, rtol=1e-9)


def test_outside_its_domain_a_model_may_raise():
    y = 2.0 * np.sqrt(3.0) * T
    c = gnp.NumpyMap(lambda p: p[0] * math.sqrt(p[1]) * T + p[1] * T**2 - 3.0 * T**2)
    res = gnp.minimize(gnp.composite(c, gnp.L1(y)), np.array([20.0, 0.05]))
    assert res.success
    np.testing.assert_allclose(res.x, [2.0, 3.0], rtol=1e-8)


def test_between_bounds_it_is_not_called_outside():
    lower, upper = np.array([0.0, 0.5, 0.6]), np.array([5.0, 2.0, 5.0])

    def watched(p):
        assert np.all((p >= lower) & (p <= upper))
        return decay(p)

    problem = gnp.composite(gnp.NumpyMap(watched), gnp.L1(data()))
    res = gnp.minimize(problem, np.ones(3), bounds=(lower, upper))
    assert res.x[2] == 0.6


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (lambda p: p[7] * T, "IndexError"),
        (lambda p: 1j * T, "complex"),
        (lambda p: "text", "not real"),
        (lambda p: [[1.0], [1.0, 2.0]], "Error"),
        (lambda p: T[:7], "shape"),
    ],
)
def test_a_model_that_cannot_be_called_is_named(model, said):
    with pytest.raises(gnp.InputError, match=said):
        gnp.minimize(gnp.composite(gnp.NumpyMap(model), gnp.L1(data())), np.ones(2))


def decay(p):
    return p[0] * np.exp(-p[1] * T) + p[2]


def test_a_copy_is_solved_as_the_first_is():
    c = gnp.NumpyMap(decay)
    sent = pickle.loads(pickle.dumps(c.settled(np.ones(3))))
    problems = [gnp.composite(each, gnp.L1(data())) for each in (c, copy.deepcopy(c), sent)]
    fits = [gnp.minimize(problem, np.ones(3), max_calls=9).x for problem in problems]
    np.testing.assert_array_equal(fits[0], fits[1])
    np.testing.assert_array_equal(fits[0], fits[2])
    np.testing.assert_array_equal(sent.on_host(fits[0])[0], decay(fits[0]))


def test_what_is_no_function_and_what_is_complex_are_refused():
    with pytest.raises(gnp.InputError, match="something to call"):
        gnp.NumpyMap(3.0)
    with pytest.raises(gnp.InputError, match="complex variable"):
        gnp.minimize(gnp.composite(gnp.NumpyMap(lambda p: abs(p) * T), gnp.L1(data())), np.ones(1) * 1j)
