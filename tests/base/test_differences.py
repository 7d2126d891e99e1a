"""Derivatives by differences, against those that are known."""

import numpy as np
import pytest

from gnpolyak.base.differences import Range, jacobian

T = np.linspace(0.1, 3.0, 25)


def decay(p):
    return p[0] * np.exp(-p[1] * T) + p[2] * np.sin(p[3] * T)


def known(p):
    return np.stack(
        [np.exp(-p[1] * T), -p[0] * T * np.exp(-p[1] * T), np.sin(p[3] * T), p[2] * T * np.cos(p[3] * T)], axis=1
    )


def off(found, right):
    return np.max(np.linalg.norm(found - right, axis=0) / np.linalg.norm(right, axis=0))


@pytest.mark.parametrize(
    "p", [np.array([2.0, 0.7, -1.0, 5.0]), np.array([1e6, 1e-2, 1e3, 0.3]), np.array([1e-9, 2.0, 1e-9, 40.0])], ids=str
)
def test_they_are_right_to_ten_digits(p):
    assert off(jacobian(decay, p, decay(p), Range.around(p)), known(p)) < 1e-9


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
def test_a_parameter_at_zero_finds_its_scale(scale):
    p = np.zeros(1)

    def f(p):
        return np.tanh(T * p[0] / scale) + np.exp(p[0] / scale)

    right = ((T + 1.0) / scale)[:, None]
    assert off(jacobian(f, p, f(p), Range.around(p)), right) < 1e-8


def test_nothing_is_called_outside_the_bounds():
    lower, upper = np.array([2.0, -1.0, -1.0, 5.0]), np.array([2.1, 0.7, -1.0, 5.0 + 1e-9])
    p = np.array([2.0, 0.7, -1.0, 5.0])

    def watched(p):
        assert np.all((p >= lower) & (p <= upper))
        return decay(p)

    found = jacobian(watched, p, decay(p), Range.around(p, lower, upper))
    assert off(found[:, :2], known(p)[:, :2]) < 1e-8
    assert np.all(found[:, 2] == 0)
    # In a range of 1e-9 a difference has seven digits of its own, and no more.
    assert off(found[:, 3:], known(p)[:, 3:]) < 1e-5


def test_the_end_of_the_domain_is_met_from_inside():
    p = np.array([0.0, 1.0])

    def f(p):
        return p[1] * T + (p[0] + p[0] ** 2 if p[0] >= 0 else np.nan) * T**2

    assert off(jacobian(f, p, f(p), Range.around(p)), np.stack([T**2, T], axis=1)) < 1e-8


def test_an_image_that_is_not_finite_has_no_derivative():
    p = np.ones(2)
    assert np.all(np.isnan(jacobian(lambda p: 1 / 0, p, np.full(3, np.nan), Range.around(p))))
