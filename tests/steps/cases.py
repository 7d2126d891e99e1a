"""Problems whose rank is given too large."""

import numpy as np

import gnpolyak as gnp


def overspecified(r, kappa, seed, p_fail=0.0, shrink=1.0, d=40):
    """A problem of true rank 3, and a start of rank r whose surplus columns are shrunk."""
    case = gnp.instances.tensor_sensing(d=d, r=3, kappa=kappa, seed=seed, p_fail=p_fail, m=8 * d * r)
    truth = np.hstack([case.truth, np.zeros((d, r - 3))])
    noise = np.random.default_rng(seed + 100).standard_normal(truth.shape)
    x0 = truth + 0.1 * np.linalg.norm(truth) * noise / np.linalg.norm(noise)
    x0[:, 3:] *= shrink
    return case, x0


def recovery_error(case, x):
    truth = case.truth @ case.truth.T
    return np.linalg.norm(x @ x.T - truth) / np.linalg.norm(truth)
