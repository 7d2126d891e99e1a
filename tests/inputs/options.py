"""The options of `minimize`, and the settings of rules and methods."""

from decimal import Decimal
from fractions import Fraction

import numpy as np

import gnpolyak as gnp
from inputs.cases import DATA, NOT_COUNTS, NOT_NUMBERS, X0, each, found, named, problem, refused, solve, works

WIDE = {**NOT_NUMBERS, "Decimal": Decimal("0.1"), "Fraction": Fraction(1, 10)}


def option(name, values, says="", advises="", **more):
    return named(name, each(values, lambda value: solve(**{name: value, **more})(), says or name, advises))


def but(values, *names):
    return {name: value for name, value in values.items() if name not in names}


OPTIONS = {
    **option("tol", {**WIDE, "-1": -1, "inf": float("inf")}, "tol", "tol"),
    **option("target", {**WIDE, "inf": float("inf")}, "target", "target|float"),
    **option("lower_bound", {**WIDE, "-inf": float("-inf")}, "bound", "bound|float"),
    **option("max_calls", {**but(NOT_COUNTS, "10**400", "10**5000"), "0": 0}, "max_calls", "max_calls"),
    **option("max_seconds", {**WIDE, "0": 0, "-1": -1}, "max_seconds", "max_seconds|float"),
    **option("inner", {**NOT_COUNTS, "0": 0, "None": None}, "inner", "inner", strategy="restart"),
    **option("outer", {"text": "x", "0": 0, "10**400": 10**400}, "outer", "outer", strategy="restart"),
    **option("cuts", but(NOT_COUNTS, "shapeless"), "cuts", "cuts", method="gnp"),
    **option("strategy", {"guess": "guess", "array": np.ones(2), "list": ["level"], "1": 1}, "strategy", "level"),
    **option(
        "method",
        {"adam": "adam", "3": 3, "array": np.array(["gnp", "gnp"]), "list": ["gnp"], "class": gnp.GNP, "empty": ""},
        "method",
        r"auto|GNP\(",
    ),
    **option("polish", {"yes": "yes", "1": 1, "None": None, "array": np.ones(2)}, "polish", "True"),
    **option("progress", {"yes": "yes", "array": np.ones(2)}, "progress", "True"),
    **option("callback", {"3": 3, "text": "print", "True": True}, "callback", "function"),
    **option("rank", {"3": 3, "text": "some", "array": np.ones(2)}, "rank", "rank|x0", x0=None),
    "max_calls: 10**400": works(solve(max_calls=10**400), found),
    "max_calls: NumPy": works(solve(max_calls=np.int64(500)), found),
    "max_seconds: inf": works(solve(max_seconds=float("inf")), found),
    "tol: NumPy": works(solve(tol=np.float32(1e-6)), found),
    "target: zero-dimensional": works(solve(target=np.array(0.0)), found),
    "target: NumPy": works(solve(target=np.float64(0.0)), found),
    "target too high": works(solve(target=5.0), lambda res: not res.success),
    "target too low": works(solve(target=-5.0), lambda res: not res.success),
    "lower_bound too high": works(solve(lower_bound=5.0), lambda res: not res.success),
    "target and bound": refused(solve(target=0.0, lower_bound=0.0), "together", "drop"),
    "problem None": refused(lambda: gnp.minimize(None, X0), "NoneType", "composite"),
    "problem a function": refused(lambda: gnp.minimize(np.sin, X0), "ufunc|function", "composite"),
    "problem an instance": refused(
        lambda: gnp.minimize(gnp.instances.regression(d=2, m=8), X0), "Instance", r"\.problem"
    ),
    "problem a class": refused(lambda: gnp.minimize(gnp.Composite, X0), "type", "composite"),
    "sensing a matrix": refused(
        lambda: gnp.composite(lambda x: x, gnp.L1(DATA), sensing=np.eye(2)), "ndarray", "LinearSensing"
    ),
    "sensing a class": refused(
        lambda: gnp.composite(lambda x: x, gnp.L1(DATA), sensing=gnp.Identity), "Identity", r"Identity\(\)"
    ),
    "sensing text": refused(lambda: gnp.composite(lambda x: x, gnp.L1(DATA), sensing="all"), "str", ""),
}

METHODS = {
    **named("solver", each({"qr": "qr", "None": None, "array": np.ones(2), "3": 3, "list": ["cg"]}, gnp.GNP, "solver")),
    **named(
        "rtol",
        each(
            {**WIDE, "-1": -1.0, "inf": float("inf")},
            lambda rtol: solve(gnp.GNP("cg", rtol=rtol))(),
            "rtol",
            "rtol|leave",
        ),
    ),
    **named("max_inner", each(NOT_COUNTS, lambda most: solve(gnp.GNP("cg", max_inner=most))(), "max_inner", "leave")),
    **named("fraction", each(WIDE, lambda share: solve(gnp.Polyak(fraction=share))(), "fraction", "None|leave")),
    **named(
        "damped",
        each(
            {"yes": "yes", "array": np.ones(2)},
            lambda damped: gnp.minimize(CASE.problem, CASE.x0, gnp.ScaledSM(damped=damped), target=0.0),
            "damped",
            "True",
        ),
    ),
}
CASE = gnp.instances.tensor_sensing(d=4, r=1, m=12)

RULES = {
    **named("Known", each(WIDE, lambda value: solve(target=gnp.Known(value))(), "target", "Known|float")),
    **named("Level", each(WIDE, lambda value: solve(target=gnp.Level(value))(), "bound", "Level|float")),
    **named("patience", each(NOT_COUNTS, lambda n: solve(target=gnp.Level(0.0, patience=n))(), "patience", "patience")),
    **named(
        "Restart",
        each(
            {"text": "x", "0": 0, "None": None, "10**10": 10**10},
            lambda n: solve(target=gnp.Restart(0.0, n, 5))(),
            "inner",
        ),
    ),
    "a class": refused(solve(target=gnp.Known), "Known", r"Known\("),
    "tol of its own": refused(solve(target=gnp.Known(0.0, tol=-1.0)), "tol", "tol"),
    "problem kept": works(lambda: gnp.minimize(problem(), X0, target=gnp.Known(0.0)), found),
}

CASES = {"option": OPTIONS, "method": METHODS, "rule": RULES}
