"""Models at every scale, with the derivative that they have or with a mistake in it.

What a family computes is one program; scales, offsets and mistakes are numbers in its data, so that hundreds of models
cost a dozen compilations. A mistake multiplies what one parameter contributes to Ju by a factor: 1 is none.
"""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np

import gnpolyak as gnp

T = np.linspace(0.1, 2.0, 9)
# One entry wrong by a hundredth, of the wrong sign, forgotten, with another unit, or doubled.
FACTORS = (1.01, 0.99, -1.0, 0.0, 1e3, 2.0)


def exponentials(y, level):
    return level * (y[0] * jnp.exp(-y[1] * T) + y[2] * jnp.exp(-y[3] * T))


def offset(y, level):
    """Values that change in their last digits only."""
    return level * (1e6 + y[0] * jnp.sin(T) + y[1] * T + y[2] * y[3] * jnp.cos(T))


def cancelling(y, level):
    """Two large squares, of which little is left."""
    return level * ((1e4 + y[:, None] * T) ** 2 - 1e8)


def oscillating(y, level):
    return level * jnp.sin(300 * y[0] * T + y[1]) * (1 + y[2] ** 2) * jnp.cos(40 * y[3])


def product(y, level):
    return level * jnp.prod(y) * (1 + T) + level * y[0] * T


def rational(y, level):
    return level * (y[0] + y[1] * T) / (1 + (y[2] * T) ** 2 + jnp.abs(y[3]))


def powers(y, level):
    return level * jnp.abs(y[:, None] * T) ** 2.5


def saturated(y, level):
    return level * (jnp.tanh(y[0] * T) + jnp.log1p(jnp.exp(y[1] * T)) + jnp.arctan(y[2] + T) * y[3])


def affine(y, level):
    return level * (y @ np.array([[1.0] * 9, T, T - 1, T**2]) + 3)


def mixed(y, level):
    """Numbers of very different sizes in one image."""
    return level * jnp.concatenate([1e-8 * jnp.exp(y), 1e8 * y**2, jnp.sin(y)])


FAMILIES = (exponentials, offset, cancelling, oscillating, product, rational, powers, saturated, affine, mixed)


@cache
def stated(family, tree):
    """The model of parameters x = scale · y, of an array or of a tree, whose Ju is that of `factors` times u."""

    def right(x, scale, level):
        y = jnp.concatenate([x["a"], x["b"]["c"]]) if tree else x
        return family(y / scale, level)

    @jax.custom_jvp
    def model(x, factors, scale, level):
        return right(x, scale, level)

    @model.defjvp
    def _(primals, tangents):
        x, factors, *rest = primals
        u = jax.tree.map(jnp.multiply, factors, tangents[0])
        return jax.jvp(lambda x: right(x, *rest), (x,), (u,))

    return model


def drawn(family, seed, wrong):
    """A map, where to look at it, and what is wrong with it."""
    rng = np.random.default_rng([seed, FAMILIES.index(family)])
    tree, single = seed % 3 == 1, seed % 3 == 2
    # Single precision ends at 1e-38 and 1e38, also for powers.
    most = 6 if single else 12
    scale, level = 10.0 ** rng.uniform(-most, most, 4), 10.0 ** rng.uniform(-most, most)
    x = scale * rng.uniform(0.4, 1.6, 4) * rng.choice([-1.0, 1.0], 4)
    factors, place = np.ones(4), int(rng.integers(4))
    if wrong:
        factors[place] = FACTORS[seed % len(FACTORS)]
    if tree:
        x, factors = ({"a": each[:1], "b": {"c": each[1:]}} for each in (x, factors))
    elif single:
        x = x.astype(np.float32)
    c = gnp.AutodiffMap(stated(family, tree), (factors, scale, np.array(level)))
    return c, x, f"{family.__name__} {seed}: {factors}"


def library(rng, size):
    """The library's own maps, at variables of any size."""
    low, triple = [rng.standard_normal((d, 2)) for d in (5, 4)], [rng.standard_normal((d, 2)) for d in (4, 3, 5)]
    core = rng.standard_normal((2, 2, 2)), tuple(triple)
    for c, x in (
        (gnp.LowRank(), tuple(low)),
        (gnp.SymmetricCP(2), low[0]),
        (gnp.SymmetricCP(3), low[0]),
        (gnp.CP(), tuple(triple)),
        (gnp.Tucker(), core),
        (gnp.Hadamard(), (low[0], low[0] * rng.uniform(0.5, 2.0, low[0].shape))),
        (gnp.Hermitian(), low[0] + 1j * rng.standard_normal((5, 2))),
        (gnp.RelativeRotations([0, 1, 2], [1, 2, 0]), rng.standard_normal((3, 4))),
        (gnp.Linear(size * rng.standard_normal((6, 3))), rng.standard_normal(3)),
    ):
        yield c, jax.tree.map(lambda leaf: size * leaf, x)
