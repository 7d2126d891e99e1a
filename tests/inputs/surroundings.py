"""JAX's own settings around a solve, results as objects, and the pure functions underneath."""

import contextlib
import copy
import pickle
import sys

import jax
import jax.numpy as jnp
import numpy as np

import gnpolyak as gnp
from inputs.cases import DATA, X0, found, problem, refused, solve, works


def under(setting, call=None):
    def run():
        with setting():
            return (call or solve())()

    return run


SENSED = gnp.instances.tensor_sensing(d=4, r=1, m=20, p_fail=0.1)


def sensed():
    return gnp.minimize(SENSED.problem, rank=1)


def recovered(res):
    return res.success and SENSED.recovery_error(res.x) < 1e-6


SETTINGS = {
    "transfer_guard": lambda: jax.transfer_guard("disallow"),
    "transfer_guard explicit": lambda: jax.transfer_guard("disallow_explicit"),
    "debug_nans": lambda: jax.debug_nans(True),
    "debug_infs": lambda: jax.debug_infs(True),
    "strict promotion": lambda: jax.numpy_dtype_promotion("strict"),
    "rank promotion": lambda: jax.numpy_rank_promotion("raise"),
    "x64": lambda: jax.enable_x64(True),
    "no x64": lambda: jax.enable_x64(False),
    "low precision": lambda: jax.default_matmul_precision("bfloat16"),
    "errstate": lambda: np.errstate(all="raise"),
    "a device": lambda: jax.default_device(jax.devices()[0]),
    "leaks": jax.checking_leaks,
}
AROUND = {
    **{name: works(under(setting), found) for name, setting in SETTINGS.items()},
    **{
        f"{name}, from data": works(under(setting, sensed), recovered)
        for name, setting in SETTINGS.items()
        if name in ("transfer_guard", "debug_nans", "strict promotion", "rank promotion", "errstate")
    },
    **{
        f"{name}, construction": works(
            under(setting, lambda: gnp.L1([8, 27], weights=[1, 2])), lambda h: np.array_equal(h.b, DATA)
        )
        for name, setting in SETTINGS.items()
    },
    **{
        f"{name}, check_taylor": works(under(setting, lambda: gnp.diagnostics.check_taylor(problem(), X0)), bool)
        for name, setting in SETTINGS.items()
        if name in ("transfer_guard", "debug_nans", "strict promotion", "no x64")
    },
}


def solved():
    return gnp.minimize(problem(), X0)


def of_a_result(look):
    return lambda: look(solved())


def blocked():
    """A picture where matplotlib cannot be imported."""
    res, hidden = solved(), {name: sys.modules[name] for name in list(sys.modules) if name.startswith("matplotlib")}
    sys.modules.update(dict.fromkeys([*hidden, "matplotlib", "matplotlib.pyplot"]))
    try:
        return res.plot()
    finally:
        for name in ("matplotlib", "matplotlib.pyplot"):
            sys.modules.pop(name, None)
        sys.modules.update(hidden)


class StoppedError(Exception):
    pass


def kept(error):
    """What a callback raises is the caller's own, and comes out as it is."""

    def callback(res):
        raise error

    def run():
        with contextlib.suppress(type(error)):
            gnp.minimize(SENSED.problem, SENSED.x0, "polyak", target=0.0, callback=callback)
            return False
        return True

    return run


RESULTS = {
    "== itself": works(of_a_result(lambda res: res == res), lambda equal: equal is True),  # noqa: PLR0124
    "== a copy": works(of_a_result(lambda res: res == copy.copy(res)), lambda equal: equal is True),
    "== a deep copy": works(of_a_result(lambda res: res == copy.deepcopy(res)), lambda equal: equal is True),
    "== another": works(lambda: solved() == gnp.minimize(problem(DATA + 1), X0), lambda equal: equal is False),
    "== a number": works(lambda: solved() == 3.0, lambda equal: equal is False),
    "!= a copy": works(of_a_result(lambda res: res != copy.copy(res)), lambda differs: differs is False),
    "hash": works(of_a_result(lambda res: hash(res) == hash(copy.copy(res))), lambda equal: equal is True),
    "in a set": works(of_a_result(lambda res: len({res, copy.copy(res)})), lambda number: number == 1),
    "hash of a history": works(lambda: isinstance(hash(solved().history), int), bool),
    "history == a copy": works(
        of_a_result(lambda res: res.history == copy.deepcopy(res.history)), lambda equal: equal is True
    ),
    "pickled": works(lambda: pickle.loads(pickle.dumps(SENSED.settings)), lambda s: s == SENSED.settings),
    "standard errors of exact data": refused(lambda: solved().standard_errors(), "standard errors", "exact"),
    "covariance of exact data": refused(lambda: solved().covariance(), "standard errors", "exact"),
    "plot without matplotlib": refused(blocked, "matplotlib", r"pip install"),
    "plot on text": refused(lambda: solved().plot(ax="here"), "ax", "ax"),
    "gap to text": refused(lambda: solved().history.gap("zero"), "target", ""),
    "a callback's own": works(kept(StoppedError("enough")), bool),
    "a callback's ValueError": works(kept(ValueError()), bool),
    "a callback of no argument": works(
        lambda: _raises(TypeError, solve("polyak", target=0.0, callback=lambda: None)), bool
    ),
}


def _raises(kind, call):
    with contextlib.suppress(kind):
        call()
        return False
    return True


WIDE = jnp.asarray(X0) if jax.config.jax_enable_x64 else X0


def begun(x0=X0, method=None, target=None, problem=problem()):  # noqa: B008
    return lambda: gnp.init(problem, method or gnp.GNP(), target or gnp.Known(0.0), x0)


def advanced():
    with jax.enable_x64(True):
        parts = problem(), gnp.GNP(), gnp.Known(0.0)
        state, move = jax.jit(gnp.init)(*parts, jnp.asarray(X0)), jax.jit(gnp.step)
        for _ in range(40):
            state, _ = move(*parts, state)
        return np.asarray(state.best.x)


UNDERNEATH = {
    "init without x64": refused(begun(), "float64|64", "enable_x64"),
    "init in single precision": works(
        lambda: (
            gnp.init(
                problem(DATA.astype(np.float32)), gnp.GNP(), gnp.Known(0.0), jnp.asarray(X0, jnp.float32)
            ).point.value
        ),
        lambda value: np.isclose(value, np.sum(np.abs(X0**3 - DATA)), rtol=1e-5),
    ),
    "init and step with x64": works(advanced, lambda x: np.allclose(x, [2.0, 3.0])),
    "init of a list": refused(begun([1.5, 2.5]), "list|x0|64", ""),
    "init of text": refused(begun("x"), "x0", ""),
    "init of None": refused(lambda: gnp.init(problem(), gnp.GNP(), gnp.Known(0.0), None), "x0", ""),
    "init by name": refused(begun(method="gnp"), "'gnp'", r"GNP\(\)"),
    "init to a number": refused(begun(target=3.0), "3.0", r"Known\("),
    "init of a function": refused(begun(problem=np.sin), "ufunc", "composite"),
    "init at another shape": refused(begun(np.ones(5, np.float32)), "shape|64", ""),
    "step of no state": refused(lambda: gnp.step(problem(), gnp.GNP(), gnp.Known(0.0), None), "state", "init"),
}

CASES = {"under": AROUND, "result": RESULTS, "init": UNDERNEATH}
