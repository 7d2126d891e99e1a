"""Faults injected into the oracle, once and for good, at each of the first calls: what is best stays best."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp

CALLS = 40
VALUES = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf, "1e300": 1e300}
SLOPES = {"nan": np.nan, "inf": np.inf, "1e300": 1e300, "zero": 0.0, "negated": -1.0}


class Faulty(gnp.L1):
    """L1 whose value is replaced, or whose subgradient and residuals are scaled, where a fault is switched on."""

    value_fault: jax.Array
    slope_fault: jax.Array

    def __init__(self, b, value_fault=0.0, slope_fault=1.0):
        super().__init__(b)
        self.value_fault, self.slope_fault = jnp.asarray(value_fault), jnp.asarray(slope_fault)

    def value(self, z):
        return jnp.where(self.value_fault == 0, super().value(z), self.value_fault)

    def subgradient(self, z):
        return super().subgradient(z) * self.slope_fault

    def residuals(self, z):
        return super().residuals(z) * self.slope_fault


@pytest.fixture(scope="module")
def case():
    return gnp.instances.tensor_sensing(d=8, r=2, kappa=2.0, p_fail=0.1)


METHODS = {"gnp": gnp.GNP(), "auto": gnp.Auto(), "polyak": gnp.Polyak(), "graduated": gnp.Graduated()}
RULES = {
    "known": lambda case: gnp.Known(case.target),
    "level": lambda case: gnp.Level(0.0),
    "restart": lambda case: gnp.Restart(0.0, 10, 5),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("method", METHODS)
def test_the_best_point_survives_every_fault(case, method, rule):
    chosen, target = METHODS[method], RULES[rule](case)
    c, sensing, b = case.problem.map, case.problem.sensing, np.asarray(case.problem.penalty.b)
    with jax.enable_x64(True):
        problem = lambda value, slope: gnp.Composite(c, Faulty(b, value, slope), sensing)  # noqa: E731
        healthy = problem(0.0, 1.0)
        start = jax.jit(gnp.init)(healthy, chosen, target, jnp.asarray(case.x0))
        step = jax.jit(gnp.step)
        states = [start]
        for _ in range(CALLS):
            states.append(step(healthy, chosen, target, states[-1])[0])
        truly = jax.jit(lambda x: healthy.evaluate(x).value)
        sick = [problem(value, 1.0) for value in VALUES.values()] + [problem(0.0, slope) for slope in SLOPES.values()]
        # Every third call, and the first ones: a fault met later meets the same code.
        for when in (0, 1, 2, *range(3, CALLS, 6)):
            for fault in sick:
                for lasting in (False, True):
                    state = step(fault, chosen, target, states[when])[0]
                    for _ in range(3):
                        state = step(fault if lasting else healthy, chosen, target, state)[0]
                    assert np.isfinite(float(state.best.value))
                    assert float(state.best.value) <= float(states[when].best.value)
                    assert float(truly(state.best.x)) == pytest.approx(float(state.best.value), rel=1e-9)
                    if rule == "known" and int(state.status) == gnp.Status.TARGET_REACHED:
                        assert float(truly(state.best.x)) - case.target <= 1e-9 * float(states[0].first_gap)
