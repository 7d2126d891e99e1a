"""Bad input answers at once, with what was given, needed, missing and what to do, before anything is compiled."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp

CASE = gnp.instances.tensor_sensing(d=6, r=2, m=40)
CUBIC = gnp.instances.tensor_sensing(d=6, r=2, n=3, m=40)
SMALL = gnp.composite(lambda x: x**3, gnp.L1(np.array([8.0, 27.0])))
MASKED = np.ma.array([8.0, 27.0], mask=[False, True])
FREE = gnp.composite(lambda x: x, gnp.CustomPenalty(jnp.sum, jnp.ones_like))


def sensing(**changes):
    return lambda: gnp.instances.tensor_sensing(**{"d": 6, "r": 2, "m": 20, **changes})


def solve(problem=CASE.problem, x0=CASE.x0, *args, **options):
    return lambda: gnp.minimize(problem, x0, *args, **{"target": 0.0, **options})


def with_entry(array, value):
    changed = np.array(array)
    changed.flat[3] = value
    return changed


BAD = {
    "NaN in b": (lambda: gnp.L1(np.array([1.0, np.nan])), "b with 1 of 2 entries NaN"),
    "Inf in b": (lambda: gnp.L2(np.array([np.inf, 1.0])), "b with 1 of 2 entries"),
    "NaN in p": (lambda: gnp.PowerSensing(np.full((3, 2), np.nan), np.ones((3, 2))), "p with 6 of 6"),
    "NaN in x0": (solve(x0=with_entry(CASE.x0, np.nan)), "x0 with 1 of 12"),
    "Inf in x0": (solve(x0=with_entry(CASE.x0, -np.inf)), "x0 with 1 of 12"),
    "NaN in args": (lambda: gnp.composite(lambda x, a: x, gnp.L1([1.0]), args=(np.nan,)), r"args\[0\]"),
    "masked b": (lambda: gnp.L1(MASKED), "b with 1 masked entry"),
    "masked b of L2": (lambda: gnp.L2(MASKED), "compressed"),
    "masked b in a list": (lambda: gnp.L1([MASKED, MASKED]), "b with 2 masked entries"),
    "masked x0": (solve(SMALL, MASKED), "x0 with 1 masked"),
    "masked x0 in a tree": (solve(x0={"a": MASKED, "b": CASE.x0}), r"x0 \(leaf 0\) with 1 masked"),
    "masked p": (lambda: gnp.PowerSensing(np.ma.masked_invalid([[np.nan, 1.0]])), "p with 1 masked"),
    "masked q": (lambda: gnp.PowerSensing(np.ones((1, 2)), np.ma.masked_equal([[0.0, 1.0]], 0)), "q with 1 masked"),
    "masked args": (lambda: gnp.composite(lambda x, a: x, gnp.L1([1.0]), args=(MASKED,)), r"args\[0\] with 1 masked"),
    "masked indices": (
        lambda: gnp.composite(lambda x, i: x[i], gnp.L1([1.0]), args=(np.ma.masked_equal([0, 1], 0),)),
        "masked",
    ),
    "masked args of a penalty": (lambda: gnp.CustomPenalty(jnp.sum, jnp.sign, args=(MASKED,)), "masked"),
    "masked in a diagnosis": (lambda: gnp.diagnostics.certify(SMALL, MASKED), "x0 with 1 masked"),
    "inner beyond counting": (solve(target=None, strategy="restart", inner=10**10), "inner=10000000000"),
    "outer beyond counting": (solve(target=None, strategy="restart", outer=10**10), "at most 2,147,483,647"),
    "Restart beyond counting": (solve(target=gnp.Restart(0.0, 10**10, 10**10)), "inner=10000000000"),
    "patience beyond counting": (solve(target=gnp.Level(0.0, patience=10**12)), "patience=1000000000000"),
    "max_inner beyond counting": (solve(method=gnp.GNP(solver="cg", max_inner=10**12)), "max_inner="),
    "complex x0": (solve(x0=CASE.x0 + 1j), "a complex variable for SymmetricCP"),
    "complex b": (lambda: gnp.L1(np.array([1j])), "b with complex"),
    "half precision": (lambda: gnp.L1(np.ones(2, np.float16)), "float32 or float64"),
    "inner None": (solve(target=None, strategy="restart", inner=None), "inner=None"),
    "fraction text": (solve(method=gnp.GNP(fraction="half")), "fraction='half'"),
    "max_inner = 0": (solve(method=gnp.GNP(solver="cg", max_inner=0)), "max_inner=0"),
    "inside jit": (lambda: jax.jit(lambda x: gnp.minimize(CASE.problem, x, target=0.0))(CASE.x0), "gnpolyak.step"),
    "strings in b": (lambda: gnp.L1(["a", "b"]), "not a rectangular array of numbers"),
    "ragged b": (lambda: gnp.L1([[1.0], [1.0, 2.0]]), "not a rectangular array of numbers"),
    "no x0 for a model of one's own": (solve(SMALL, None), "no x0"),
    "rank without meaning": (solve(x0=None, rank="some"), "rank='some'"),
    "rank too large": (solve(x0=None, rank=7), "rank=7"),
    "cuts = 0": (solve(cuts=0), "cuts=0"),
    "cuts = 11": (solve(cuts=11), "cuts=11"),
    "text as x0": (solve(x0="start"), "not a rectangular array of numbers"),
    "p and q differ": (lambda: gnp.PowerSensing(np.ones((3, 2)), np.ones((4, 2))), "p of shape"),
    "x0 of another d": (solve(x0=CASE.x0[:-1]), "5 rows and measurement vectors of length 6"),
    "x0 a vector": (solve(x0=CASE.x0[:, 0]), r"shape \(6,\)"),
    "x0 wider than tall": (solve(x0=CASE.x0.T), r"shape \(2, 6\)"),
    "x0 a dictionary": (solve(x0={"x": CASE.x0}), "type dict"),
    "b of another shape": (solve(gnp.composite(lambda x: x, gnp.L1(np.ones(3))), np.ones(2)), r"shape \(3,\)"),
    "b would broadcast": (solve(gnp.composite(lambda x: x, gnp.L1(1.0)), np.ones(2)), "nothing is broadcast"),
    "r > d": (sensing(r=7), "between 1 and 6"),
    "r = 0": (sensing(r=0), "between 1 and 6"),
    "kappa < 1": (sensing(kappa=0.5), "kappa=0.5"),
    "kappa infinite": (sensing(kappa=float("inf")), "kappa=inf"),
    "p_fail = 1/2": (sensing(p_fail=0.5), r"\[0, 1/2\)"),
    "p_fail < 0": (sensing(p_fail=-0.1), r"\[0, 1/2\)"),
    "n = 1": (sensing(n=1), "n=1"),
    "n not whole": (sensing(n=2.5), "n=2.5"),
    "m = 0": (sensing(m=0), "m=0"),
    "seed < 0": (sensing(seed=-1), "seed=-1"),
    "order 1": (lambda: gnp.SymmetricCP(1), r"SymmetricCP\(n=1\)"),
    "unknown method": (solve(method="adam"), "'auto', 'graduated', 'gnp', 'lmm', 'scaledsm', 'polyak'"),
    "method a number": (solve(method=3), "method=3"),
    "unknown solver": (lambda: gnp.GNP(solver="qr"), "solver='qr'"),
    "fraction too large": (solve(method=gnp.GNP(fraction=1.5)), "fraction=1.5"),
    "scaledsm without right Gram": (solve(SMALL, np.ones(2), "scaledsm"), "AutodiffMap.* offers 'image'"),
    "scaledsm on a tensor": (
        solve(CUBIC.problem, CUBIC.x0, "scaledsm"),
        "offers 'right_gram'",
    ),
    "closed form of an autodiff map": (solve(SMALL, np.ones(2), gnp.GNP(solver="closed")), "offers 'gram_pinv'"),
    "lsmr where the image is not measured": (solve(method=gnp.GNP(solver="lsmr")), "works on 'power_forms'"),
    "power sensing of an autodiff map": (
        solve(gnp.composite(lambda x: x, gnp.L1([1.0]), sensing=CASE.problem.sensing), CASE.x0),
        "power_forms",
    ),
    "target and lower bound": (solve(lower_bound=0.0), "together with"),
    "target and strategy": (solve(strategy="level"), "together with"),
    "target NaN": (solve(target=float("nan")), "nan"),
    "target text": (solve(target="zero"), "'zero'"),
    "unknown strategy": (solve(target=None, strategy="guess"), "strategy='guess'"),
    "inner = 0": (solve(target=None, strategy="restart", inner=0), "inner=0"),
    "outer not whole": (solve(target=None, strategy="restart", outer=1.5), "outer=1.5"),
    "tol negative": (solve(tol=-1.0), "tol = -1.0"),
    "max_calls = 0": (solve(max_calls=0), "max_calls=0"),
    "max_calls not whole": (solve(max_calls=1.5), "max_calls=1.5"),
    "max_seconds = 0": (solve(max_seconds=0), "max_seconds=0"),
    "callback not callable": (solve(callback=3), "callback of type int"),
    "no infimum": (solve(FREE, np.ones(2), target=None), "states none"),
    "penalty a function": (lambda: gnp.composite(lambda x: x, np.abs), "CustomPenalty"),
    "model a number": (lambda: gnp.composite(3.0, gnp.L1([1.0])), "model of type float"),
    "problem a function": (solve(np.sin), "gnpolyak.composite"),
    "args with a map": (lambda: gnp.composite(gnp.SymmetricCP(2), gnp.L1([1.0]), args=(1.0,)), "args together"),
    "model not traceable": (solve(gnp.composite(np.linalg.svd, gnp.L1([1.0])), np.ones((2, 2))), "jax.numpy"),
    "model returns a tuple": (solve(gnp.composite(lambda x: (x, x), gnp.L1([1.0])), np.ones(1)), "one array"),
    "penalty value not scalar": (
        solve(gnp.composite(lambda x: x, gnp.CustomPenalty(jnp.abs, jnp.sign)), np.ones(2)),
        "a value of shape",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name, compilations):
    call, expected = BAD[name]
    with compilations() as counted, pytest.raises(gnp.InputError, match=expected) as caught:
        call()
    message = str(caught.value)
    assert all(part in message for part in ("Given: ", "Needed: ", "Missing: ", "Do: "))
    assert counted.count == 0


def test_nothing_masked_is_nothing_missing():
    open_mask = np.ma.array([8.0, 27.0], mask=[False, False])
    problem = gnp.composite(lambda x: x**3, gnp.L1(open_mask))
    assert np.allclose(gnp.minimize(problem, np.ma.array([1.5, 2.5])).x, [2.0, 3.0])


@pytest.mark.parametrize(
    "options",
    [
        {"max_calls": 10**12},
        {"target": None, "strategy": "restart", "inner": 10**6, "outer": 10**6, "max_calls": 60},
        {"target": gnp.Restart(0.0, 2**31 - 1, 2**31 - 1), "max_seconds": 0.5},
        {"target": gnp.Level(0.0, patience=2**31 - 1), "max_calls": 60},
        {"method": gnp.GNP(solver="cg", max_inner=2**31 - 1)},
    ],
)
def test_counts_at_the_end_of_what_can_be_counted(options):
    """Nothing overflows into a negative number: the solves go as far as their limits let them."""
    case = gnp.instances.tensor_sensing(d=6, r=2, p_fail=0.1)
    res = gnp.minimize(case.problem, case.x0, **{"method": "gnp", "target": case.target, **options})
    assert res.value < 0.9 * res.history.value[0]
    assert res.status in (gnp.Status.TARGET_REACHED, gnp.Status.CALL_LIMIT, gnp.Status.TIME_LIMIT)
    assert res.calls > 20


def test_errors_survive_a_process_pool():
    error = pickle.loads(pickle.dumps(gnp.InputError(given="a", needed="b", missing="c", advice="d")))
    assert isinstance(error, ValueError)
    assert (error.given, error.advice) == ("a", "d")


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("method", ["gnp", "scaledsm", "polyak"])
@pytest.mark.parametrize("solver", ["auto", "closed", "cg", "lsmr", "dense"])
@pytest.mark.parametrize("kind", ["sensing", "image", "autodiff"])
def test_every_method_on_every_instance_solves_or_says_why_not(order, method, solver, kind):
    chosen = gnp.GNP(solver=solver) if method == "gnp" else method
    case = gnp.instances.tensor_sensing(d=6, r=2, n=order, kappa=2.0, radius=0.03)
    cp = gnp.SymmetricCP(order)
    image = np.asarray(jax.jit(cp)(case.truth), np.float64)
    problem = {
        "sensing": case.problem,
        "image": gnp.composite(cp, gnp.L2(image)),
        "autodiff": gnp.composite(cp.__call__, gnp.L2(image)),
    }[kind]
    unfit = (
        (method == "scaledsm" and (order == 3 or kind == "autodiff"))
        or (method == "gnp" and solver == "closed" and kind == "autodiff")
        or (method == "gnp" and solver in ("lsmr", "dense") and kind == "sensing")
    )
    if unfit:
        with pytest.raises(gnp.InputError):
            gnp.minimize(problem, case.x0, chosen, target=0.0)
    else:
        assert gnp.minimize(problem, case.x0, chosen, target=0.0, tol=1e-5, max_calls=3000).success
