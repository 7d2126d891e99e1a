"""What counts as a number, and what an argument that is none is told."""

import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base import numbers


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3), np.array(3), jnp.array(3)])
def test_integers_of_any_make_are_whole(value):
    assert numbers.is_whole(value, 3)
    assert not numbers.is_whole(value, 4)
    assert numbers.is_real(value)
    assert type(numbers.require_whole("count", value, 1)) is int


@pytest.mark.parametrize("value", [True, np.True_, np.array(True), 3.0, "3", None, [3], np.array([3]), 3j])
def test_nothing_else_is_whole(value):
    assert not numbers.is_whole(value, 0)


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), np.array(0.5), jnp.array(0.5), 10**300])
def test_finite_numbers_of_any_make_are_real(value):
    assert numbers.is_real(value)


@pytest.mark.parametrize("value", [True, np.nan, np.inf, -np.inf, np.array(np.nan), "1", None, [1.0], 1j, 10**400])
def test_nothing_else_is_real(value):
    assert not numbers.is_real(value)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: numbers.require_whole("inner", 0, 1), "Given: inner=0. Needed: a whole number of at least 1."),
        (lambda: numbers.require_whole("inner", 0, 1), "Do: leave inner out for its default."),
        (lambda: numbers.require_whole("inner", 2.0, 1, "ask a friend"), "Do: ask a friend."),
        (lambda: numbers.require_seed(-1), "Given: seed=-1. Needed: a whole number of at least 0."),
        (lambda: numbers.require_positive("radius", 0), "Given: radius=0. Needed: a positive number."),
        (lambda: numbers.require_positive("radius", np.nan), "Missing: a valid radius."),
    ],
)
def test_a_refusal_has_four_parts(call, expected):
    with pytest.raises(gnp.InputError) as error:
        call()
    assert expected in str(error.value)
