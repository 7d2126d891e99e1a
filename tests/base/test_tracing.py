"""Functions known by what they compute: the same program for the same computation, and never for another one."""

import gc
import pickle
import resource

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gnpolyak.base import tracing
from gnpolyak.base.data import Data, Function

X = np.array([0.7, -1.3, 2.1])


def settled(function, *args, at=X):
    with jax.enable_x64(True):
        return tracing.settled(Function(function, Data.of(args)), jnp.asarray(at))


def same(f, g, **options):
    return settled(f, **options).function is settled(g, **options).function


def linear(a):
    return lambda x: a @ x


def within(a):
    inner = jax.jit(linear(a))
    return lambda x: inner(x) + 1.0


def shift(c):
    return lambda x: x + c


def doubled(v):
    return 2 * v


def test_captured_arrays_are_numbers_of_the_program_and_not_part_of_it():
    a, b = np.eye(3), np.arange(9.0).reshape(3, 3)
    first, second = settled(linear(a)), settled(linear(b))
    assert first.function is second.function
    with jax.enable_x64(True):
        assert np.array_equal(first(X), a @ X)
        assert np.allclose(second(X), b @ X, rtol=1e-15)


def test_what_is_settled_does_not_change_when_what_was_captured_does():
    a = np.eye(3)
    before = settled(linear(a))
    a *= 5
    with jax.enable_x64(True):
        assert np.array_equal(before(X), X)
        assert np.array_equal(settled(linear(a))(X), 5 * X)


DIFFERENT = {
    "a number": (shift(1.0), shift(2.0)),
    "the sign of zero": (lambda x: x * 0.0, lambda x: x * -0.0),
    "the type of a number": (lambda x: jnp.full(3, 1) * 1 + 0 * x, lambda x: jnp.full(3, 1.0) * 1 + 0 * x),
    "an operation": (jnp.sin, jnp.cos),
    "a parameter": (lambda x: x**2, lambda x: x**3),
    "an axis": (lambda x: jnp.cumsum(jnp.outer(x, x), 0), lambda x: jnp.cumsum(jnp.outer(x, x), 1)),
    "the wiring": (lambda x: x - jnp.sin(x), lambda x: jnp.sin(x) - x),
    "the shape of what is captured": (shift(np.ones(3)), shift(np.ones(1))),
    "the type of what is captured": (shift(np.ones(3)), shift(np.ones(3, np.float32))),
    "what a loop does": (
        lambda x: jax.lax.fori_loop(0, 3, lambda i, x: x + 1.0, x),
        lambda x: jax.lax.fori_loop(0, 3, lambda i, x: x + 2.0, x),
    ),
    "a branch": (
        lambda x: jax.lax.cond(x[0] > 0, jnp.sin, jnp.cos, x),
        lambda x: jax.lax.cond(x[0] > 0, jnp.cos, jnp.sin, x),
    ),
    "an array within a compiled function": (within(np.eye(3)), within(2 * np.eye(3))),
    "a callback": (
        lambda x, f=lambda v: 2 * v: jax.pure_callback(f, x, x),
        lambda x, f=lambda v: 3 * v: jax.pure_callback(f, x, x),
    ),
    "the structure of the answer": (lambda x: (x,), lambda x: [x]),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_other_computations_are_other_programs(name):
    assert not same(*DIFFERENT[name])
    assert same(DIFFERENT[name][0], DIFFERENT[name][0])


EQUAL = {
    "two lambdas": (lambda x: jnp.exp(x) - 2.0, lambda y: jnp.exp(y) - 2.0),
    "with and without jit": (lambda x: jnp.sin(x), jax.jit(lambda x: jnp.sin(x))),  # noqa: PLW0108
    "loops": tuple((lambda x: jax.lax.fori_loop(0, 3, lambda i, x: x + 1.0, x)) for _ in range(2)),
    "one callback": tuple((lambda x: jax.pure_callback(doubled, x, x)) for _ in range(2)),
}


@pytest.mark.parametrize("name", EQUAL)
def test_equal_computations_are_one_program(name):
    assert same(*EQUAL[name])


def test_other_shapes_and_precisions_are_other_programs():
    assert not same_at(X, X[:2])
    assert not same_at(X, X.astype(np.float32))


def same_at(x, y):
    return settled(jnp.sin, at=x).function is settled(jnp.sin, at=y).function


def with_rule(slope):
    """The identity, with a derivative of its own that reads an array."""

    @jax.custom_jvp
    def f(x):
        return x * 1.0

    f.defjvp(lambda primals, tangents: (f(*primals), slope * tangents[0]))
    return f


def test_stated_derivatives_are_kept_and_seen_to_change():
    slope = np.array([1.0, 2.0, 3.0])
    f = with_rule(slope)
    before, again = settled(f), settled(f)
    assert before.function is again.function
    with jax.enable_x64(True):
        assert np.array_equal(jax.jvp(before, (X,), (np.ones(3),))[1], [1.0, 2.0, 3.0])
        slope *= 2
        after = settled(f)
        assert after.function is not before.function
        assert np.array_equal(jax.jvp(after, (X,), (np.ones(3),))[1], [2.0, 4.0, 6.0])
        assert np.array_equal(jax.grad(lambda x: after(x).sum())(X), [2.0, 4.0, 6.0])
    assert settled(with_rule(slope)).function is not after.function


def test_a_stated_pullback_is_kept():
    f = jax.custom_vjp(lambda x: x * 1.0)
    f.defvjp(lambda x: (f(x), None), lambda _, v: (7.0 * v,))
    assert same(f, f)
    with jax.enable_x64(True):
        assert np.array_equal(jax.grad(lambda x: settled(f)(x).sum())(X), [7.0] * 3)


def test_a_function_that_cannot_be_traced_stays_as_it_is():
    assert settled(np.linalg.svd).function is np.linalg.svd


def test_a_program_refuses_other_shapes():
    with pytest.raises(TypeError, match=r"traced for arguments of shapes \[\(3,\)\]"):
        settled(jnp.sin)(X[:2])


def test_a_program_survives_a_process_pool():
    sent = pickle.loads(pickle.dumps(settled(doubled)))
    assert sent.function is settled(doubled).function


def test_the_table_is_bounded_and_what_was_dropped_still_runs(monkeypatch):
    monkeypatch.setattr(tracing, "MOST_PROGRAMS", 8)
    first = settled(shift(0.5))
    for number in range(20):
        settled(shift(float(number)))
    assert len(tracing._programs) == 8
    with jax.enable_x64(True):
        assert np.array_equal(first(X), X + 0.5)
    assert settled(shift(0.5)).function is not first.function


def test_many_closures_of_one_code_take_no_memory():
    def round_of(count):
        for seed in range(count):
            settled(linear(np.full((300, 3), float(seed))))
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    held = len(tracing._programs)
    first = round_of(100)
    assert len(tracing._programs) <= held + 1
    assert round_of(300) - first < 20_000  # kilobytes; 300 captured arrays alone would be 2,100, their traces more
