"""CP, Tucker, Hadamard and sums of maps, against Jacobians that are built from unit vectors in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base.arrays import precise
from gnpolyak.problem.maps import compressed


@pytest.fixture(autouse=True)
def float64():
    with precise(True):
        yield


def cp_image(factors):
    letters = "abcdef"[: len(factors)]
    return np.einsum(",".join(f"{k}z" for k in letters) + f"->{letters}", *factors)


def tucker_image(x):
    core, factors = x
    letters, ranks = "abcdef"[: core.ndim], "uvwxyz"[: core.ndim]
    return np.einsum(
        f"{ranks}," + ",".join(map("".join, zip(letters, ranks, strict=True))) + f"->{letters}", core, *factors
    )


def jacobian(image, x):
    """The images of unit vectors put in the place of one array: each of these maps is linear in each of its arrays."""
    leaves, structure = jax.tree.flatten(x)
    columns = []
    for place, leaf in enumerate(leaves):
        for k in range(leaf.size):
            unit = np.zeros(leaf.size)
            unit[k] = 1.0
            changed = [*leaves[:place], unit.reshape(leaf.shape), *leaves[place + 1 :]]
            columns.append(image(jax.tree.unflatten(structure, changed)).ravel())
    return np.column_stack(columns)


def flat(x):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(x)])


def like(u, x):
    leaves, structure = jax.tree.flatten(x)
    ends = np.cumsum([leaf.size for leaf in leaves])[:-1]
    parts = [part.reshape(leaf.shape) for part, leaf in zip(np.split(u, ends), leaves, strict=True)]
    return jax.tree.unflatten(structure, parts)


def worst(c, x, dense, rank, dampings=(0.0, 1e-2), trials=2):
    """The largest relative error of gram_pinv, for gradients in the range."""
    left, singular, right = np.linalg.svd(dense, full_matrices=False)
    left, singular, right = left[:, :rank], singular[:rank], right[:rank]
    rng, errors = np.random.default_rng(0), []
    solve = jax.jit(c.gram_pinv)
    for damping in dampings:
        for _ in range(trials):
            v = left.T @ rng.standard_normal(len(dense))
            expected = right.T @ (singular / (singular**2 + damping) * v)
            found = flat(solve(x, like(right.T @ (singular * v), x), damping))
            errors.append(np.linalg.norm(found - expected) / np.linalg.norm(expected))
    return max(errors)


def cp_factors(shape, r, sizes=1.0):
    rng = np.random.default_rng(sum(shape))
    return tuple(rng.standard_normal((d, r)) * sizes for d in shape)


CP_CASES = {
    "three": (cp_factors((6, 5, 4), 3), 3 * (15 - 2)),
    # Terms of sizes 1, 1e-3 and 1e-6, unevenly spread over their vectors.
    "sizes": (cp_factors((6, 5, 4), 3, np.array([1.0, 0.1, 0.01])), 3 * (15 - 2)),
    # Four factors, and more terms than two of them have directions.
    "four": (cp_factors((4, 3, 2, 2), 3), 3 * (11 - 3)),
}


@pytest.mark.parametrize("name", CP_CASES)
def test_cp_has_the_pseudo_inverse_of_its_singular_values(name):
    x, rank = CP_CASES[name]
    dense = jacobian(cp_image, x)
    rank = min(rank, len(dense))
    assert np.linalg.matrix_rank(dense, tol=1e-9 * np.linalg.norm(dense, 2)) == rank
    assert np.allclose(gnp.CP()(x), cp_image(x), atol=1e-13)
    assert worst(gnp.CP(), x, dense, rank) < 1e-10


def tucker_parts(ranks, shape, kappa=1.0):
    rng = np.random.default_rng(sum(shape))
    core = rng.standard_normal(ranks) * np.linspace(1.0, 1.0 / kappa, ranks[-1])
    return core, tuple(rng.standard_normal(each) for each in zip(shape, ranks, strict=True))


@pytest.mark.parametrize(
    ("ranks", "shape", "kappa"), [((2, 3, 2), (5, 4, 4), 100.0), ((2, 1, 2, 2), (3, 3, 2, 3), 1.0)]
)
def test_tucker_has_the_pseudo_inverse_of_its_singular_values(ranks, shape, kappa):
    x = tucker_parts(ranks, shape, kappa)
    dense = jacobian(tucker_image, x)
    rank = sum(r * (d - r) for d, r in zip(shape, ranks, strict=True)) + int(np.prod(ranks))
    assert np.linalg.matrix_rank(dense, tol=1e-9 * np.linalg.norm(dense, 2)) == rank
    assert np.allclose(gnp.Tucker()(x), tucker_image(x), atol=1e-12)
    assert worst(gnp.Tucker(), x, dense, rank) < 1e-10


@pytest.mark.parametrize("limit", ["_LARGEST_DIRECT", "_LARGEST_JACOBIAN"])
def test_systems_too_large_to_factorise_have_the_same_solution(limit, monkeypatch):
    """Conjugate gradients on the small unknowns, and the small Gram without its Jacobian."""
    x, rank = CP_CASES["three"]
    monkeypatch.setattr(compressed, limit, 1)
    assert worst(gnp.CP(), x, jacobian(cp_image, x), rank) < 1e-8


@pytest.mark.parametrize("x", [CP_CASES["four"][0], tucker_parts((2, 1, 2, 2), (3, 3, 2, 3))], ids=["CP", "Tucker"])
def test_some_entries_are_those_of_the_image(x):
    c = gnp.CP() if isinstance(x[1], np.ndarray) else gnp.Tucker()
    image = np.asarray(c(x))
    indices = tuple(np.random.default_rng(0).integers(0, d, 7) for d in image.shape)
    assert np.allclose(c.entries(x, indices), image[indices], atol=1e-13)


def test_tensors_of_different_ranks_have_a_distance():
    x, y = cp_factors((6, 5, 4), 3), cp_factors((6, 5, 4), 2)
    assert float(gnp.CP().distance(x, y)) == pytest.approx(np.linalg.norm(cp_image(x) - cp_image(y)), rel=1e-12)
    x, y = tucker_parts((2, 3, 2), (5, 4, 4)), tucker_parts((1, 2, 2), (5, 4, 4))
    expected = np.linalg.norm(tucker_image(x) - tucker_image(y))
    assert float(gnp.Tucker().distance(x, y)) == pytest.approx(expected, rel=1e-12)


def test_a_sum_of_maps_is_preconditioned_block_by_block():
    rng = np.random.default_rng(0)
    pairs = tuple((rng.standard_normal((5, 1)), rng.standard_normal((4, 1))) for _ in range(2))
    c = gnp.Stack(gnp.LowRank(), gnp.LowRank())
    g = tuple((rng.standard_normal((5, 1)), rng.standard_normal((4, 1))) for _ in range(2))
    found = c.preconditioner(pairs, 0.1)(g)
    for part, x, each in zip(found, pairs, g, strict=True):
        assert np.allclose(flat(part), flat(gnp.LowRank().gram_pinv(x, each, 0.1)))


def test_a_sum_of_a_matrix_and_a_model_is_recovered():
    """Rows of rank one on top of a row that all of them share, a tenth of the entries ruined."""
    rng = np.random.default_rng(1)
    truth = ((rng.standard_normal((20, 1)), rng.standard_normal((12, 1))), rng.standard_normal(12))
    clean = truth[0][0] @ truth[0][1].T + truth[1]
    b = clean + 10 * (rng.random(clean.shape) < 0.1) * rng.standard_normal(clean.shape)
    problem = gnp.composite(gnp.Stack(gnp.LowRank(), lambda row: jnp.broadcast_to(row, (20, 12))), gnp.L1(b))
    start = jax.tree.map(lambda leaf: leaf + 0.1 * rng.standard_normal(leaf.shape), truth)
    res = gnp.minimize(problem, start)
    assert res.success
    (u, v), row = res.x
    assert np.linalg.norm(u @ v.T + row - clean) < 1e-10 * np.linalg.norm(clean)


@pytest.mark.parametrize(
    ("c", "x"),
    [
        (gnp.CP(), [np.ones((3, 2))] * 3),
        (gnp.CP(), (np.ones((3, 2)), np.ones((3, 1)))),
        (gnp.CP(), (np.ones((3, 2)),)),
        (gnp.Tucker(), (np.ones((2, 2)), [np.ones((3, 2))] * 2)),
        (gnp.Tucker(), (np.ones((2, 2)), (np.ones((3, 2)), np.ones((1, 2))))),
        (gnp.Tucker(), np.ones((2, 2))),
        (gnp.Hadamard(), (np.ones(3), np.ones(2))),
        (gnp.Hadamard(), np.ones(3)),
        (gnp.Stack(gnp.LowRank(), gnp.LowRank()), ((np.ones((3, 1)),) * 2,)),
        (gnp.Stack(gnp.Hadamard(), gnp.Hadamard()), ((np.ones(3),) * 2, (np.ones(2),) * 2)),
    ],
)
def test_a_variable_of_another_kind_is_named(c, x):
    with pytest.raises(gnp.InputError, match="Needed: ") as error:
        gnp.minimize(gnp.composite(c, gnp.L1(np.ones(3))), x)
    assert "a clean trace" not in str(error.value)


def test_no_map_makes_no_sum():
    with pytest.raises(gnp.InputError, match="at least one"):
        gnp.Stack()
