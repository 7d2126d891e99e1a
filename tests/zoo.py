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


def cp_tensor(d=10, r=2, share=0.2, seed=0, kappa=1.0):
    """A tensor of rank r whose terms differ in size by κ."""
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((3, d, r)) * np.linspace(1.0, 1.0 / kappa, r) ** (1 / 3)
    truth = np.einsum("ir,jr,kr->ijk", *factors)
    data, _ = corrupted(truth, share, rng)
    problem = gnp.composite(cp, gnp.L1(data))
    return problem, tuple(near(factors, rng)), lambda x: relative(np.einsum("ir,jr,kr->ijk", *x), truth)


def tucker(x):
    """A core of (3, 3, 3) between three factors."""
    return jnp.einsum("abc,ia,jb,kc->ijk", *x)


def tucker_tensor(d=20, kappa=1.0, share=0.2, seed=0):
    """A Tucker tensor whose factors have singular values from 1 to 1/κ."""
    rng = np.random.default_rng(seed)
    core = rng.standard_normal((3, 3, 3))
    factors = [np.linalg.qr(rng.standard_normal((d, 3)))[0] * np.linspace(1.0, 1.0 / kappa, 3) for _ in range(3)]
    truth = np.einsum("abc,ia,jb,kc->ijk", core, *factors)
    data, _ = corrupted(truth, share, rng)
    start = tuple(near(a, rng) for a in (core, *factors))
    problem = gnp.composite(tucker, gnp.L1(data))
    return problem, start, lambda x: relative(np.einsum("abc,ia,jb,kc->ijk", *x), truth)


def convolution(x, channel, signal):
    """The circular convolution of two vectors, each in a subspace of its own."""
    spectra = (jnp.fft.rfft(basis @ part) for basis, part in zip((channel, signal), x, strict=True))
    return jnp.fft.irfft(jnp.prod(jnp.stack(list(spectra)), axis=0), len(channel))


def blind_deconvolution(m=400, n=20, kappa=1.0, share=0.2, seed=0):
    """A convolution of two unknown vectors, in subspaces whose bases have singular values from 1 to 1/κ."""
    rng = np.random.default_rng(seed)
    scales = np.linspace(1.0, 1.0 / kappa, n)
    bases = tuple(np.linalg.qr(rng.standard_normal((m, n)))[0] * scales for _ in range(2))
    parts = tuple(rng.standard_normal(n) for _ in range(2))
    with jax.enable_x64(True):
        truth = np.asarray(convolution(parts, *map(jnp.asarray, bases)))
    data, _ = corrupted(truth, share, rng)
    problem = gnp.composite(convolution, gnp.L1(data), args=bases)
    known = np.outer(*parts)
    return problem, tuple(near(a, rng) for a in parts), lambda x: relative(np.outer(*x), known)


class Bilinear(gnp.Sensing):
    """Measurements pᵢᵀ M qᵢ of a matrix."""

    p: jax.Array
    q: jax.Array

    def apply(self, image):
        return jnp.sum((self.p @ image) * self.q, axis=1)


def bilinear_sensing(d1=40, d2=30, r=3, kappa=10.0, share=0.2, seed=0):
    """A matrix of rank r from 8 r (d1 + d2) bilinear measurements."""
    rng = np.random.default_rng(seed)
    scales = np.sqrt(np.linspace(1.0, 1.0 / kappa, r))
    u, v = (np.linalg.qr(rng.standard_normal((d, r)))[0] * scales for d in (d1, d2))
    p, q = (rng.standard_normal((8 * r * (d1 + d2), d)) for d in (d1, d2))
    data, _ = corrupted(np.sum((p @ u) * (q @ v), axis=1), share, rng)
    problem = gnp.composite(gnp.LowRank(), gnp.L1(data), sensing=Bilinear(p, q))
    return problem, (near(u, rng), near(v, rng)), lambda x: relative(x[0] @ x[1].T, u @ v.T)


def rotation(w):
    """exp([w]ₓ) by Rodrigues' formula."""
    t = jnp.sqrt(jnp.sum(w * w, -1) + 1e-24)[..., None, None]
    zero = jnp.zeros_like(w[..., 0])
    entries = [zero, -w[..., 2], w[..., 1], w[..., 2], zero, -w[..., 0], -w[..., 1], w[..., 0], zero]
    k = jnp.stack(entries, -1).reshape(*w.shape[:-1], 3, 3)
    return jnp.eye(3) + jnp.sin(t) / t * k + (1 - jnp.cos(t)) / t**2 * k @ k


def relative_rotations(w, i, j):
    r = rotation(w)
    return jnp.einsum("nij,nkj->nik", r[i], r[j])


def synchronisation(seed, n=50, wrong=0.3, away=0.1):
    """Relative rotations of a third of all pairs, some of them any rotation, and a start `away` radians off."""
    rng = np.random.default_rng(seed)
    w = rng.standard_normal((n, 3))
    i, j = np.nonzero(np.triu(rng.random((n, n)) < 0.3, 1))
    with jax.enable_x64(True):
        clean = np.array(relative_rotations(jnp.asarray(w), i, j))
        bad = rng.random(len(i)) < wrong
        given = clean.copy()
        given[bad] = np.asarray(rotation(jnp.asarray(2 * rng.standard_normal((bad.sum(), 3)))))
    step = rng.standard_normal((n, 3))
    x0 = w + away * step / np.linalg.norm(step, axis=1, keepdims=True)

    def error(x):
        with jax.enable_x64(True):
            return np.abs(np.asarray(relative_rotations(jnp.asarray(x), i, j)) - clean).max()

    return gnp.composite(relative_rotations, gnp.L1(given), args=(i, j)), x0, error


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
