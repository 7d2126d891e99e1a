"""What is wrong with a part, the conformance suite names."""

import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.problem.capabilities import CURVATURE, DISTANCE, GAUGE, GRAM, GRAM_PINV, IMAGE

NAMES = ["push", "pull", "gram", "gram_pinv", "gram_pinv, damped", "curvature", "inner", "distance", "gauge"]


class Square(gnp.Map):
    """c(x) = x ⊙ x, with all that it knows, and one of it wrong."""

    # Numbers and not a name, so that one compilation serves all of them.
    factors: dict

    def __init__(self, wrong=None):
        self.factors = {name: np.asarray(1.01 if name == wrong else 1.0) for name in NAMES}

    @property
    def offers(self):
        return frozenset({IMAGE, GRAM, GRAM_PINV, CURVATURE, DISTANCE, GAUGE})

    def __call__(self, x):
        return x * x

    def linearize(self, x):
        return lambda z: self.factors["push"] * 2 * x * z, lambda v: self.factors["pull"] * 2 * x * v

    def gram(self, x):
        return lambda z: self.factors["gram"] * 4 * x * x * z

    def gram_pinv(self, x, g, damping=0.0):
        return g / (self.factors["gram_pinv"] * 4 * x * x + self.factors["gram_pinv, damped"] * damping)

    def curvature(self, x, s):
        return jnp.linalg.norm(2 * s * s) / self.factors["curvature"]

    def inner(self, x, y):
        return self.factors["inner"] * jnp.sum(x * x * y * y)

    def distance(self, x, y):
        return self.factors["distance"] * jnp.linalg.norm((x - y) * (x + y))

    def gauge(self, x, rng):
        return self.factors["gauge"] * x * rng.choice([-1.0, 1.0], x.shape)


POINT = np.array([3.0, -1.0, 0.5])


def test_a_right_map_passes():
    errors = gnp.testing.check_map(Square(), POINT)
    assert set(NAMES) <= set(errors)


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_map_is_found_and_the_wrong_thing_named(name):
    with pytest.raises(AssertionError, match=f"Square does not conform.*{name}: "):
        gnp.testing.check_map(Square(name), POINT)


class Halved(gnp.Sensing):
    """Half of the image, with an adjoint that forgets the half."""

    def apply(self, image):
        return image / 2

    def measure(self, c, x):
        _, pull = c.linearize(x)
        return self.apply(c(x)), pull


def test_a_wrong_adjoint_is_found():
    with pytest.raises(AssertionError, match="pullback: 1,"):
        gnp.testing.check_sensing(Halved(), Square(), POINT)


@pytest.mark.parametrize(
    ("value", "subgradient", "named"),
    [
        (lambda z: jnp.sum(jnp.abs(z)), lambda z: -jnp.sign(z), "slope"),
        (lambda z: jnp.sum(jnp.abs(z)), lambda z: jnp.where(z == 0, 2.0, jnp.sign(z)), "subgradient inequality"),
        (lambda z: jnp.sum(jnp.abs(z)), lambda z: z / jnp.abs(z), "finite"),
        (lambda z: jnp.sum(jnp.abs(z)) - 1.0, jnp.sign, "infimum"),
    ],
    ids=["slope", "at a kink", "NaN at a kink", "infimum"],
)
def test_a_wrong_penalty_is_found(value, subgradient, named):
    with pytest.raises(AssertionError, match=named):
        gnp.testing.check_penalty(gnp.CustomPenalty(value, subgradient, infimum=0.0), (4,))


class Doubled(gnp.Kernel):
    """A kernel for another objective, twice as large."""

    def evaluate(self, c, sensing, penalty, x):
        r = x * x - penalty.b
        return 2 * jnp.sum(jnp.abs(r)), 4 * x * jnp.sign(r)


def test_a_wrong_kernel_is_found(monkeypatch):
    monkeypatch.setitem(gnp.tables.kernels, (Square, gnp.Identity, gnp.L1), Doubled())
    with pytest.raises(AssertionError, match=r"value: 1, .*subgradient: 1,"):
        gnp.testing.check_kernel(gnp.composite(Square(), gnp.L1(np.ones(3))), POINT)


class Careless(gnp.Kernel):
    """A right oracle with wrong measurements, and products that are each wrong in another way."""

    def evaluate(self, c, sensing, penalty, x):
        r = x * x - penalty.b
        return jnp.sum(jnp.abs(r)), 2 * x * jnp.sign(r)

    def measure(self, c, sensing, penalty, x):
        return 2 * x * x, None

    def linearised(self, c, sensing, penalty, x, kept=None):
        return gnp.Products(
            push=lambda z: 4 * x * z, pull=lambda v: 6 * x * v, product=lambda z, w: (8 * x * z, w * 12 * x * x * z)
        )


def test_wrong_products_are_found(monkeypatch):
    monkeypatch.setitem(gnp.tables.kernels, (Square, gnp.Identity, gnp.L1), Careless())
    found = r"conform: measure: 1, .*push: 1, .*pull: 2, .*product, pushed: 3, .*product, pulled: 2"
    with pytest.raises(AssertionError, match=found):
        gnp.testing.check_kernel(gnp.composite(Square(), gnp.L1(np.ones(3))), POINT)
