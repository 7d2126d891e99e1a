"""Independent oracles: dense Jacobians and singular values in NumPy, sharing no code with the library's reductions."""

import itertools

import numpy as np


def factor(d, r, kappa, seed, rank=None):
    """A d×r matrix with singular values from 1 to 1/κ, those beyond `rank` exactly zero."""
    rng = np.random.default_rng(seed)
    left, _ = np.linalg.qr(rng.standard_normal((d, r)))
    right, _ = np.linalg.qr(rng.standard_normal((r, r)))
    values = np.linspace(1.0, 1.0 / kappa, r)
    values[r if rank is None else rank :] = 0.0
    return left * values @ right.T


def cp_image(x, n):
    """Σ xᵢ^⊗n, by outer products of the columns."""
    total = np.zeros((x.shape[0],) * n)
    for column in x.T:
        term = column
        for _ in range(n - 1):
            term = np.multiply.outer(term, column)
        total += term
    return total


def cp_jacobian(x, n):
    """The dⁿ × dr Jacobian of Σ xᵢ^⊗n, entry by entry from the product rule."""
    d, r = x.shape
    jacobian = np.zeros((d,) * n + (d, r))
    for row, column in itertools.product(range(d), range(r)):
        unit = np.eye(d)[row]
        for position in range(n):
            factors = [unit if k == position else x[:, column] for k in range(n)]
            term = factors[0]
            for other in factors[1:]:
                term = np.multiply.outer(term, other)
            jacobian[..., row, column] += term
    return jacobian.reshape(d**n, d * r)


def pinv_apply(jacobian, v, rcond=1e-9):
    """J†v by singular values, those below rcond dropped, and ‖Pv‖² for the projection P on range(J)."""
    left, values, right = np.linalg.svd(jacobian, full_matrices=False)
    kept = values > rcond * values[0]
    coefficients = left[:, kept].T @ v
    return right[kept].T @ (coefficients / values[kept]), float(coefficients @ coefficients)
