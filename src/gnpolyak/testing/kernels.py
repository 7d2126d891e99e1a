"""Whether a fused oracle gives what the parts give one after the other."""

from __future__ import annotations

import jax
import numpy as np

from gnpolyak.base.trees import Tree
from gnpolyak.oracles import oracle_for
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.oracles import linearised
from gnpolyak.testing.figures import Figures, computing, drawn, vector

# Two ways of adding up the same numbers in float64.
_SAME = 1e-12


def check_kernel(problem: Composite, x: Tree, seed: int = 0) -> dict[str, float]:
    """Hold the fused oracle of a problem against its measurements, penalty, pullback and derivatives, to 1e-12.

    Parameters
    ----------
    problem : Composite
        A problem that a registered kernel serves at x.
    x : array_like or pytree
        Where.
    seed : int
        Of the direction and the weights of its products.
    """
    figures = Figures(f"the fused oracle of {problem.label}")
    with computing(x) as [point]:
        problem = problem.cast(np.dtype(np.float64))
        figures.require("a kernel that serves", problem.kernel(point) is not None)
        z, pullback = problem.sensing.measure(problem.map, point)
        # A function of its own, so that jit remembers no other kernel of these types.
        compiled = jax.jit(lambda problem, x: problem.evaluate(x))
        for name, evaluate in (("", Composite.evaluate), (" under jit", compiled)):
            found = evaluate(problem, point)
            figures.compare(f"value{name}", found.value, problem.penalty.value(z), _SAME)
            g = vector(pullback(problem.penalty.subgradient(z)))
            figures.compare(f"subgradient{name}", vector(found.subgradient), g, _SAME)
        figures.compare("measure", problem.measure(point), z, _SAME)
        _check_products(figures, problem, point, drawn((point, z.ravel()), np.random.default_rng(seed)))
    return figures.judged()


def _check_products(figures: Figures, problem: Composite, x: Tree, drawn: tuple[Tree, jax.Array]) -> None:
    direction, w = drawn
    found, plain = oracle_for(problem, x).linearise(x), linearised(problem.map, problem.sensing, problem.penalty, x)
    pushed, pulled = found.product(direction, w)
    expected = plain.push(direction)
    figures.compare("push", found.push(direction), expected, _SAME)
    figures.compare("pull", vector(found.pull(w)), vector(plain.pull(w)), _SAME)
    figures.compare("product, pushed", pushed, expected, _SAME)
    figures.compare("product, pulled", vector(pulled), vector(plain.pull(w * expected)), _SAME)
    oracle = oracle_for(problem, x)
    again = oracle.linearise(x, oracle.measure(x)[1]).product(direction, w)
    figures.compare("product from what was kept", vector(again[1]), vector(pulled), _SAME)
