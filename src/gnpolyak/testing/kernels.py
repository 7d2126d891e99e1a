"""Whether a fused oracle gives what the parts give one after the other."""

from __future__ import annotations

import jax
import numpy as np

from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.testing.figures import Figures, computing, vector


def check_kernel(problem: Composite, x: Tree) -> dict[str, float]:
    """Hold the fused oracle of a problem against its measurements, penalty and pullback, to 1e-12.

    Parameters
    ----------
    problem : Composite
        A problem that a registered kernel serves at x.
    x : array_like or pytree
        Where.
    """
    figures = Figures(f"the fused oracle of {problem.label}")
    with computing(x) as [point]:
        problem = problem.cast(np.dtype(np.float64))
        figures.require("a kernel that serves", problem.kernel(point) is not None)
        z, pullback = problem.sensing.measure(problem.map, point)
        for name, evaluate in (("", Composite.evaluate), (" under jit", jax.jit(Composite.evaluate))):
            found = evaluate(problem, point)
            figures.compare(f"value{name}", found.value, problem.penalty.value(z), 1e-12)
            g = vector(pullback(problem.penalty.subgradient(z)))
            figures.compare(f"subgradient{name}", vector(found.subgradient), g, 1e-12)
    return figures.judged()
