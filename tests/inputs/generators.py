"""Instances, starts and diagnostics with absurd arguments, and degenerate data for starts."""

import inspect
from functools import partial

import numpy as np

import gnpolyak as gnp
from inputs.cases import DATA, NOT_COUNTS, NOT_NUMBERS, X0, cube, each, named, problem, refused, works

SMALL = {name: NOT_COUNTS[name] for name in ("text", "-1", "1.5", "True", "list", "two", "NaN", "Decimal")}
SHARES = {name: NOT_NUMBERS[name] for name in ("text", "NaN", "two", "complex", "10**400")} | {"1": 1.0, "None": None}
INSTANCES = {
    **named("seed", each(SMALL | {"None": None}, lambda seed: gnp.instances.regression(seed=seed), "seed", "help")),
    **named("d", each(SMALL, lambda d: gnp.instances.regression(d=d), "d=", "help")),
    **named("p_fail", each(SHARES, lambda p: gnp.instances.robust_pca(p_fail=p), "p_fail", "help")),
    **named("kappa", each(SHARES | {"1": 0.5}, lambda k: gnp.instances.tensor_sensing(kappa=k), "kappa", "help")),
    **named("dtype", each({"int": int, "text": "x", "7": 7}, lambda t: gnp.instances.tensor_sensing(dtype=t), "dtype")),
}
# Every generator with nonsense for its first argument.
for name, make in gnp.instances.INSTANCES.items():
    first = next(iter(inspect.signature(make).parameters))
    for nonsense in ("ten", -1, None, np.ones(2)):
        call = partial(make, **{first: nonsense})
        INSTANCES[f"{name}({first}={str(nonsense)[:4]})"] = refused(call, f"{first}=", "help")

RNG = np.random.default_rng(0)
P, Q = RNG.standard_normal((2, 40, 4))
TRUE = np.array([1.0, -1.0, 2.0, 0.5])
B = (P @ TRUE) ** 2 - (Q @ TRUE) ** 2
PLAIN = (P @ TRUE) ** 2


def sensed(p=P, q=Q, b=B, **options):
    return lambda: gnp.minimize(
        gnp.composite(gnp.SymmetricCP(2), gnp.L1(b), sensing=gnp.PowerSensing(p, q)), **{"rank": 1, **options}
    )


def recovered(res, scale=1.0):
    x = np.asarray(res.x) * scale
    return not res.success or np.allclose(x @ x.T, np.outer(TRUE, TRUE), atol=1e-5)


STARTS = {
    "p = q": refused(sensed(q=P, b=0 * B), "zero|q", ""),
    "p = q with data": refused(sensed(q=P), "q", ""),
    "p = 0": refused(sensed(0 * P, None, PLAIN), "p", ""),
    "p = q = 0": refused(sensed(0 * P, 0 * P), "p", ""),
    "p times 1e200": refused(sensed(1e200 * P, None, PLAIN), "p", "scale|unit|divide"),
    "p times 1e-200": refused(sensed(1e-200 * P, None, PLAIN), "p", "scale|unit|divide"),
    "p times 1e30": works(sensed(1e30 * P, None, PLAIN), lambda res: recovered(res, 1e30)),
    "b = 0": refused(sensed(b=0 * B), "zero", ""),
    "b one signed": works(sensed(P, None, PLAIN), recovered),
    "b times 1e300": works(sensed(b=1e300 * B / np.abs(B).max()), lambda res: True),
    "one measurement": works(sensed(P[:1], None, PLAIN[:1]), lambda res: abs((P[:1] @ res.x) ** 2 - PLAIN[0]) < 1e-6),
    "rank 0": refused(sensed(rank=0), "rank=0", "rank"),
    "rank 5": refused(sensed(rank=5), "rank=5", "rank"),
    "rank text": refused(sensed(rank="one"), "rank='one'", "auto"),
    "rank None": refused(sensed(rank=None), "rank=None", ""),
    "rank True": refused(sensed(rank=True), "rank=True", ""),
    "rank 10**400": refused(sensed(rank=10**400), "rank", ""),
    "rank two": refused(sensed(rank=np.ones(2)), "rank", ""),
    "low rank, b = 0": refused(
        lambda: gnp.minimize(gnp.composite(gnp.LowRank(), gnp.L1(np.zeros((4, 3))))), "zero", ""
    ),
    "low rank, a vector": refused(lambda: gnp.minimize(gnp.composite(gnp.LowRank(), gnp.L1(np.ones(4)))), "shape", ""),
    "low rank, rank 9": refused(
        lambda: gnp.minimize(gnp.composite(gnp.LowRank(), gnp.L1(np.ones((4, 3)))), rank=9), "rank=9", "rank"
    ),
    "low rank, rank two": refused(
        lambda: gnp.minimize(gnp.composite(gnp.LowRank(), gnp.L1(np.ones((4, 3)))), rank=np.ones(2)), "rank", "auto"
    ),
    "cp of zeros": refused(lambda: gnp.minimize(gnp.composite(gnp.CP(), gnp.L1(np.zeros((3, 3, 3))))), "zero", ""),
    "cp of a vector": refused(lambda: gnp.minimize(gnp.composite(gnp.CP(), gnp.L1(np.ones(3)))), "shape|axes", ""),
    "cp, rank text": refused(
        lambda: gnp.minimize(gnp.composite(gnp.CP(), gnp.L1(np.ones((3, 3, 3)))), rank="some"), "rank='some'", "auto"
    ),
    "tucker of zeros": refused(
        lambda: gnp.minimize(gnp.composite(gnp.Tucker(), gnp.L1(np.zeros((3, 3, 3)))), rank=(1, 1, 1)), "zero", ""
    ),
    "tucker, rank 2 numbers": refused(
        lambda: gnp.minimize(gnp.composite(gnp.Tucker(), gnp.L1(np.ones((3, 3, 3)))), rank=(1, 1)), "rank", ""
    ),
    "tucker, rank text": refused(
        lambda: gnp.minimize(gnp.composite(gnp.Tucker(), gnp.L1(np.ones((3, 3, 3)))), rank="some"), "rank='some'", ""
    ),
    "near text": refused(lambda: gnp.starts.near("x", 0.1, RNG), "truth", ""),
    "near, radius text": refused(lambda: gnp.starts.near(DATA, "far", RNG), "radius", ""),
    "near, radius -1": refused(lambda: gnp.starts.near(DATA, -1.0, RNG), "radius", ""),
    "near, no generator": refused(lambda: gnp.starts.near(DATA, 0.1, 0), "rng", "default_rng"),
    "near a list": works(
        lambda: gnp.starts.near([3.0, 4.0], 0.1, RNG), lambda x: abs(np.hypot(*(x - [3, 4])) - 0.5) < 1e-9
    ),
    "spectral of a function": refused(lambda: gnp.starts.spectral(np.sin, rank=1), "ufunc|problem", ""),
    "spectral of a model": refused(lambda: gnp.starts.spectral(problem(), rank=1), "SymmetricCP|PowerSensing", ""),
    "spectral, seed text": refused(lambda: sensed_start(seed="x"), "seed", ""),
    "estimate_rank of None": refused(lambda: gnp.starts.estimate_rank(None), "NoneType|problem", ""),
    "from_amplitudes, text": refused(lambda: gnp.starts.from_amplitudes("P", [1.0]), "rows", ""),
    "from_amplitudes, unequal": refused(lambda: gnp.starts.from_amplitudes(P, np.ones(3)), "shape|b", ""),
    "from_amplitudes, zero": refused(lambda: gnp.starts.from_amplitudes(P, np.zeros(40)), "zero", ""),
}


def sensed_start(**options):
    made = gnp.composite(gnp.SymmetricCP(2), gnp.L1(B), sensing=gnp.PowerSensing(P, Q))
    return gnp.starts.spectral(made, rank=1, **options)


ON_A_MODEL = {
    name: getattr(gnp.diagnostics, name) for name in ("check_taylor", "check_adjoint", "spectrum", "jacobian_rank")
}
ON_A_PROBLEM = {name: getattr(gnp.diagnostics, name) for name in ("certify", "sharpness", "regularity", "assess")}
DIAGNOSTICS = {
    "radii": refused(lambda: gnp.diagnostics.sharpness(problem(), X0, radii=[-1.0]), "radii", "leave"),
    "radii text": refused(lambda: gnp.diagnostics.sharpness(problem(), X0, radii="far"), "radii", "leave"),
    "radii empty": refused(lambda: gnp.diagnostics.sharpness(problem(), X0, radii=[]), "radii", "leave"),
    "samples 0": refused(lambda: gnp.diagnostics.sharpness(problem(), X0, samples=0), "samples", "leave"),
    "samples text": refused(lambda: gnp.diagnostics.sharpness(problem(), X0, samples="x"), "samples", "leave"),
    "target text": refused(lambda: gnp.diagnostics.sharpness(problem(), X0, target="x"), "target", ""),
    "target 10**400": refused(lambda: gnp.diagnostics.sharpness(problem(), X0, target=10**400), "target", ""),
    "radius text": refused(lambda: gnp.diagnostics.constant_rank(cube, X0, radius="x"), "radius", ""),
    "radius 0": refused(lambda: gnp.diagnostics.constant_rank(cube, X0, radius=0.0), "radius", ""),
    "points -1": refused(lambda: gnp.diagnostics.constant_rank(cube, X0, points=-1), "points", ""),
    "tolerance": refused(lambda: gnp.diagnostics.assess(problem(), X0, tolerance="x"), "tolerance", ""),
    "lower_bound": refused(lambda: gnp.diagnostics.assess(problem(), X0, lower_bound="x"), "bound", ""),
}
for name, check in ON_A_MODEL.items():
    DIAGNOSTICS |= {
        f"{name} of None": refused(lambda check=check: check(None, X0), "NoneType", "function"),
        f"{name} at text": refused(lambda check=check: check(cube, "here"), "x", ""),
        f"{name} at NaN": refused(lambda check=check: check(cube, [np.nan, 1.0]), "NaN", ""),
        f"{name} at nothing": refused(lambda check=check: check(cube, None), "x", "array"),
        f"{name} where it raises": refused(lambda check=check: check(lambda x: 1 // 0, X0), "ZeroDivisionError", ""),
    }
for name, check in ON_A_PROBLEM.items():
    DIAGNOSTICS |= {
        f"{name} of a function": refused(lambda check=check: check(cube, X0), "function", "composite"),
        f"{name} at text": refused(lambda check=check: check(problem(), "here"), "x", ""),
        f"{name} at another shape": refused(lambda check=check: check(problem(), np.ones(5)), "shape", ""),
        f"{name} at nothing": refused(lambda check=check: check(problem(), None), "x", ""),
    }
for name in ("check_taylor", "check_adjoint", "jacobian_rank"):
    DIAGNOSTICS[f"{name}, seed"] = refused(lambda name=name: ON_A_MODEL[name](cube, X0, seed=-1), "seed=-1", "")

CASES = {"instance": INSTANCES, "start": STARTS, "diagnostics": DIAGNOSTICS}
