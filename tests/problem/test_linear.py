"""Linear measurements in each form that A can have, against a dense matrix and its pseudo-inverse."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse

import gnpolyak as gnp
from gnpolyak.base.arrays import precise
from gnpolyak.oracles import oracle_for

D, R, M = (5, 4), 1, 60


def dense():
    return np.random.default_rng(0).standard_normal((M, *D)) * (np.random.default_rng(1).random((M, *D)) < 0.4)


def functions(rows):
    return lambda image: jnp.tensordot(rows, image, 2), lambda v: jnp.tensordot(v, rows, 1)


FORMS = {
    "array": lambda rows: rows,
    "matrix": lambda rows: rows.reshape(M, -1),
    "csr": lambda rows: scipy.sparse.csr_matrix(rows.reshape(M, -1)),
    "coo array": lambda rows: scipy.sparse.coo_array(rows.reshape(M, -1)),
    "functions": functions,
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_measures_as_the_matrix_does(form):
    rows, rng = dense(), np.random.default_rng(2)
    x = tuple(rng.standard_normal((d, R)) for d in D)
    with precise(True):
        sensing, v = gnp.LinearSensing(FORMS[form](rows)), rng.standard_normal(M)
        z, pullback = sensing.measure(gnp.LowRank(), tuple(map(jnp.asarray, x)))
        image = (rows.reshape(M, -1).T @ v).reshape(D)
        assert np.allclose(z, rows.reshape(M, -1) @ (x[0] @ x[1].T).ravel(), rtol=0, atol=1e-13)
        assert np.allclose(pullback(jnp.asarray(v))[0], image @ x[1], rtol=0, atol=1e-13)
        assert np.allclose(sensing.adjoint(jnp.zeros(D), jnp.asarray(v)), image, rtol=0, atol=1e-13)


def test_products_use_the_functions_and_nothing_is_transposed():
    """The forward function is one that JAX cannot transpose, and the adjoint is told by a factor of two."""
    rows, rng = dense().reshape(M, -1), np.random.default_rng(2)
    forward = lambda image: jax.pure_callback(  # noqa: E731
        lambda a: rows @ np.asarray(a).ravel(), jax.ShapeDtypeStruct((M,), np.float64), image
    )
    sensing = gnp.LinearSensing((forward, lambda v: 2 * (v @ rows).reshape(D)))
    with precise(True):
        x, z = (tuple(jnp.asarray(rng.standard_normal((d, R))) for d in D) for _ in range(2))
        problem, v = gnp.composite(gnp.LowRank(), gnp.L1(np.zeros(M)), sensing=sensing), rng.standard_normal(M)
        products = oracle_for(problem, x).linearise(x)
        image = z[0] @ x[1].T + x[0] @ z[1].T
        assert np.allclose(products.push(z), rows @ np.asarray(image).ravel(), rtol=1e-12)
        assert np.allclose(products.pull(jnp.asarray(v))[0], 2 * (v @ rows).reshape(D) @ x[1], rtol=1e-12)


def test_sparse_entries_that_repeat_are_added():
    twice = scipy.sparse.coo_matrix((np.array([1.0, 2.0, 5.0]), ([1, 1, 0], [2, 2, 0])), shape=(2, 3))
    with precise(True):
        assert np.array_equal(gnp.LinearSensing(twice).apply(jnp.ones(3)), [5.0, 3.0])


def test_what_the_functions_capture_is_read_at_each_solve():
    rows = np.array([[2.0, 0.0], [0.0, 1.0]])
    sensing = gnp.LinearSensing((lambda image: jnp.asarray(rows) @ image, lambda v: jnp.asarray(rows).T @ v))
    problem = gnp.composite(lambda x: x, gnp.L1(np.array([2.0, 3.0])), sensing=sensing)
    assert np.allclose(gnp.minimize(problem, np.zeros(2)).x, [1.0, 3.0])
    rows[0, 0] = 4.0
    assert np.allclose(gnp.minimize(problem, np.zeros(2)).x, [0.5, 3.0])


def test_a_wrong_adjoint_is_found():
    rows = np.random.default_rng(3).standard_normal((6, 4))
    wrong = gnp.LinearSensing(
        (lambda image: rows.astype(image.dtype) @ image, lambda v: 1.001 * (rows.T.astype(v.dtype) @ v))
    )
    with pytest.raises(AssertionError, match="pullback"):
        gnp.testing.check_sensing(wrong, gnp.SymmetricCP(2), np.ones((4, 1)))
    problem = gnp.composite(gnp.SymmetricCP(2), gnp.L1(np.zeros((6, 4))), sensing=wrong)
    assert not gnp.diagnostics.check_adjoint(problem, np.ones((4, 1))).passed


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (np.ones((3, 5)), "image of shape"),
        (np.ones((3, 2, 2, 1)), "image of shape"),
        (np.ones(4), "an axis for the measurements"),
        (lambda image: image, "the adjoint"),
        ((lambda image: image.sum(), lambda v: v), "from the adjoint"),
        (scipy.sparse.eye_array(3, 5), "image of shape"),
    ],
)
def test_what_does_not_fit_is_named(given, told):
    with pytest.raises(gnp.InputError, match=told):
        gnp.minimize(
            gnp.composite(lambda x: x.reshape(2, 2), gnp.L1(np.zeros(3)), sensing=gnp.LinearSensing(given)), np.ones(4)
        )
