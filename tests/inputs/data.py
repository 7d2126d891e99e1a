"""Data and starts of every kind that people have lying around."""

from decimal import Decimal
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse

import gnpolyak as gnp
from inputs.cases import DATA, X0, found, honest, problem, refused, solve, works


class Unwilling:
    """Something that looks like an array and then does not want to be one."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("not today")


def constant(b):
    return lambda: np.asarray(gnp.L1(b).b)


def like_data(b):
    return b.shape == (2,) and b.dtype == np.float64 and np.array_equal(b, DATA)


REFUSED = {
    "None": (None, "NoneType", "pass"),
    "text": ("8, 27", "str", "convert"),
    "strings": (["8", "27"], "list", "convert"),
    "bytes": (b"8", "bytes", "convert"),
    "an object array": (np.array([8.0, None], object), "object", "dtype=float"),
    "Decimals": ([Decimal(8), Decimal(27)], "list", "dtype=float"),
    "Fractions": ([Fraction(8), Fraction(27)], "list", "dtype=float"),
    "10**400": ([10**400, 1], "list", "dtype=float"),
    "ragged": ([[8.0], [27.0, 1.0]], "rectangular", "shape|length|convert"),
    "a dict": ({"b": DATA}, "dict", ""),
    "a set": ({8.0, 27.0}, "set", ""),
    "a generator": ((y for y in DATA), "generator", "list"),
    "a function": (np.sin, "ufunc", ""),
    "an object": (object(), "object", ""),
    "sparse": (scipy.sparse.csr_array(DATA[None]), "sparse|csr", r"toarray"),
    "dates": (np.array(["2020-01-01"], "datetime64[D]"), "datetime64|ndarray", ""),
    "times": (np.array([1, 2], "timedelta64[s]"), "timedelta64|ndarray", ""),
    "a record array": (np.zeros(2, [("y", float)]), "ndarray", "field|convert"),
    "NaN": ([8.0, np.nan], "1 of 2 entries NaN", "isfinite"),
    "inf": ([np.inf, 27.0], "1 of 2 entries NaN or infinite", "isfinite"),
    "only NaN": (np.full(2, np.nan), "2 of 2", ""),
    "complex": (DATA + 1j, "complex", "real"),
    "float16": (DATA.astype(np.float16), "float16", "float64"),
    "longdouble": (DATA.astype(np.longdouble), "float", "float64"),
    "bfloat16": (jnp.asarray(DATA, jnp.bfloat16), "bfloat16", "float64"),
    "masked": (np.ma.masked_greater(DATA, 9), "1 masked entry", "compressed"),
    "all masked": (np.ma.masked_all(2), "2 masked entries", "compressed"),
    "a random key": (jax.random.key(0), "key", ""),
    "unwilling": (Unwilling(), "Unwilling", ""),
    "empty": ([], "empty|without any number", "data|x0"),
    "empty rows": (np.zeros((2, 0)), "empty|no entry|no data", "data"),
}
KINDS = {
    **{
        f"{kind} of {name}": refused(lambda make=make, b=b: make(b), says, advises)
        for kind, make in {"L1": gnp.L1, "L2": gnp.L2, "Amplitude": gnp.Amplitude}.items()
        for name, (b, says, advises) in REFUSED.items()
        if kind == "L1" or name in ("None", "strings", "sparse", "NaN", "masked", "empty", "a generator")
    },
    "ints": works(constant([8, 27]), like_data),
    "uint8": works(constant(np.array([8, 27], np.uint8)), like_data),
    "int64 JAX": works(constant(jnp.asarray([8, 27])), like_data),
    "big-endian": works(constant(DATA.astype(">f8")), like_data),
    "Fortran": works(constant(np.asfortranarray(DATA)), like_data),
    "a view": works(constant(np.array([8.0, 0.0, 27.0])[::2]), like_data),
    "a tuple": works(constant((8.0, 27.0)), like_data),
    "a range": works(constant(range(2)), lambda b: np.array_equal(b, [0.0, 1.0])),
    "NumPy scalars": works(constant([np.float32(8), np.int8(27)]), lambda b: np.array_equal(b, DATA)),
    "a memoryview": works(constant(memoryview(DATA)), like_data),
    "bools": works(constant([True, False]), lambda b: np.array_equal(b, [1.0, 0.0])),
    "a number": works(constant(8.0), lambda b: b.shape == () and b == 8.0),
    "nothing masked": works(constant(np.ma.array(DATA, mask=False)), like_data),
    "1e308": works(constant([1e308, -1e308]), lambda b: np.array_equal(b, [1e308, -1e308])),
    "5e-324": works(constant([5e-324, 0.0]), lambda b: b[0] == 5e-324),
}


def start(x0, model=None):
    return solve(x0=x0)


STARTS = {
    **{
        name: refused(start(x0), says, advises)
        for name, (x0, says, advises) in REFUSED.items()
        if name not in ("None", "a dict", "a function", "complex", "a generator", "a set", "all masked", "empty rows")
    },
    "None": refused(start(None), "no x0", "x0"),
    "of None": refused(start([None, 1.0]), "x0", ""),
    "an empty tree": refused(start(()), "x0", "array"),
    "an empty dict": refused(start({}), "x0", "array"),
    "a dict": refused(start({"x": X0}), "dict|trace", ""),
    "complex": refused(start(X0 + 1j), "complex", "real|x0|Amplitude"),
    "a function": refused(start(np.sin), "x0", ""),
    "a generator": refused(start(y for y in X0), "x0", ""),
    "too short": refused(start(np.ones(1)), r"shape \(1,\)", "reshape"),
    "too long": refused(start(np.ones(3)), r"shape \(3,\)", "reshape"),
    "a number": refused(start(1.5), r"shape \(\)", "reshape"),
    "a column": refused(start(X0[:, None]), r"shape \(2, 1\)", "reshape"),
    "ints": works(start([1, 2]), found),
    "bools": works(start([True, True]), honest),
    "a list": works(start([1.5, 2.5]), found),
    "a tuple of numbers": refused(start((1.5, 2.5)), "tuple|trace", "array|list"),
    "JAX": works(start(jnp.asarray([1.5, 2.5])), lambda res: isinstance(res.x, jax.Array) and found(res)),
    "float32": works(start(X0.astype(np.float32)), lambda res: res.x.dtype == np.float64 and found(res)),
    "read-only": works(start(np.broadcast_to(2.5, 2)), found),
    "the truth": works(start(np.array([2.0, 3.0])), found),
    "zero": works(start(np.zeros(2)), honest),
    "1e300": works(start(np.full(2, 1e300)), lambda res: not res.success),
    "1e-300": works(start(np.full(2, 1e-300)), honest),
    # The derivative with respect to the first is zero there: what is found is the best of the second.
    "-0.0": works(start(np.array([-0.0, 2.5])), lambda res: honest(res) or res.status is gnp.Status.CERTIFIED),
}
SCALES = {
    f"times {scale:g}": works(
        solve(b=scale * DATA, x0=np.cbrt(scale) * X0),
        lambda res, scale=scale: not res.success or np.allclose(res.x / np.cbrt(scale), [2.0, 3.0], rtol=1e-4),
    )
    for scale in (1e-300, 1e-100, 1e-30, 1e-12, 1e12, 1e30, 1e100, 1e300)
}
SHAPES = {
    "b of another shape": refused(solve(b=np.ones(3)), r"b of shape \(3,\)", "reshape"),
    "b a number": refused(solve(b=1.0), r"b of shape \(\)", "nothing is broadcast"),
    "b a column": refused(solve(b=DATA[:, None]), r"b of shape \(2, 1\)", "reshape"),
    "zero dimensions": works(
        lambda: gnp.minimize(problem(8.0), 1.5), lambda res: res.success and res.x.shape == () and abs(res.x - 2) < 1e-6
    ),
    "no variables": refused(solve(x0=np.zeros(0)), "x0", "at least one|variable"),
    "no variables in a leaf": refused(solve(x0=(X0, np.zeros(0))), "x0", ""),
}

CASES = {"b": KINDS, "x0": STARTS, "scale": SCALES, "shape": SHAPES}
