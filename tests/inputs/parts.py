"""Maps and measurements with absurd arguments, and variables that do not fit them."""

import jax.numpy as jnp
import numpy as np
import scipy.sparse

import gnpolyak as gnp
from inputs.cases import NOT_COUNTS, each, named, refused, works

ONES = np.ones((3, 2))
NAN = np.array([[np.nan, 1.0]])
MASKED = np.ma.masked_equal([[0.0, 1.0]], 0)
TEXT = np.array([["a", "b"]])


def at(c, x0, b=(1.0, 1.0), sensing=None):
    return lambda: gnp.minimize(gnp.composite(c, gnp.L1(b), sensing=sensing), x0)


SIZES = {
    **named("SymmetricCP", each({**NOT_COUNTS, "1": 1, "None": None}, gnp.SymmetricCP, "n", "n=2")),
    **named(
        "Linear",
        {
            "None": refused(lambda: gnp.Linear(None), "a of type NoneType", ""),
            "text": refused(lambda: gnp.Linear(TEXT), "a of type", "convert"),
            "a vector": refused(lambda: gnp.Linear(np.ones(2)), r"a of shape \(2,\)", "None"),
            "a number": refused(lambda: gnp.Linear(3.0), r"a of shape \(\)", ""),
            "empty": refused(lambda: gnp.Linear(np.ones((0, 2))), r"a of shape \(0, 2\)", ""),
            "sparse": refused(lambda: gnp.Linear(scipy.sparse.eye_array(3)), "sparse|dia", "toarray"),
            "NaN": refused(lambda: gnp.Linear(NAN), "a with 1 of 2", ""),
            "masked": refused(lambda: gnp.Linear(MASKED), "a with 1 masked", ""),
            "bool": works(lambda: gnp.Linear(np.eye(2, dtype=bool)).a, lambda a: np.array_equal(a, np.eye(2))),
            "x0 of another length": refused(at(gnp.Linear(ONES), np.ones(3), np.ones(3)), r"shape \(3,\)", "x0"),
            "x0 a dict": refused(at(gnp.Linear(ONES), {"x": np.ones(2)}, np.ones(3)), "dict", "x0"),
            "all zero": works(at(gnp.Linear(np.zeros((3, 2))), None, np.ones(3)), lambda res: res.value == 3.0),
        },
    ),
    **named(
        "RelativeRotations",
        {
            "nothing": refused(lambda: gnp.RelativeRotations([], []), "shapes", ""),
            "floats": refused(lambda: gnp.RelativeRotations([0.0], [1.0]), "dtypes float64", ""),
            "text": refused(lambda: gnp.RelativeRotations("a", "b"), "dtypes", ""),
            "None": refused(lambda: gnp.RelativeRotations(None, None), "dtypes object", ""),
            "unequal": refused(lambda: gnp.RelativeRotations([0, 1], [1]), "shapes", ""),
            "ragged": refused(lambda: gnp.RelativeRotations([[0], [1, 2]], [[0], [1, 2]]), "i ", ""),
            "negative": refused(lambda: gnp.RelativeRotations([-1], [1]), "-1", "from 0"),
            "with itself": refused(lambda: gnp.RelativeRotations([1], [1]), "itself", "leave out"),
            "masked": refused(lambda: gnp.RelativeRotations(np.ma.masked_equal([0, 1], 0), [1, 2]), "masked", ""),
            "n too small": refused(lambda: gnp.RelativeRotations([0], [3], n=2), "3", ""),
            **named("n", each(NOT_COUNTS, lambda n: gnp.RelativeRotations([0], [1], n=n), "n=|n of", "n")),
            "x0 zero": refused(
                at(gnp.RelativeRotations([0], [1]), np.zeros((2, 4)), np.ones((1, 3, 3))), "zero quaternion", ""
            ),
        },
    ),
    **named(
        "Stack",
        {
            "nothing": refused(gnp.Stack, r"Stack\(\)", "Stack"),
            "text": refused(lambda: gnp.Stack("a"), "str", ""),
            "a class": refused(lambda: gnp.Stack(gnp.LowRank), "LowRank", r"LowRank\(\)"),
            "x0 not a tuple": refused(at(gnp.Stack(jnp.sin, jnp.cos), np.ones(2)), "Array|ArrayImpl|type|one", ""),
            "x0 too short": refused(at(gnp.Stack(jnp.sin, jnp.cos), (np.ones(2),)), "1|one", ""),
            "unequal images": refused(at(gnp.Stack(jnp.sin, jnp.cos), (np.ones(2), np.ones(3))), "shapes", ""),
        },
    ),
}

TREES = {
    "number": 1.0,
    "vector": np.ones(2),
    "triple": (np.ones((2, 1)),) * 3,
    "dict": {"u": np.ones((2, 1))},
    "unequal ranks": (np.ones((2, 1)), np.ones((2, 2))),
    "empty columns": (np.ones((2, 0)), np.ones((2, 0))),
    "nested": ((np.ones((2, 1)), np.ones((2, 1))),),
}


def fitting(c, names):
    return {
        f"{type(c).__name__} at {name}": refused(
            at(c, TREES[name], np.ones((2, 2))), "variable|shape|core|a ", "x0|factor"
        )
        for name in names
    }


VARIABLES = {
    **fitting(gnp.LowRank(), TREES),
    **fitting(gnp.CP(), [name for name in TREES if name != "triple"]),
    **fitting(gnp.Tucker(), TREES),
    **fitting(gnp.Hadamard(), TREES),
    **fitting(gnp.Hermitian(), TREES),
    **fitting(gnp.SymmetricCP(2), TREES),
}

POWER = {
    "p None": refused(lambda: gnp.PowerSensing(None), "p of type NoneType", ""),
    "p a vector": refused(lambda: gnp.PowerSensing(np.ones(3)), r"p of shape \(3,\)", "row"),
    "p empty": refused(lambda: gnp.PowerSensing(np.ones((0, 3))), r"p of shape \(0, 3\)", ""),
    "p text": refused(lambda: gnp.PowerSensing(TEXT), "p of type", ""),
    "p sparse": refused(lambda: gnp.PowerSensing(scipy.sparse.eye_array(3)), "p of type", "toarray"),
    "q of another shape": refused(lambda: gnp.PowerSensing(ONES, np.ones((2, 2))), "q of shape", ""),
    "q NaN": refused(lambda: gnp.PowerSensing(np.ones((1, 2)), NAN), "q with 1 of 2", ""),
    "storage text": refused(lambda: gnp.PowerSensing(ONES, storage="some"), "storage='some'", "leave storage"),
    "storage ints": refused(lambda: gnp.PowerSensing(ONES, storage=int), "storage", ""),
    "storage an object": refused(lambda: gnp.PowerSensing(ONES, storage=object()), "storage", ""),
    "storage 7": refused(lambda: gnp.PowerSensing(ONES, storage=7), "storage=7", ""),
    "p beyond float32": refused(
        lambda: gnp.PowerSensing(ONES * 1e200, storage=np.float32), "p", "storage|float64|scale"
    ),
    "x0 of another d": refused(
        at(gnp.SymmetricCP(2), np.ones((3, 1)), np.ones(3), gnp.PowerSensing(ONES)), "3 rows", "x0"
    ),
    "of LowRank": refused(at(gnp.LowRank(), (ONES, ONES), np.ones(3), gnp.PowerSensing(ONES)), "power_forms", "map"),
    "complex rows, real x": refused(
        at(gnp.SymmetricCP(2), np.ones((2, 1)), np.ones(3), gnp.PowerSensing(ONES * 1j)), "complex", "Hermitian"
    ),
}
BILINEAR = {
    "p None": refused(lambda: gnp.BilinearSensing(None, ONES), "p of type NoneType", ""),
    "unequal": refused(lambda: gnp.BilinearSensing(ONES, np.ones((2, 2))), "q of shape", "row"),
    "vectors": refused(lambda: gnp.BilinearSensing(np.ones(3), np.ones(3)), r"\(3,\)", "row"),
    "empty": refused(lambda: gnp.BilinearSensing(np.ones((0, 2)), np.ones((0, 2))), r"\(0, 2\)", ""),
    "complex": refused(lambda: gnp.BilinearSensing(ONES * 1j, ONES), "p with complex", ""),
    "storage": refused(lambda: gnp.BilinearSensing(ONES, ONES, storage="f2"), "storage='f2'", ""),
    "x0 of another d": refused(
        at(gnp.LowRank(), (np.ones((3, 1)), np.ones((2, 1))), np.ones(3), gnp.BilinearSensing(ONES, ONES)),
        "3 and 2",
        "",
    ),
}
ENTRIES = {
    "nothing": refused(gnp.Entries, "nothing", "Entries"),
    "None": refused(lambda: gnp.Entries(None), "Entries of object", ""),
    "floats": refused(lambda: gnp.Entries([0.0], [1.0]), "float64", "Entries"),
    "text": refused(lambda: gnp.Entries("a", "b"), "Entries of", ""),
    "ragged": refused(lambda: gnp.Entries([[0], [0, 1]], [0, 1]), "Entries|rectangular", ""),
    "unequal": refused(lambda: gnp.Entries([0, 1], [0]), "shape", ""),
    "negative": refused(lambda: gnp.Entries([-1], [0]), "below 0", ""),
    "beyond 32 bits": refused(lambda: gnp.Entries([2**40], [0]), "32 bits", ""),
    "no entry seen": refused(lambda: gnp.Entries(np.zeros((2, 2), bool)), "no entry", "mask"),
    "masked": refused(lambda: gnp.Entries(np.ma.masked_equal([0, 1], 0), [0, 1]), "masked", ""),
    "a masked mask": refused(lambda: gnp.Entries(np.ma.array([[True, True]], mask=[[True, False]])), "masked", ""),
    "a number": refused(lambda: gnp.Entries(0, 0), "shape", ""),
    "shape too small": refused(lambda: gnp.Entries([3], [3], shape=(2, 2)), r"shape=\(2, 2\)", "leave out"),
    "shape text": refused(lambda: gnp.Entries([3], [3], shape="big"), "shape='big'", ""),
    "shape a number": refused(lambda: gnp.Entries([3], [3], shape=4), "shape=4", ""),
    "shape of floats": refused(lambda: gnp.Entries([3], [3], shape=(4.0, 4.0)), "shape=", ""),
    "shape unhashable": refused(lambda: gnp.Entries([3], [3], shape=([4], [4])), "shape=", ""),
    "beyond the image": refused(
        at(gnp.LowRank(), (np.ones((2, 1)), np.ones((2, 1))), np.ones(1), gnp.Entries([5], [0])), r"\(6, 1\)", "x0"
    ),
    "one axis of a matrix": refused(
        at(gnp.LowRank(), (np.ones((2, 1)), np.ones((2, 1))), np.ones(1), gnp.Entries([1])), "image of shape", ""
    ),
}
LINEAR = {
    "None": refused(lambda: gnp.LinearSensing(None), "A of type NoneType", ""),
    "text": refused(lambda: gnp.LinearSensing("A"), "A of type str", ""),
    "one function": refused(lambda: gnp.LinearSensing(jnp.sum), "one function", "forward"),
    "a vector": refused(lambda: gnp.LinearSensing(np.ones(3)), r"A of shape \(3,\)", r"A\[None\]"),
    "a number": refused(lambda: gnp.LinearSensing(2.0), r"A of shape \(\)", ""),
    "empty": refused(lambda: gnp.LinearSensing(np.ones((0, 2))), r"A of shape \(0, 2\)", ""),
    "NaN": refused(lambda: gnp.LinearSensing(NAN), "A with 1 of 2", ""),
    "sparse NaN": refused(lambda: gnp.LinearSensing(scipy.sparse.csr_array(NAN)), "A with 1 of 2", ""),
    "sparse of objects": refused(lambda: gnp.LinearSensing(scipy.sparse.csr_array(np.eye(2, dtype=bool)[:0])), "A", ""),
    "sparse, one axis": refused(lambda: gnp.LinearSensing(scipy.sparse.coo_array(np.ones(3))), "A", ""),
    "a function and None": refused(lambda: gnp.LinearSensing((jnp.sum, None)), "A|adjoint", ""),
    "columns that do not fit": refused(
        at(lambda x: x, np.ones(2), np.ones(3), gnp.LinearSensing(np.ones((3, 5)))), "5 entries", "column|image"
    ),
    "forward raises": refused(
        at(lambda x: x, np.ones(2), np.ones(3), gnp.LinearSensing((lambda m: 1 // 0, jnp.sum))), "ZeroDivisionError", ""
    ),
    "adjoint of another shape": refused(
        at(lambda x: x, np.ones(2), np.ones(1), gnp.LinearSensing((lambda m: m[:1], lambda v: v))), "adjoint", ""
    ),
    "adjoint returns a tuple": refused(
        at(lambda x: x, np.ones(2), np.ones(2), gnp.LinearSensing((lambda m: m, lambda v: (v,)))), "adjoint|tuple", ""
    ),
    "forward returns None": refused(
        at(lambda x: x, np.ones(2), np.ones(2), gnp.LinearSensing((lambda m: None, lambda v: v))), "None", ""
    ),
}
PAULI = {
    **named("qubits", each({**NOT_COUNTS, "0": 0, "14": 14, "None": None}, gnp.PauliSensing, "qubits", "")),
    "no strings": refused(lambda: gnp.PauliSensing(2, []), "paulis", ""),
    "one string": refused(lambda: gnp.PauliSensing(2, "XX"), "paulis", ""),
    "too short": refused(lambda: gnp.PauliSensing(2, ["X"]), "'X'", ""),
    "another letter": refused(lambda: gnp.PauliSensing(2, ["XA"]), "'XA'", ""),
    "mixed": refused(lambda: gnp.PauliSensing(2, ["XX", 3]), "3", ""),
    "a number": refused(lambda: gnp.PauliSensing(2, 3), "paulis", ""),
    "floats": refused(lambda: gnp.PauliSensing(2, np.ones((1, 2))), "paulis", ""),
    "masks too large": refused(lambda: gnp.PauliSensing(2, [[4, 0]]), "paulis", ""),
    "masked": refused(lambda: gnp.PauliSensing(2, np.ma.masked_equal([[0, 1]], 0)), "masked", ""),
    "an image of another size": refused(
        at(lambda x: jnp.outer(x, x), np.ones(3), np.ones(16), gnp.PauliSensing(2)), r"\(3, 3\)", ""
    ),
}

CASES = {
    "map": SIZES,
    "variable": VARIABLES,
    "power": POWER,
    "bilinear": BILINEAR,
    "entries": ENTRIES,
    "linear": LINEAR,
    "pauli": PAULI,
}
