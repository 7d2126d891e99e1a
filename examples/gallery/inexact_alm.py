"""The peer of two scripts: robust PCA by the inexact augmented Lagrangian method."""

import numpy as np


def inexact_alm(data, seen=True, growth=1.2, tol=1e-7):
    """Minimise ‖L‖_* + λ Σ |data − L| over the entries that were seen, with λ = 1/√(longer side × share seen)."""
    data = np.where(seen, data, 0.0)
    length, weight = np.linalg.norm(data, 2), 1 / np.sqrt(max(data.shape) * np.mean(seen))
    dual, mu = data / max(length, np.abs(data).max() / weight), 1.25 / length
    low = wrong = np.zeros(data.shape)
    while np.linalg.norm(data - low - wrong) > tol * np.linalg.norm(data):
        u, s, v = np.linalg.svd(data - wrong + dual / mu, full_matrices=False)
        low = (u * np.maximum(s - 1 / mu, 0)) @ v
        rest = data - low + dual / mu
        wrong = np.where(seen, np.sign(rest) * np.maximum(np.abs(rest) - weight / mu, 0), rest)
        dual, mu = dual + mu * (data - low - wrong), growth * mu
    return low
