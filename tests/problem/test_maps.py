import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base.arrays import precise
from reference import cp_image, cp_jacobian, factor, pinv_apply

SIZES = {2: 12, 3: 8, 4: 6}


@pytest.fixture(autouse=True)
def float64():
    with precise(True):
        yield


closed_form = jax.jit(gnp.SymmetricCP.gram_pinv)


def relative(a, b):
    return np.linalg.norm(np.ravel(a) - np.ravel(b)) / np.linalg.norm(b)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_image_is_the_sum_of_outer_products(n):
    x = factor(5, 3, 4.0, seed=n)
    assert relative(gnp.SymmetricCP(n)(x), cp_image(x, n)) < 1e-14


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("r", "kappa"), [(1, 1.0), (4, 10.0), (4, 100.0)])
def test_closed_form_is_the_svd_pseudo_inverse(n, r, kappa):
    x = factor(SIZES[n], r, kappa, seed=n)
    jacobian = cp_jacobian(x, n)
    v = np.random.default_rng(3).standard_normal(len(jacobian))
    s, projected = pinv_apply(jacobian, v)
    g = (jacobian.T @ v).reshape(x.shape)
    ours = closed_form(gnp.SymmetricCP(n), x, g)
    assert relative(ours, s) < 1e-10
    assert float(jnp.sum(ours * g)) == pytest.approx(projected, rel=1e-10)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("rank", [1, 2])
def test_closed_form_at_a_rank_deficient_factor_is_minimum_norm(n, rank):
    x = factor(SIZES[n], 4, 5.0, seed=7, rank=rank)
    jacobian = cp_jacobian(x, n)
    assert np.linalg.matrix_rank(jacobian, tol=1e-9) < min(x.size, x.size - (4 * 3 // 2 if n == 2 else 0))
    v = np.random.default_rng(3).standard_normal(len(jacobian))
    s, _ = pinv_apply(jacobian, v)
    ours = closed_form(gnp.SymmetricCP(n), x, (jacobian.T @ v).reshape(x.shape))
    assert relative(ours, s) < 1e-10


@pytest.mark.parametrize("columns", [[0.0, 1.0], [1.0, 1.0]], ids=["zero column", "parallel columns"])
def test_closed_form_with_degenerate_columns_of_a_tensor(columns):
    base = factor(7, 3, 2.0, seed=5)
    x = np.column_stack([base[:, 0], columns[0] * base[:, 0], columns[1] * base[:, 1]])
    jacobian = cp_jacobian(x, 3)
    v = np.random.default_rng(3).standard_normal(len(jacobian))
    s, _ = pinv_apply(jacobian, v)
    assert relative(gnp.SymmetricCP(3).gram_pinv(x, (jacobian.T @ v).reshape(x.shape)), s) < 1e-10


def test_large_rank_is_iterated_to_the_same_answer(monkeypatch):
    monkeypatch.setattr("gnpolyak.problem.maps.reductions._LARGEST_DIRECT_RANK", 2)
    x = factor(8, 4, 5.0, seed=11)
    jacobian = cp_jacobian(x, 3)
    v = np.random.default_rng(3).standard_normal(len(jacobian))
    s, _ = pinv_apply(jacobian, v)
    assert relative(gnp.SymmetricCP(3).gram_pinv(x, (jacobian.T @ v).reshape(x.shape)), s) < 1e-10


def test_rank_of_the_matrix_jacobian_is_not_the_papers():
    """The appendix prints r(r+1)/2; the right rank is dr − r(r−1)/2."""
    assert np.linalg.matrix_rank(cp_jacobian(factor(5, 3, 2.0, seed=0), 2)) == 5 * 3 - 3 == 12


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("size", [1e-1, 1e-6, 1e-11])
def test_image_distance_keeps_its_digits(n, size):
    x, e = factor(6, 3, 3.0, seed=1), np.random.default_rng(2).standard_normal((6, 3))
    y = x + size * e
    # First order in the difference, exact enough once it is small; the image itself where it is not.
    image = cp_image(y, n) - cp_image(x, n) if size > 1e-3 else (cp_jacobian(x, n) @ (size * e).ravel())
    assert float(gnp.SymmetricCP(n).distance(y, x)) == pytest.approx(np.linalg.norm(image), rel=1e-4)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_image_distance_of_factors_of_other_rank_order_and_sign(n):
    x = factor(6, 3, 3.0, seed=1)
    turned = x[:, [2, 0, 1]] * ([1.0, -1.0, -1.0] if n % 2 == 0 else 1.0)
    surplus = np.column_stack([np.zeros(6), turned])
    assert float(gnp.SymmetricCP(n).distance(surplus, x)) < 1e-14
    assert float(gnp.SymmetricCP(n).distance(x, surplus + 1e-9)) < 1e-7


def test_a_map_without_structure_says_what_it_lacks():
    c = gnp.AutodiffMap(lambda x: x)
    for ask in (c.gram_pinv, c.power_forms):
        with pytest.raises(gnp.InputError, match="offers 'image'"):
            ask(jnp.ones(2), jnp.ones(2))
    with pytest.raises(gnp.InputError, match="right_gram"):
        gnp.SymmetricCP(3).right_gram(jnp.ones((2, 1)))
