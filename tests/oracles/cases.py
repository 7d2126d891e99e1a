"""Problems of every kind that an oracle serves, each with a point at which no residual is zero."""

import jax
import jax.numpy as jnp
import numpy as np

import gnpolyak as gnp
from gnpolyak.problem.maps import Map


def around(c, x, sensing=None, penalty=None, seed=0):
    """The problem of data at some distance from the measurements at x."""
    rng = np.random.default_rng(seed)
    sensing = gnp.Identity() if sensing is None else sensing
    z = _measured(sensing, c, x)
    if sensing.on_images and type(sensing) is gnp.Identity and np.iscomplexobj(z):
        return around(c, x, gnp.Parts(), penalty, seed)
    penalty = penalty or (gnp.Amplitude if np.iscomplexobj(z) else gnp.L1)
    far = rng.uniform(0.3, 1.0, z.shape) * rng.choice([-1.0, 1.0], z.shape)
    return gnp.composite(c, penalty((np.abs(z) if np.iscomplexobj(z) else z) + far), sensing=sensing)


def _measured(sensing, c, x):
    if sensing.runs_on_numpy and c.runs_on_numpy:
        return np.asarray(sensing.using(np).measure(c.using(np), x)[0])
    with jax.enable_x64(True):
        return np.asarray(sensing.cast(np.dtype(float)).measure(c, jax.tree.map(jnp.asarray, x))[0])


def weighted(b):
    """L1 with weights, of which some are zero."""
    return gnp.L1(b, weights=np.resize([2.0, 0.0, 0.5, 1.0], np.shape(b)))


def of_tables():
    """The examples of every map and of all measurements, under their names; `around` makes problems of them."""
    for name, kind in gnp.tables.sensing.items():
        for place, (sensing, c, x) in enumerate(kind.examples(np.random.default_rng(0))):
            yield f"{name}-{place}", (c, x, sensing)
    for name, kind in gnp.tables.maps.items():
        for place, (c, x) in enumerate(kind.examples(np.random.default_rng(0))):
            if kind is not gnp.NumpyMap:
                yield f"{name}-{place}", (c, x)


def rows(m, d, seed=0):
    return np.random.default_rng(seed).standard_normal((m, d))


def power(penalty=gnp.L1, n=3):
    x = rows(6, 2, 1)
    return around(gnp.SymmetricCP(n), x, gnp.PowerSensing(rows(40, 6), rows(40, 6, 2)), penalty), x


def bilinear(penalty=gnp.L1):
    x = rows(5, 2, 1), rows(4, 2, 2)
    return around(gnp.LowRank(), x, gnp.BilinearSensing(rows(30, 5), rows(30, 4, 3)), penalty), x


def entries(penalty=gnp.L1):
    x = rows(7, 2, 1), rows(6, 2, 2)
    seen = np.random.default_rng(0).random((7, 6)) < 0.7
    return around(gnp.LowRank(), x, gnp.Entries(seen), penalty), x


def whitened():
    x, root = rows(6, 2, 1), np.diag(np.arange(1.0, 7.0)) + 0.5
    sensing = gnp.problem.sensing.Whitened(gnp.PowerSensing(rows(40, 6), rows(40, 6, 2)), root, np.linalg.inv(root))
    return around(gnp.SymmetricCP(2), x, sensing), x


def amplitude():
    x = rows(4, 2, 1) + 1j * rows(4, 2, 2)
    sensing = gnp.LinearSensing(rows(9, 16) + 1j * rows(9, 16, 3))
    return around(gnp.Hermitian(), x, sensing, gnp.Amplitude), x


def groups():
    x = rows(5, 2, 1), rows(4, 2, 2)
    return around(gnp.LowRank(), x, penalty=gnp.L21), x


PENALTIES = {
    "Pinball": lambda: bilinear(lambda b: gnp.Pinball(b, 0.3)),
    "Pinball of powers": lambda: power(lambda b: gnp.Pinball(b, 0.7)),
    "weights": lambda: bilinear(weighted),
    "weights of entries": lambda: entries(weighted),
    "weights of powers": lambda: power(weighted),
    "L2": lambda: bilinear(gnp.L2),
    "L21": groups,
    "Amplitude": amplitude,
}
"""Problems by what is special about their penalty."""


class Squares(Map):
    """A user's own map with a closed form, in jax.numpy alone."""

    @property
    def offers(self):
        can = gnp.capabilities
        return frozenset({can.IMAGE, can.GRAM, can.GRAM_PINV, can.CURVATURE})

    def __call__(self, x):
        return x * x

    def gram_pinv(self, x, g, damping=0.0):
        d = 4 * x * x
        return jnp.where(d > 0, g / jnp.where(d > 0, d + damping, 1.0), 0.0)


TIMES = np.linspace(0.1, 2.0, 12)


def decay(x, t):
    return x["a"] * jnp.exp(-x["b"] * t[:, None]).sum(axis=1)


def model(penalty=gnp.L1):
    x = {"a": np.array(1.5), "b": np.array([0.7, 1.3])}
    return around(gnp.AutodiffMap(decay, (TIMES,)), x, penalty=penalty), x
