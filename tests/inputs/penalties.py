"""Penalties of one's own that go wrong, and constructors with absurd arguments."""

from decimal import Decimal

import jax
import jax.numpy as jnp
import numpy as np

import gnpolyak as gnp
from inputs.cases import DATA, NOT_NUMBERS, X0, cube, each, honest, named, refused, works


def absolute(z):
    return jnp.sum(jnp.abs(z - DATA))


def slope(z):
    return jnp.sign(z - DATA)


def own(value=absolute, subgradient=slope, infimum=0.0, args=()):
    return lambda: gnp.minimize(
        gnp.composite(cube, gnp.CustomPenalty(value, subgradient, args=args, infimum=infimum)), X0, max_calls=300
    )


def raising(error):
    def value(z):
        raise error

    return value


@jax.custom_vjp
def reverse_only(z):
    return absolute(z)


reverse_only.defvjp(lambda z: (absolute(z), z), lambda z, v: (v * slope(z),))

VALUES = {
    "right": works(own(), lambda res: res.value < 1e-6 and honest(res)),
    "a custom_vjp": works(own(reverse_only), lambda res: res.value < 1e-6 and honest(res)),
    "a float": refused(own(lambda z: 1.0), "float", "computed from"),
    "a vector": refused(own(jnp.abs), "a value of shape", "sum"),
    "a tuple": refused(own(lambda z: (absolute(z), 1.0)), "tuple", "one array"),
    "None": refused(own(lambda z: None), "None", "return"),
    "text": refused(own(lambda z: "low"), "str", ""),
    "complex": refused(own(lambda z: absolute(z) * 1j), "complex", "real"),
    "an int": refused(own(lambda z: jnp.sum(z).astype(int)), "int", "float"),
    "float32": refused(own(lambda z: absolute(z).astype(jnp.float32)), "float32", "astype|float64"),
    "raises": refused(own(raising(ValueError("too cold"))), "ValueError: too cold", "", ValueError),
    "raises without a message": refused(own(raising(KeyError())), "KeyError", "", KeyError),
    "NumPy": refused(own(lambda z: np.abs(np.asarray(z)).sum()), "Tracer", "jax.numpy"),
    "a branch": refused(own(lambda z: absolute(z) if z[0] > 0 else 0.0), "Tracer", "where|cond"),
    "NaN": works(own(lambda z: absolute(z) * jnp.nan), lambda res: not res.success),
    "too few arguments": refused(own(lambda: 0.0), "argument", "argument"),
    "too many arguments": refused(own(lambda z, b: 0.0), "argument", "args"),
    "not a function": refused(own(value=3.0), "float", "function"),
    "no function": refused(own(value=None), "NoneType", "function"),
}
SUBGRADIENTS = {
    "a number": refused(own(subgradient=lambda z: 1.0), "float", "computed from"),
    "too long": refused(own(subgradient=lambda z: jnp.ones(3)), r"a subgradient of shape \(3,\)", "one number"),
    "a tuple": refused(own(subgradient=lambda z: (slope(z),)), "tuple", "one number|array"),
    "None": refused(own(subgradient=lambda z: None), "None", "return"),
    "complex": refused(own(subgradient=lambda z: slope(z) + 0j), "complex", "real"),
    "ints": refused(own(subgradient=lambda z: slope(z).astype(int)), "int", "float"),
    "float32": refused(own(subgradient=lambda z: slope(z).astype(jnp.float32)), "float32", "astype|float64"),
    "raises": refused(own(subgradient=raising(OSError("gone"))), "OSError: gone", "", OSError),
    "not a function": refused(own(subgradient=np.ones(2)), "ndarray", "function"),
    "no function": refused(own(subgradient=None), "NoneType", "function"),
    "args=b": refused(own(args=DATA), "args of type ndarray", r"args=\(data,\)"),
    "NaN": works(own(subgradient=lambda z: z * jnp.nan), lambda res: not res.success),
    "zero": works(own(subgradient=jnp.zeros_like), lambda res: not res.success),
}
INFIMA = each({**NOT_NUMBERS, "Decimal": Decimal(0)}, lambda value: own(infimum=value)(), "infimum", "infimum|leave")

KINDS = {
    "of no penalty": refused(lambda: gnp.composite(cube, None), "NoneType", "CustomPenalty|L1"),
    "of a class": refused(lambda: gnp.composite(cube, gnp.L1), "L1", r"L1\(b\)"),
    "of data": refused(lambda: gnp.composite(cube, DATA), "ndarray", r"L1\(b\)"),
    "of text": refused(lambda: gnp.composite(cube, "l1"), "str", r"L1\(b\)"),
    "weights of another shape": refused(lambda: gnp.L1(DATA, weights=np.ones(3)), r"weights of shape \(3,\)", "like b"),
    "weights negative": refused(lambda: gnp.L1(DATA, weights=[-1.0, 1.0]), "smallest is -1", "0 for those"),
    "weights NaN": refused(lambda: gnp.L1(DATA, weights=[np.nan, 1.0]), "weights with 1 of 2", ""),
    "weights text": refused(lambda: gnp.L2(DATA, weights=["a", "b"]), "weights", "convert"),
    "weights masked": refused(lambda: gnp.L1(DATA, np.ma.masked_less(DATA, 9)), "weights with 1 masked", ""),
    "weights all zero": refused(
        lambda: gnp.minimize(gnp.composite(cube, gnp.L1(DATA, np.zeros(2))), X0), "weights", "positive|above 0"
    ),
    "weights a number": refused(lambda: gnp.L1(DATA, weights=1.0), r"weights of shape \(\)", "like b"),
    "weights bool": works(
        lambda: gnp.L1(DATA, weights=[True, False]).rows.weights, lambda w: np.array_equal(w, [1, 0])
    ),
    "axis text": refused(lambda: gnp.L21(np.ones((2, 2)), axis="rows"), "axis='rows'", "axis=-1"),
    "axis too large": refused(lambda: gnp.L21(np.ones((2, 2)), axis=2), "axis=2", "axis=-1"),
    "axis twice": refused(lambda: gnp.L21(np.ones((2, 2)), axis=(0, 0)), r"axis=\(0, 0\)", ""),
    "axis None": refused(lambda: gnp.L21(np.ones((2, 2)), axis=None), "axis=None", "axis=-1"),
    "axis a float": refused(lambda: gnp.L21(np.ones((2, 2)), axis=1.0), "axis=1.0", ""),
    "axis an array": refused(lambda: gnp.L21(np.ones((2, 2)), axis=np.array([0, 1])), "axis=", "tuple|axis=-1"),
    "axis of a number": refused(lambda: gnp.L21(3.0), "0 axes", ""),
    "groups of another shape": refused(lambda: gnp.L21(DATA, groups=[0]), r"groups of shape \(1,\)", "like b"),
    "groups of floats": refused(lambda: gnp.L21(DATA, groups=[0.0, 1.0]), "dtype float64", "like b"),
    "groups ragged": refused(lambda: gnp.L21(DATA, groups=[[0], [0, 1]]), "groups", "one length"),
    "groups masked": refused(lambda: gnp.L21(DATA, groups=np.ma.masked_equal([0, 1], 0)), "groups with 1 masked", ""),
    "groups text": refused(lambda: gnp.L21(DATA, groups=["a", "b"]), "groups", "whole"),
    **named("quantile", each({**NOT_NUMBERS, "0": 0.0, "1": 1, "-1": -1}, lambda q: gnp.Pinball(DATA, q), "quantile")),
}

CASES = {"value": VALUES, "subgradient": SUBGRADIENTS, "infimum": INFIMA, "penalty": KINDS}
