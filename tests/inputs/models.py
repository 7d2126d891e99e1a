"""Models that return, raise or compute something else than a smooth array."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import gnpolyak as gnp
from inputs.cases import DATA, X0, found, honest, problem, refused, solve, works


class OutOfRangeError(Exception):
    """A user's own exception, without a message."""


def raising(error):
    def model(x):
        raise error

    return model


@jax.custom_vjp
def reverse_only(x):
    return x**3


reverse_only.defvjp(lambda x: (x**3, x), lambda x, v: (3 * x**2 * v,))


@jax.custom_jvp
def forward_stated(x):
    return x**3


forward_stated.defjvp(lambda p, t: (p[0] ** 3, 3 * p[0] ** 2 * t[0]))


def looped(x):
    return lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, s[1] * x), (0, x))[1]


def counted(x):
    return lax.fori_loop(0, 2, lambda k, y: y * x, x)


def on_the_host(x):
    return jax.pure_callback(lambda y: np.asarray(y) ** 3, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


@jax.custom_jvp
def failing_there(x):
    return jax.pure_callback(unlucky, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


failing_there.defjvp(lambda p, t: (failing_there(*p), 3 * p[0] ** 2 * t[0]))


def unlucky(x):
    raise LookupError("no such temperature")


def branching(x):
    return x**3 if x[0] > 0 else x


def bad(model, says, advises="", cause=None, options="auto"):
    return refused(solve(options, model=model), says, advises, cause)


def endless(x):
    return endless(x)


def with_args(args, function=lambda x, t: x**3 * t):
    return lambda: gnp.minimize(gnp.composite(function, gnp.L1(DATA), args=args), X0)


RETURNS = {
    "returns a float": bad(lambda x: 1.0, "float", "computed from"),
    "returns an int": bad(lambda x: 7, "int", "computed from"),
    "returns ints": bad(lambda x: jnp.round(x).astype(int), "int", "float"),
    "returns bools": bad(lambda x: x > 1, "bool", "float"),
    "returns complex": bad(lambda x: x + 1j, "complex", "real|Amplitude|Parts|both parts"),
    "returns a tuple": bad(lambda x: (x, x), "tuple", "concatenate"),
    "returns a list": bad(lambda x: [x, x], "list", "concatenate|stack"),
    "returns a list of one": bad(lambda x: [x], "list", "array"),
    "returns a dict": bad(lambda x: {"y": x}, "dict", "array"),
    "returns None": bad(lambda x: None, "None", "return"),
    "returns text": bad(lambda x: "y", "str", "array|number"),
    "returns an object": bad(lambda x: object(), "object", "array|number"),
    "returns float32": bad(lambda x: (x**3).astype(jnp.float32), "float32", "astype|float64"),
    "returns float16": bad(lambda x: (x**3).astype(jnp.float16), "float16", "astype|float64"),
    "returns bfloat16": bad(lambda x: (x**3).astype(jnp.bfloat16), "bfloat16", "astype|float64"),
    "returns nothing of x": bad(lambda x: jnp.zeros(0), r"shape \(0,\)", "reshape"),
    "returns a scalar": bad(jnp.sum, r"shape \(\)", "reshape"),
    "returns a matrix": bad(lambda x: jnp.outer(x, x), r"shape \(2, 2\)", "reshape"),
    "returns a column": bad(lambda x: x[:, None], r"shape \(2, 1\)", "reshape"),
    "returns too many": bad(lambda x: jnp.concatenate([x, x]), r"shape \(4,\)", "reshape"),
    "returns a NumPy constant": works(solve(model=lambda x: DATA), lambda res: honest(res) or res.value == 0.0),
    "returns a generator": bad(lambda x: (2 * y for y in x), "generator", "array"),
}

RAISES = {
    "raises": bad(raising(ValueError("too hot")), "ValueError: too hot", "", ValueError),
    "raises without a message": bad(raising(ValueError()), "ValueError", "", ValueError),
    "raises its own": bad(raising(OutOfRangeError()), "OutOfRangeError", "", OutOfRangeError),
    "raises on two lines": bad(raising(RuntimeError("first\nsecond")), "RuntimeError: first", "", RuntimeError),
    "raises an empty line first": bad(raising(RuntimeError("\nsecond")), "RuntimeError: second", "", RuntimeError),
    "raises a KeyError": bad(raising(KeyError("rate")), "KeyError: 'rate'", "", KeyError),
    "raises an assertion": bad(raising(AssertionError()), "AssertionError", "", AssertionError),
    "raises StopIteration": bad(raising(StopIteration()), "StopIteration", "", StopIteration),
    "is not implemented": bad(raising(NotImplementedError()), "NotImplementedError", "", NotImplementedError),
    "divides by zero": bad(lambda x: x / (1 // 0), "ZeroDivisionError", "", ZeroDivisionError),
    "has a typing error": bad(lambda x: xx, "NameError", "", NameError),  # noqa: F821
    "uses an index too many": bad(lambda x: x[0, 0], "IndexError|TypeError", ""),
    "unpacks too many": bad(lambda x: divmod(*x, 1.0, 2.0), "TypeError", "", TypeError),
    "takes no argument": bad(lambda: 1.0, "TypeError", "argument", TypeError),
    "takes two arguments": bad(lambda x, t: x * t, "argument", "args", TypeError),
    "recurses": bad(endless, "RecursionError", "", RecursionError),
}

TRACES = {
    "NumPy's exp": bad(lambda x: np.exp(np.asarray(x)), "Tracer", "jax.numpy"),
    "Python's math": bad(lambda x: x * __import__("math").exp(x[0]), "Tracer|Concretization", "jax.numpy"),
    "a branch on x": bad(branching, "Tracer", r"jax.numpy.where|jax.lax.cond"),
    "a loop until x": bad(lambda x: [x := x * 2 for _ in range(int(x[0]))], "Tracer|Concretization", "jax"),
    "a mask of x": bad(lambda x: x[x > 0], "NonConcreteBooleanIndex|Concret", "where"),
    "writes into x": bad(lambda x: x.__setitem__(0, 1.0), "TypeError|immutable", r"\.at\["),
    "shapes that do not fit": bad(lambda x: x @ jnp.ones(5), "TypeError|ValueError", "shape"),
    "custom_vjp": works(solve(model=reverse_only), found),
    "custom_vjp under gnp": bad(reverse_only, "custom_vjp", "custom_jvp", options="gnp"),
    "custom_vjp under polyak": works(solve("polyak", model=reverse_only, target=0.0, max_calls=300), honest),
    "custom_jvp": works(solve(model=forward_stated), found),
    "while_loop": works(solve(model=looped), found),
    "while_loop under polyak": bad(looped, "while_loop", "scan|fori_loop", options="polyak"),
    "fori_loop": works(solve(model=counted), found),
    "pure_callback": bad(on_the_host, "[Cc]allback", "custom_jvp|jax.numpy"),
    "a host that raises": bad(failing_there, "LookupError: no such temperature", "host|call the function"),
    "stops the gradient": works(solve(model=lambda x: lax.stop_gradient(x) ** 3), honest),
    "is jitted": works(solve(model=jax.jit(lambda x: x**3)), found),
    "NaN everywhere": works(solve(model=lambda x: jnp.sqrt(-(x**2) - 1)), lambda res: not res.success),
    "infinite everywhere": works(solve(model=lambda x: x / 0), lambda res: not res.success),
}

ARGS = {
    "args=None": refused(with_args(None), "args of type NoneType", r"args=\(|leave"),
    "args an array": refused(with_args(np.ones(2)), "args of type ndarray", r"args=\(data,\)"),
    "args a number": refused(with_args(1.0), "args of type float", r"args=\(data,\)"),
    "args text": refused(with_args("t"), "args of type str", r"args=\("),
    "args a dict": refused(with_args({"t": 1.0}), "args of type dict", r"args=\("),
    "args a generator": refused(with_args(iter([1.0])), "args of type", r"args=\("),
    "args a set": refused(with_args({1.0}), "args of type set", r"args=\("),
    "args a list": works(with_args([np.ones(2)]), found),
    "args too few": refused(with_args(()), "argument", "args"),
    "args too many": refused(with_args((1.0, 2.0)), "argument", "args"),
    "args with text": refused(with_args(("ten",)), r"args\[0\]", "convert"),
    "args with None": refused(with_args((None,)), "NoneType|None", ""),
    "args with NaN": refused(with_args((np.nan,)), r"args\[0\] with 1 of 1", "isfinite"),
    "args with an object array": refused(with_args((np.array([None, 1.0]),)), r"args\[0\]", "dtype=float"),
    "args with a date": refused(with_args((np.datetime64("2020-01-01"),)), r"args\[0\]", ""),
    "args of another length": refused(with_args((np.ones(5),)), "shape|TypeError", "shape"),
    "model None": refused(lambda: problem(model=None), "model of type NoneType", "function"),
    "model text": refused(lambda: problem(model="x**3"), "model of type str", "function"),
    "model an array": refused(lambda: problem(model=np.eye(2)), "model of type ndarray", "Linear|function"),
    "model a class of map": refused(lambda: problem(model=gnp.LowRank), "LowRank", r"LowRank\(\)"),
    "model a problem": refused(lambda: gnp.composite(problem(), gnp.L1(DATA)), "Composite", "map|function"),
    "model a penalty": refused(lambda: gnp.composite(gnp.L1(DATA), gnp.L1(DATA)), "L1", ""),
}

CASES = {"model": {**RETURNS, **RAISES, **TRACES}, "args": ARGS}
