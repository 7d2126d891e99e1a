"""What cannot be fitted is refused with one clear error, before anything is compiled."""

import numpy as np
import pytest

import gnpolyak as gnp
from fit.cases import X, in_jax, in_numpy

Y = in_numpy(X, 2.5, 1.3, 0.5)


def broken(x, a, b, c):
    raise KeyError("no such thing")


@pytest.mark.parametrize(
    ("f", "x", "y", "options", "said"),
    [
        (3.0, X, Y, {}, "something to call"),
        (in_numpy, X[:2], Y[:2], {}, "2 data for 3 parameters"),
        (in_numpy, X, Y[:-1], {}, r"shape \(60,\) for ydata of shape \(59,\)"),
        (in_jax, X, Y[:-1], {}, r"shape|call"),
        (lambda x, a: x[:5] * a, X, Y, {}, r"shape \(5,\)"),
        (lambda x, a: "text", X, Y, {}, "real numbers"),
        (lambda x, a: 1j * a * x, X, Y, {}, "real numbers"),
        (lambda x, a: None, X, Y, {}, "real numbers"),
        (broken, X, Y, {}, "KeyError: 'no such thing'"),
        (lambda x, *p: p[0] * x, X, Y, {}, "pass p0"),
        (lambda x: x, X, Y, {}, "pass p0"),
        (in_numpy, X, Y, {"p0": [1.0, 2.0]}, "TypeError"),
        (in_numpy, X, Y, {"p0": [1.0, np.nan, 2.0]}, "finite number"),
        (in_numpy, X, Y, {"p0": "abc"}, "p0 of type str"),
        (in_numpy, X, Y, {"p0": [1.0, 1.0, 9.0], "bounds": (0, 5)}, "between the bounds"),
        (in_numpy, X, Y, {"bounds": (1, 0)}, "bounds"),
        (in_numpy, X, Y, {"bounds": ([0, 0], [1, 1, 1])}, "bounds"),
        (in_numpy, X, [], {}, "without any number"),
        (in_numpy, X, ["a"] * 60, {}, "ydata of type list"),
        (in_numpy, X, Y + 1j, {}, "real numbers"),
        (in_numpy, X, np.where(X > 3, np.inf, Y), {"nan_policy": "omit"}, "NaN or infinite"),
        (in_numpy, np.where(X > 3, np.nan, X), Y, {}, "xdata with"),
        (in_numpy, X, np.ma.masked_less(Y, 0.6), {}, "masked"),
        (in_numpy, X, Y, {"nan_policy": "propagate"}, "nan_policy"),
        (in_numpy, X, Y, {"sigma": -1.0}, "positive"),
        (in_numpy, X, Y, {"sigma": np.zeros(60)}, "positive"),
        (in_numpy, X, Y, {"sigma": np.ones(7)}, r"sigma of shape \(7,\)"),
        (in_numpy, X, Y, {"sigma": np.ones((60, 60))}, "correlations"),
        (in_numpy, X, Y, {"jac": "2-point"}, "jac"),
    ],
)
def test_curve_fit(f, x, y, options, said):
    with pytest.raises(gnp.InputError, match=said):
        gnp.curve_fit(f, x, y, **options)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ([1.0, 2.0, 3.0], "a dict"),
        ({1: 1.0}, "a dict"),
        ({}, "none of them free"),
        ({"a": gnp.Parameter(1.0, fixed=True)}, "none of them free"),
        ({"a": gnp.Parameter(1.0, min=2.0)}, "between its bounds"),
        ({"a": gnp.Parameter(np.ones(2), min=np.zeros(3))}, "between its bounds"),
        ({"a": None}, "value None"),
        ({"a": 1.0, "b": 1.0, "wrong": 1.0}, "wrong"),
    ],
)
def test_fit(params, said):
    with pytest.raises(gnp.InputError, match=said):
        gnp.fit(in_numpy, params, X, Y)


def test_fit_needs_a_model():
    with pytest.raises(gnp.InputError, match="something to call"):
        gnp.fit(None, {"a": 1.0}, X, Y)


def test_a_model_that_raises_in_the_middle_is_named():
    def late(x, a, b, c):
        if a != 1.0:
            raise KeyError("later")
        return in_numpy(x, a, b, c)

    with pytest.raises(gnp.InputError, match="KeyError: 'later'"):
        gnp.curve_fit(late, X, Y, np.ones(3))
