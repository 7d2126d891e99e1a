"""Steps on NumPy arrays and steps in a compiled program: the same values, points and verdicts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.oracles import host_oracle, oracle_for
from gnpolyak.steps.graduated import Graduated
from gnpolyak.steps.least_absolute import LeastAbsolute
from gnpolyak.steps.targets import Opening

STEPS = 6


def table():
    """A table of rank 2 of which most is seen, with outliers."""
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((9, 2)), rng.standard_normal((8, 2))
    b = truth[0] @ truth[1].T + (rng.random((9, 8)) < 0.1) * 5.0
    seen = rng.random((9, 8)) < 0.8
    problem = gnp.composite(gnp.LowRank(), gnp.L1(b[seen]), sensing=gnp.Entries(seen))
    return problem, tuple(each + 0.1 * rng.standard_normal(each.shape) for each in truth)


def curve():
    """A user's model, whose Jacobian is formed."""
    t = np.linspace(0.0, 3.0, 25)
    b = 2.0 * np.exp(-0.7 * t) + 0.3 + 0.01 * np.random.default_rng(0).standard_normal(25)
    b[::6] += 3.0
    problem = gnp.composite(lambda x, t: x[0] * jnp.exp(-x[1] * t) + x[2], gnp.L1(b), args=(t,))
    return problem, np.array([1.5, 0.5, 0.1])


def bounded():
    problem, x = curve()
    return problem.within(gnp.problem.box.Box(np.array([0.0, 0.0, 0.15]), np.array([1.8, np.inf, np.inf]))), x


def on_the_host(problem, x, method, target):
    """The states after each step, and what the calls showed."""
    with jax.enable_x64(True), np.errstate(all="ignore"):
        oracle = host_oracle(problem, x)
        method = method.suited(problem, x)
        method, target = method.using(np), target.suited(method.breadth).using(np)
        states, infos = [gnp.init(oracle, method, target, x)], []
        for _ in range(STEPS):
            state, info = gnp.step(oracle, method, target, states[-1])
            states.append(state)
            infos.append(info)
    return states, infos


def compiled(problem, x, method, target):
    def run(problem, x):
        oracle = oracle_for(problem, x)
        suited = method.suited(problem, x)
        rule = target.suited(suited.breadth)
        first = gnp.init(oracle, suited, rule, x)

        def body(state, _):
            state, info = gnp.step(oracle, suited, rule, state)
            return state, (state, info)

        return first, jax.lax.scan(body, first, None, length=STEPS)[1]

    with jax.enable_x64(True):
        first, (rest, infos) = jax.device_get(jax.jit(run)(problem, jax.tree.map(jnp.asarray, x)))
    each = [tuple(jax.tree.map(lambda leaf, i=i: leaf[i], part) for part in (rest, infos)) for i in range(STEPS)]
    return [first, *(state for state, _ in each)], [info for _, info in each]


METHODS = {
    "gnp": gnp.GNP(),
    "gnp with five cuts": gnp.GNP(cuts=5),
    "polyak": gnp.Polyak(),
    "lmm": gnp.LMM(cuts=3),
    "auto": gnp.Auto(),
    "graduated": Graduated(),
    "least absolute": LeastAbsolute(),
}
TARGETS = {
    "known": gnp.Known(0.0),
    "level": gnp.Level(lower_bound=0.0),
    "restart": gnp.Restart(lower_bound=0.0, inner=3, outer=5),
    "opening": Opening(gnp.Level(lower_bound=0.0)),
}
# A method that leads does not ask the rule where to go.
PAIRS = [(method, target) for method in METHODS for target in TARGETS if not METHODS[method].leads or target == "level"]
SOME = [("gnp", "known"), ("gnp with five cuts", "level"), ("lmm", "restart"), ("auto", "opening"), *PAIRS[-2:]]
CASES = [*((table, *pair) for pair in PAIRS), *((case, *pair) for case in (curve, bounded) for pair in SOME)]


def numbers(state, info=None):
    shown = [] if info is None else [info.value, info.step]
    return np.array([state.point.value, state.best.value, state.calls, state.status, state.idle, *shown], float)


@pytest.mark.parametrize(("case", "method", "target"), CASES)
def test_both_take_the_same_steps(case, method, target):
    problem, x = case()
    (ours, told), (theirs, seen) = (
        run(problem, x, METHODS[method], TARGETS[target]) for run in (on_the_host, compiled)
    )
    assert ours[-1].calls > 3
    for mine, other, info, shown in zip(ours, theirs, [None, *told], [None, *seen], strict=True):
        np.testing.assert_allclose(numbers(mine, info), numbers(other, shown), rtol=1e-9, atol=1e-12)
        # Steps of factorised or iterated systems agree to what their condition leaves.
        for one, another in zip(*map(jax.tree.leaves, (mine.point.x, other.point.x)), strict=True):
            np.testing.assert_allclose(one, another, rtol=1e-7, atol=1e-9)
        assert all(isinstance(leaf, (np.ndarray, np.generic)) for leaf in jax.tree.leaves(mine))
