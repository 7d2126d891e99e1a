"""The certificate of any point, also of one that was found elsewhere."""

from __future__ import annotations

from gnpolyak.base.trees import Tree
from gnpolyak.diagnostics import inputs
from gnpolyak.problem.capabilities import RESIDUALS, TILT
from gnpolyak.problem.composite import Composite
from gnpolyak.solve.certificate import Certificate
from gnpolyak.solve.certificate import certify as _certify
from gnpolyak.solve.evaluation import Evaluation


def certify(problem: Composite, x: Tree) -> Certificate:
    """Whether x is a minimum of an L1 problem to first order, by a dual vector.

    Parameters
    ----------
    problem : Composite
        With a penalty that is a sum over residuals, such as L1.
    x : array_like or pytree
        Any point.

    Returns
    -------
    Certificate
        ``.holds`` says yes or no, ``print`` says why; it takes some dozens of products with A and its adjoint.

    Examples
    --------
    >>> import numpy as np, gnpolyak as gnp
    >>> problem = gnp.composite(lambda x: x * np.ones(5), gnp.L1(np.array([1.0, 1.0, 1.0, 1.0, 9.0])))
    >>> gnp.diagnostics.certify(problem, np.array([1.0])).holds, gnp.diagnostics.certify(problem, np.array([2.0])).holds
    (True, False)
    """
    with inputs.on_the_problem(problem, x) as (exact, [point]):
        if not exact.penalty.has(TILT):
            exact.penalty.require(RESIDUALS, "a certificate", "use a target that is known instead")
        return _certify(Evaluation(exact, point, "host"), point)
