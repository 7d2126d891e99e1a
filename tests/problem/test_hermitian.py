"""Complex factors: the map XXᴴ, measurements of power with complex rows, Pauli strings, amplitudes."""

from functools import reduce

import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base.arrays import precise

PAULI = {"I": np.eye(2), "X": np.array([[0, 1], [1, 0]]), "Y": np.array([[0, -1j], [1j, 0]]), "Z": np.diag([1, -1])}


@pytest.fixture(autouse=True)
def float64():
    with precise(True):
        yield


def drawn(rng, *shape):
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def real_jacobian(x):
    """The derivative of XXᴴ in real and imaginary parts, column by column from J Z = ZXᴴ + XZᴴ."""
    columns = []
    for unit in (1.0, 1j):
        for index in np.ndindex(x.shape):
            z = np.zeros(x.shape, complex)
            z[index] = unit
            image = (z @ x.conj().T + x @ z.conj().T).ravel()
            columns.append(np.concatenate([image.real, image.imag]))
    return np.array(columns).T


@pytest.mark.parametrize(("d", "r"), [(6, 1), (6, 3), (4, 4)])
def test_the_rank_and_the_pseudo_inverse(d, r):
    rng = np.random.default_rng(d + r)
    x = drawn(rng, d, r) * np.geomspace(1.0, 0.1, r)
    jacobian = real_jacobian(x)
    assert np.linalg.matrix_rank(jacobian) == 2 * d * r - r * r
    g = jacobian.T @ rng.standard_normal(len(jacobian))
    for damping in (0.0, 0.3):
        system = jacobian.T @ jacobian + damping * np.eye(2 * x.size)
        expected = np.linalg.pinv(system, rcond=1e-12, hermitian=True) @ g
        found = np.asarray(gnp.Hermitian().gram_pinv(x, (g[: x.size] + 1j * g[x.size :]).reshape(x.shape), damping))
        assert np.allclose(np.concatenate([found.real.ravel(), found.imag.ravel()]), expected, rtol=1e-9, atol=1e-11)


def test_distances_of_other_ranks_and_of_near_points():
    rng = np.random.default_rng(0)
    x, y = drawn(rng, 7, 2), drawn(rng, 7, 3)
    c = gnp.Hermitian()
    assert float(c.distance(x, y)) == pytest.approx(np.linalg.norm(x @ x.conj().T - y @ y.conj().T), rel=1e-12)
    assert float(c.distance(x, np.asarray(c.gauge(x, rng)))) < 1e-14 * np.linalg.norm(x) ** 2


def test_complex_rows_measure_the_squares_of_a_product():
    rng = np.random.default_rng(1)
    p, q, x = drawn(rng, 9, 4), drawn(rng, 9, 4), drawn(rng, 4, 2)
    expected = np.sum(np.abs(p @ x) ** 2 - np.abs(q @ x) ** 2, axis=1)
    assert np.allclose(gnp.PowerSensing(p, q).measure(gnp.Hermitian(), jnp.asarray(x))[0], expected)


def test_complex_rows_of_a_real_variable_are_refused():
    p = drawn(np.random.default_rng(1), 9, 4)
    problem = gnp.composite(gnp.SymmetricCP(2), gnp.L1(np.ones(9)), sensing=gnp.PowerSensing(p))
    with pytest.raises(gnp.InputError, match="complex measurement vectors"):
        gnp.minimize(problem, np.ones((4, 1)))
    problem = gnp.composite(gnp.Hermitian(), gnp.L1(np.ones(9)), sensing=gnp.PowerSensing(p))
    with pytest.raises(gnp.InputError, match="astype"):
        gnp.minimize(problem, np.ones((4, 1)))


def test_complex_rows_that_are_not_isotropic_are_whitened():
    rng = np.random.default_rng(2)
    mixing = drawn(rng, 8, 8) @ np.diag(np.geomspace(1.0, 30.0, 8))
    rows = drawn(rng, 400, 8) @ mixing
    sensing = gnp.PowerSensing(rows)
    change = sensing.whitened()
    white = rows @ np.asarray(change.inverse)
    assert np.linalg.cond(rows.conj().T @ rows) > 100
    assert np.linalg.cond(white.conj().T @ white) < 10
    x = drawn(rng, 8, 1)
    measured = [s.measure(gnp.Hermitian(), jnp.asarray(y))[0] for s, y in ((sensing, x), (change, change.into(x)))]
    assert np.allclose(*measured)
    assert gnp.PowerSensing(drawn(rng, 400, 8)).whitened().__class__ is gnp.PowerSensing


@pytest.mark.parametrize("qubits", [1, 2, 3])
def test_pauli_strings_against_their_matrices(qubits):
    rng = np.random.default_rng(qubits)
    strings = ["".join(rng.choice(list("IXYZ"), qubits)) for _ in range(20)]
    x = drawn(rng, 2**qubits, 2)
    state = x @ x.conj().T
    expected = [np.trace(reduce(np.kron, [PAULI[letter] for letter in string]) @ state).real for string in strings]
    found = gnp.PauliSensing(qubits, strings).measure(gnp.Hermitian(), jnp.asarray(x))[0]
    assert np.allclose(found, expected, atol=1e-12)


def test_all_strings_are_a_basis():
    """Σ_k tr(P_k M) P_k = 2^q M."""
    sensing = gnp.PauliSensing(3)
    state = drawn(np.random.default_rng(4), 8, 8)
    state = jnp.asarray(state + state.conj().T)
    assert np.allclose(sensing.adjoint(state, sensing.apply(state)), 8 * state)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((0,), "qubits=0"),
        ((2, ["XYZ"]), "'XYZ'"),
        ((2, ["xy"]), "'xy'"),
        ((2, np.array([[0, 4]])), "masks from 0 to 3"),
        ((2, "XY"), "paulis of type str"),
    ],
)
def test_bad_strings(arguments, expected):
    with pytest.raises(gnp.InputError, match=expected):
        gnp.PauliSensing(*arguments)


def test_a_state_of_other_size_is_refused():
    problem = gnp.composite(gnp.Hermitian(), gnp.L1(np.ones(16)), sensing=gnp.PauliSensing(2))
    with pytest.raises(gnp.InputError, match="shape"):
        gnp.minimize(problem, np.ones((3, 1), complex))


def test_amplitudes_of_complex_numbers():
    rng = np.random.default_rng(5)
    z, b = drawn(rng, 30), rng.uniform(0.5, 2.0, 30)
    penalty = gnp.Amplitude(b)
    assert float(penalty.value(z)) == pytest.approx(np.sum(np.abs(np.abs(z) - b)))
    v, u = np.asarray(penalty.subgradient(z)), drawn(rng, 30)
    ends = [float(penalty.value(z + t * u)) for t in (1e-7, -1e-7)]
    assert (ends[0] - ends[1]) / 2e-7 == pytest.approx(np.sum((v.conj() * u).real), rel=1e-6)
    assert np.array_equal(penalty.subgradient(np.zeros(30, complex)), np.zeros(30))


@pytest.mark.parametrize("kind", [float, complex])
def test_amplitudes_with_outliers_are_fitted_exactly(kind):
    """Exact by the default method, to rounding: the graduated steps linearise |z|, not z."""
    rng = np.random.default_rng(6)
    d, m = 20, 200
    made = drawn if kind is complex else lambda rng, *shape: rng.standard_normal(shape)
    rows, x, away = made(rng, m, d), made(rng, d), made(rng, d)
    b = np.abs(rows @ x)
    b = b + np.where(rng.random(m) < 0.2, 10 * np.median(b) * rng.standard_normal(m), 0.0)
    problem = gnp.composite(lambda x, rows: rows @ x, gnp.Amplitude(b), args=(rows,))
    res = gnp.minimize(problem, x + 0.1 * np.linalg.norm(x) * away / np.linalg.norm(away))
    assert res.success
    phase = np.vdot(res.x, x) / np.abs(np.vdot(res.x, x))
    assert np.linalg.norm(phase * res.x - x) < 1e-12 * np.linalg.norm(x)


def test_other_penalties_say_what_to_do_with_complex_measurements():
    problem = gnp.composite(lambda x: jnp.exp(1j * x), gnp.L1(np.ones(2)))
    with pytest.raises(gnp.InputError, match="Parts"):
        gnp.minimize(problem, np.ones(2))


def test_entries_of_a_hermitian_matrix_by_their_parts():
    rng = np.random.default_rng(7)
    x = drawn(rng, 12, 2)
    image = x @ x.conj().T
    b = np.stack([image.real, image.imag], axis=-1)
    b = b + np.where(rng.random(b.shape) < 0.1, 10 * rng.standard_normal(b.shape), 0.0)
    problem = gnp.composite(gnp.Hermitian(), gnp.L1(b), sensing=gnp.Parts())
    res = gnp.minimize(problem, x + 0.1 * drawn(rng, 12, 2), "graduated")
    assert res.success
    assert np.linalg.norm(res.x @ res.x.conj().T - image) < 1e-12 * np.linalg.norm(image)
