"""Problems beyond the paper's, each with a start near the truth and the error of an answer."""

import jax
import jax.numpy as jnp
import numpy as np

import gnpolyak as gnp


class Entries(gnp.Sensing):
    """Some entries of a matrix."""

    rows: jax.Array
    columns: jax.Array

    def apply(self, image):
        return image[self.rows, self.columns]


def near(a, rng, radius=0.1):
    step = rng.standard_normal(a.shape)
    return a + radius * np.linalg.norm(a) * step / np.linalg.norm(step)


def relative(a, b):
    return float(np.linalg.norm(np.asarray(a) - b) / np.linalg.norm(b))


def corrupted(clean, share, rng, size=10.0):
    """Ruin a share of the data by normal numbers of this many median data."""
    bad = rng.random(clean.shape) < share
    return np.where(bad, clean + size * np.median(np.abs(clean)) * rng.standard_normal(clean.shape), clean), bad


def low_rank(d1=60, d2=50, r=3, kappa=10.0, share=0.2, seen=1.0, seed=0):
    """Robust PCA, or completion where not all entries were seen: problem, start, error."""
    rng = np.random.default_rng(seed)
    scales = np.sqrt(np.linspace(1.0, 1.0 / kappa, r))
    u, v = (np.linalg.qr(rng.standard_normal((d, r)))[0] * scales for d in (d1, d2))
    truth = u @ v.T
    data, _ = corrupted(truth, share, rng)
    start = (near(u, rng), near(v, rng))
    rows, columns = np.nonzero(rng.random(truth.shape) < seen)
    sensing = None if seen == 1.0 else Entries(rows, columns)
    b = data if seen == 1.0 else data[rows, columns]
    problem = gnp.composite(gnp.LowRank(), gnp.L1(b), sensing=sensing)
    return problem, start, lambda x: relative(x[0] @ x[1].T, truth)


def cp(x):
    """Σ aᵢ ⊗ bᵢ ⊗ cᵢ."""
    return jnp.einsum("ir,jr,kr->ijk", *x)


def cp_tensor(d=10, r=2, share=0.2, seed=0):
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((3, d, r))
    truth = np.einsum("ir,jr,kr->ijk", *factors)
    data, _ = corrupted(truth, share, rng)
    problem = gnp.composite(cp, gnp.L1(data))
    return problem, tuple(near(factors, rng)), lambda x: relative(np.einsum("ir,jr,kr->ijk", *x), truth)


def decay(x, t):
    """A sum of two exponentials."""
    return x[0] * jnp.exp(-x[1] * t) + x[2] * jnp.exp(-x[3] * t)


TRUTH = np.array([2.0, 0.5, 3.0, 2.5])


def curve(share=0.2, noise=0.0, seed=0, points=200):
    """The curve's problem, and which of its data are bad."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 5, points)
    y = TRUTH[0] * np.exp(-TRUTH[1] * t) + TRUTH[2] * np.exp(-TRUTH[3] * t) + noise * rng.standard_normal(points)
    bad = rng.random(points) < share
    y[bad] += rng.uniform(-4, 8, bad.sum())
    return gnp.composite(decay, gnp.L1(y), args=(t,)), bad
