"""Coded patterns against dense matrices, and what they are kept in."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import gnpolyak as gnp
from gnpolyak.base import arrays
from gnpolyak.base.transforms import walsh_hadamard
from gnpolyak.oracles import oracle_for

KINDS = {gnp.FourierSensing: scipy.linalg.dft, gnp.HadamardSensing: scipy.linalg.hadamard}


def rows(sensing):
    """The rows of A, one a measurement: the transform's matrix behind each code."""
    codes = sum(np.asarray(part, float) * turn for part, turn in zip(sensing.codes, (1, 1j), strict=False))
    transform = KINDS[type(sensing)]
    matrix = np.ones((1, 1))
    for side in sensing.shape:
        matrix = np.kron(matrix, transform(side))
    return np.vstack([matrix * code.ravel() for code in codes])


def complex_numbers(rng, *shape):
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


@pytest.mark.parametrize("bits", [0, 1, 4, 5, 6, 11])
def test_the_transform_is_the_matrix(bits):
    z = complex_numbers(np.random.default_rng(bits), 3, 2**bits)
    with arrays.precise(True):
        assert np.allclose(
            walsh_hadamard(jnp, jnp.asarray(z)), z @ scipy.linalg.hadamard(2**bits), atol=1e-12 * 2**bits
        )
        assert walsh_hadamard(jnp, jnp.asarray(z.real)).dtype == float


@pytest.mark.parametrize("given", ["drawn", "complex"])
@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_measurements_and_both_products_are_those_of_the_rows(kind, is_complex, given):
    rng = np.random.default_rng(1)
    sensing = kind.drawn((4, 8), 3, seed=2) if given == "drawn" else kind(complex_numbers(rng, 3, 4, 8))
    p, x, z = rows(sensing), rng.standard_normal((32, 2)), rng.standard_normal((32, 2))
    if is_complex:
        x, z = x + 1j * x[::-1], z - 2j * z[::-1]
    v = rng.standard_normal(len(p))
    c = gnp.Hermitian() if is_complex else gnp.SymmetricCP(2)
    problem = gnp.composite(c, gnp.L1(np.zeros((3, 4, 8))), sensing=sensing)
    with arrays.precise(True):
        measured, pullback = sensing.measure(c, jnp.asarray(x))
        products = oracle_for(problem, jnp.asarray(x)).linearise(jnp.asarray(x))
        pushed, pulled = products.push(jnp.asarray(z)), products.pull(jnp.asarray(v))
        also = pullback(jnp.asarray(v.reshape(3, 4, 8)))
    assert measured.shape == (3, 4, 8)
    assert np.allclose(measured.ravel(), np.sum(np.abs(p @ x) ** 2, axis=1), rtol=1e-12)
    assert np.allclose(pushed, 2 * np.sum((p @ x).conj() * (p @ z), axis=1).real, rtol=1e-10, atol=1e-6)
    expected = 2 * p.conj().T @ (v[:, None] * (p @ x))
    for back in (pulled, also):
        assert np.allclose(back, expected if is_complex else expected.real, rtol=1e-10, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_larger_than_the_patterns_is_ever_formed(kind):
    sensing = kind.drawn((16, 16), 4)
    problem = gnp.composite(gnp.SymmetricCP(2), gnp.L1(np.ones((4, 16, 16))), sensing=sensing)
    with arrays.precise(True):
        program = jax.make_jaxpr(lambda x: problem.evaluate(x).subgradient)(np.ones((256, 1)))
    assert max(out.aval.size for line in program.eqns for out in line.outvars) == 4 * 256


@pytest.mark.parametrize(("kind", "parts"), [(gnp.FourierSensing, 2), (gnp.HadamardSensing, 1)])
def test_codes_take_a_byte_for_each_part(kind, parts):
    sensing = kind.drawn((32, 64), 5, seed=3)
    assert [(part.dtype, part.shape) for part in sensing.codes] == parts * [(np.int8, (5, 32, 64))]
    size = sum(np.asarray(part, float) ** 2 for part in sensing.codes)
    assert size.min() >= 18**2
    assert np.mean(size**2) == pytest.approx(2 * np.mean(size) ** 2, rel=0.05)
    again, other = kind.drawn((32, 64), 5, seed=3), kind.drawn((32, 64), 5, seed=4)
    assert np.array_equal(again.codes[0], sensing.codes[0])
    assert not np.array_equal(other.codes[0], sensing.codes[0])
    broken = kind(np.full((1, 2), 0.5))
    assert broken.codes[0].dtype == float
    assert kind(np.full((1, 2), 200)).codes[0].dtype == float
    assert broken.cast(np.dtype(np.float32)).codes[0].dtype == np.float32


def solve(kind, x0, c=None):
    sensing = kind(np.ones((2, 4)))
    return gnp.minimize(gnp.composite(c or gnp.SymmetricCP(2), gnp.L1(np.ones((2, 4))), sensing=sensing), x0)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: gnp.FourierSensing(np.ones(4)), r"codes of shape \(4,\).*codes\[None\]"),
        (lambda: gnp.FourierSensing(None), "codes of type NoneType"),
        (lambda: gnp.FourierSensing(np.ones((0, 4))), r"codes of shape \(0, 4\)"),
        (lambda: gnp.HadamardSensing(np.ones((2, 3, 4))), r"shape \(3, 4\), 12 entries.*4 more entries.*pad"),
        (lambda: gnp.HadamardSensing(np.full((1, 2), np.nan)), "NaN"),
        (lambda: gnp.FourierSensing.drawn((8, 0)), r"shape=\(8, 0\)"),
        (lambda: gnp.FourierSensing.drawn(8, 0), "patterns=0"),
        (lambda: gnp.FourierSensing.drawn(8, seed=-1), "seed"),
        (lambda: solve(gnp.FourierSensing, np.ones((3, 1))), "3 rows.*reshape"),
        (lambda: solve(gnp.FourierSensing, np.ones((4, 1)), gnp.SymmetricCP(3)), "intensities"),
        (lambda: solve(gnp.HadamardSensing, (np.ones((4, 1)),) * 2, gnp.LowRank()), "intensities"),
    ],
)
def test_what_cannot_be_measured_is_named(wrong, said):
    with pytest.raises(gnp.InputError, match=f"(?s){said}"):
        wrong()
