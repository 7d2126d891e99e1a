"""Least absolute deviations by a linear program (HiGHS): the independent oracle of the l1 tables."""

import numpy as np
import scipy.sparse
from scipy.optimize import linprog


def least_absolute_value(matrix, b, box=None):
    """min ‖b − Mz‖₁, with |zⱼ| ≤ boxⱼ if a box is given: the value and z.

    Solved as min Σ p + o with Mz + p − o = b, p, o ≥ 0, in columns of length 1.
    """
    m, n = matrix.shape
    column = np.linalg.norm(matrix, axis=0)
    column = np.where(column > 0, column, 1.0)
    unit = np.abs(b).max() or 1.0
    eye = scipy.sparse.identity(m, format="csc")
    system = scipy.sparse.hstack([scipy.sparse.csc_matrix(matrix / column), eye, -eye], format="csc")
    reach = np.full(n, np.inf) if box is None else box * column / unit
    bounds = [(-t, t) for t in reach] + [(0, None)] * (2 * m)
    cost = np.concatenate([np.zeros(n), np.ones(2 * m)])
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(cost, A_eq=system, b_eq=b / unit, bounds=bounds, method="highs", options=tight)
    if found.status != 0:
        return np.nan, None
    z = found.x[:n] * unit / column
    # The value at z itself: what the program reports is right only to its tolerances.
    return np.abs(b - matrix @ z).sum(), z
