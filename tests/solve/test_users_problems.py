"""Problems as users have them: complex variables, data of any structure, networks, masks, rotations."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from zoo import synchronisation


def spoiled(b, rng, share=0.1):
    """The data with a share of them replaced by noise of their own size."""
    bad = rng.random(b.shape) < share
    return np.where(bad, np.std(b) * rng.standard_normal(b.shape), b)


# --- complex numbers


def intensities(x, rows):
    return jnp.abs(rows @ x) ** 2


def phase_retrieval(seed=0, n=4, m=60):
    rng = np.random.default_rng(seed)
    rows, truth, off = (rng.standard_normal(s) + 1j * rng.standard_normal(s) for s in ((m, n), (n,), (n,)))
    b = spoiled(np.abs(rows @ truth) ** 2, rng)
    least = np.abs(np.abs(rows @ truth) ** 2 - b).sum()
    return gnp.composite(intensities, gnp.L1(b), args=(rows,)), truth, truth + 0.1 * off, least


@pytest.mark.parametrize("method", ["auto", pytest.param("gnp", marks=pytest.mark.slow)])
def test_a_complex_vector_from_intensities_up_to_its_phase(method):
    problem, truth, x0, least = phase_retrieval()
    optimum = {} if method == "auto" else {"target": least}
    res = gnp.minimize(problem, x0, method, **optimum)
    assert res.success
    assert res.x.dtype == np.complex128
    phase = np.vdot(res.x, truth) / abs(np.vdot(res.x, truth))
    assert np.allclose(phase * res.x, truth, atol=1e-7)


def test_complex_leaves_beside_real_ones():
    """|s| and the phases of a + s·e^{iφ}: a complex and a real leaf, and complex arguments."""
    rng = np.random.default_rng(1)
    waves = np.exp(1j * rng.uniform(0, 6, 30))
    truth = {"amplitude": np.array(2.0 - 1.0j), "offset": np.array([0.5])}

    def model(x, waves):
        z = x["amplitude"] * waves + x["offset"][0]
        return jnp.concatenate([z.real, z.imag])

    z = truth["amplitude"] * waves + truth["offset"]
    b = spoiled(np.concatenate([z.real, z.imag]), rng)
    res = gnp.minimize(
        gnp.composite(model, gnp.L1(b), args=(waves,)), {"amplitude": np.array(1.0 + 0.0j), "offset": np.array([0.0])}
    )
    assert res.success
    assert res.x["amplitude"] == pytest.approx(2.0 - 1.0j, abs=1e-9)
    assert res.x["offset"][0] == pytest.approx(0.5, abs=1e-9)


# --- data of any structure


def test_args_as_a_dictionary():
    rng = np.random.default_rng(2)
    data = {"t": rng.uniform(0, 2, 40), "group": np.arange(40) % 2, "scale": 3.0}

    def model(x, data):
        return data["scale"] * jnp.exp(-x["rate"][data["group"]] * data["t"])

    b = spoiled(3.0 * np.exp(-np.array([0.5, 1.5])[data["group"]] * data["t"]), rng)
    res = gnp.minimize(gnp.composite(model, gnp.L1(b), args=(data,)), {"rate": np.array([0.8, 1.0])})
    assert res.success
    assert np.allclose(res.x["rate"], [0.5, 1.5], atol=1e-9)


def test_an_equinox_network_among_the_arguments(compilations):
    """The network is data; what is sought is the input that it was given."""

    def model(x, network, inputs):
        return jax.vmap(lambda row: network(row * x))(inputs).ravel()

    def solve(seed):
        network = eqx.nn.MLP(3, 2, 8, 1, activation=jnp.tanh, key=jax.random.key(seed))
        rng = np.random.default_rng(seed)
        inputs = rng.standard_normal((30, 3))
        with jax.enable_x64(True):
            b = np.asarray(model(jnp.asarray([1.0, -0.5, 2.0]), network, jnp.asarray(inputs)))
        problem = gnp.composite(model, gnp.L1(spoiled(b, rng)), args=(network, inputs))
        return gnp.minimize(problem, np.array([0.8, -0.6, 1.7]))

    assert np.allclose(solve(0).x, [1.0, -0.5, 2.0], atol=1e-6)
    with compilations() as counted:
        assert np.allclose(solve(1).x, [1.0, -0.5, 2.0], atol=1e-6)
    solver = [name for name in counted.names if name in ("jit(_chunk)", "jit(_start)", "jit(_dual)")]
    assert not solver, "another network's weights are arguments, not constants"


# --- measurements of one's own


class Mask(gnp.Sensing):
    """Some entries of the image."""

    seen: jnp.ndarray

    def apply(self, image):
        return image.ravel()[self.seen]


class Dense(gnp.Sensing):
    """Inner products of the image with the rows of a matrix."""

    rows: jnp.ndarray

    def apply(self, image):
        return self.rows @ image.ravel()


@pytest.mark.parametrize("kind", [pytest.param("mask", marks=pytest.mark.slow), "dense"])
@pytest.mark.parametrize(
    "image",
    [gnp.LowRank(), pytest.param(gnp.SymmetricCP(2), marks=pytest.mark.slow)],
    ids=["low rank", "symmetric"],
)
def test_a_matrix_from_some_of_its_entries_or_combinations_of_them(kind, image):
    rng = np.random.default_rng(6)
    d, r = 25, 2
    x = rng.standard_normal((d, r))
    truth = (x, rng.standard_normal((d, r))) if isinstance(image, gnp.LowRank) else x
    x0 = jax.tree.map(lambda leaf: leaf + 0.1 * rng.standard_normal(leaf.shape), truth)
    full = truth[0] @ truth[1].T if isinstance(truth, tuple) else truth @ truth.T
    seen = np.flatnonzero(rng.random(d * d) < 0.7)
    sensing = Mask(seen) if kind == "mask" else Dense(rng.standard_normal((400, d * d)))
    rows = np.eye(d * d)[seen] if kind == "mask" else sensing.rows
    problem = gnp.composite(image, gnp.L1(spoiled(rows @ full.ravel(), rng)), sensing=sensing)
    res = gnp.minimize(problem, x0)
    assert res.success
    found = res.x[0] @ res.x[1].T if isinstance(res.x, tuple) else res.x @ res.x.T
    assert np.linalg.norm(found - full) < 1e-8 * np.linalg.norm(full)


# --- rotations


def synchronised(seed):
    problem, x0, error = synchronisation(seed)
    res = gnp.minimize(problem, x0, max_calls=2000)
    return res, error(res.x)


@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_rotations_are_synchronised_despite_wrong_pairs(seed):
    res, error = synchronised(seed)
    assert res.success, res.message
    assert error < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_rotations_over_twenty_seeds(seed):
    res, error = synchronised(seed)
    print(f"seed {seed}: {res.status.name}, {res.calls} calls, error {error:.0e}")
    assert res.status is not gnp.Status.LINEAR_SOLVE_FAILED
    assert res.success, res.message
    assert error < 1e-10
