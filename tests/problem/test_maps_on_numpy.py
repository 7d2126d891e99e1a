"""Maps bound to NumPy: what their examples do not reach, and that the check of maps finds what is wrong there."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base import small
from gnpolyak.problem.maps import Held, compressed, reductions, rotations

RNG = np.random.default_rng(0)
FACTORS = tuple(RNG.standard_normal((d, 2)) for d in (5, 4, 3))


@pytest.mark.parametrize(
    ("c", "x"), [(gnp.SymmetricCP(2), RNG.standard_normal((5, 2))), (gnp.LowRank(), FACTORS[:2])], ids=["XXᵀ", "UVᵀ"]
)
def test_a_map_with_variables_that_are_held(c, x):
    free = jax.tree.map(lambda leaf: np.arange(leaf.size).reshape(leaf.shape) % 3 > 0, x)
    host = Held(c, free).using(np)
    push, pull = host.linearize(x)
    u, v = jax.tree.map(lambda leaf: RNG.standard_normal(leaf.shape), x), RNG.standard_normal(host(x).shape)
    whole_push, whole_pull = c.using(np).linearize(x)
    masked = lambda tree: jax.tree.map(lambda kept, leaf: np.where(kept, leaf, 0.0), free, tree)  # noqa: E731
    np.testing.assert_array_equal(push(u), whole_push(masked(u)))
    jax.tree.map(np.testing.assert_array_equal, pull(v), masked(whole_pull(v)))
    jax.tree.map(np.testing.assert_allclose, host.gram(x)(u), pull(push(u)))
    assert host.image(x).shape == host(x).shape


def solves(c, x, monkeypatch, *limits):
    """(JᵀJ + 0.1)⁻¹ of two right-hand sides in its range at once, by the usual way and by that beyond the limits."""
    gram = c.using(np).gram(x)
    ends = [gram(jax.tree.map(lambda leaf: leaf**2 + shift, x)) for shift in (1, -2)]  # noqa: B023
    u = jax.tree.map(lambda *leaves: np.stack(leaves)[None], *ends)
    usual = c.using(np).preconditioner(x, 0.1)(u)
    for module, limit, value in limits:
        monkeypatch.setattr(module, limit, value)
    return usual, c.using(np).preconditioner(x, 0.1)(u)


@pytest.mark.parametrize(
    ("c", "x", "limits"),
    [
        (gnp.SymmetricCP(3), FACTORS[0], [(reductions, "_LARGEST_DIRECT_RANK", 1)]),
        (gnp.SymmetricCP(3), FACTORS[0], [(reductions, "_LARGEST_REDUCED_JACOBIAN", 1)]),
        (gnp.CP(), FACTORS, [(compressed, "_LARGEST_DIRECT", 1)]),
        (gnp.Tucker(), (RNG.standard_normal((2, 2, 2)), FACTORS), [(compressed, "_LARGEST_DIRECT", 1)]),
        (gnp.CP(), (np.ones((5, 2)), np.ones((4, 2)), FACTORS[2]), [(compressed, "_LARGEST_JACOBIAN", 1)]),
    ],
)
def test_systems_too_large_to_factorise_or_to_form(c, x, limits, monkeypatch):
    usual, found = solves(c, x, monkeypatch, *limits)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-8), found, usual)


def test_rotations_too_many_for_a_laplacian(monkeypatch):
    ends, x = ([0, 0, 1], [1, 2, 2]), RNG.standard_normal((3, 4))
    kept = gnp.RelativeRotations(*ends).using(np)
    monkeypatch.setattr(rotations, "_LARGEST_LAPLACIAN", 1)
    other = gnp.RelativeRotations(*ends).using(np)
    np.testing.assert_array_equal(other.gram(x)(x + 1), kept.gram(x)(x + 1))
    with pytest.raises(gnp.InputError, match="gram_pinv"):
        other.gram_pinv(x, x)


@pytest.mark.parametrize("n", [3, 33, 100])
def test_inverses_of_positive_definite_matrices(n):
    rows = RNG.standard_normal((2 * n, n)) + 1j * RNG.standard_normal((2 * n, n))
    for matrix in (rows.real.T @ rows.real, rows.conj().T @ rows):
        np.testing.assert_allclose(matrix @ small.inverse(np, matrix), np.eye(n), atol=1e-10)
    assert np.all(np.isnan(small.inverse(np, -np.eye(n))))


def test_numbers_that_are_none_raise_nothing():
    with np.errstate(all="ignore"):
        for example in (gnp.SymmetricCP, gnp.LowRank, gnp.Hermitian, gnp.CP, gnp.Tucker, gnp.RelativeRotations):
            c, x = next(example.examples(RNG))
            lost = jax.tree.map(lambda leaf: np.full_like(leaf, np.nan), x)
            assert not np.any(np.isfinite(jax.tree.leaves(c.using(np).preconditioner(lost, 0.0)(lost))[0]))
        c = gnp.SymmetricCP(3).using(np)
        assert np.all(np.isnan(c.preconditioner(np.full((4, 2), np.nan), 0.0)(np.ones((4, 2)))))


class Wrong(gnp.SymmetricCP):
    """XXᵀ, with one thing wrong that only NumPy sees, or that only JAX takes."""

    def __init_subclass__(cls):
        super().__init_subclass__()
        cls.over_xp = True


class Push(Wrong):
    def linearize(self, x):
        push, pull = super().linearize(x)
        return lambda z: push(z) * (1 if self.xp is jnp else 1.01), pull


class Doubled(Wrong):
    def linearize(self, x):
        push, pull = super().linearize(x)
        return push, lambda v: pull(v) * self.xp.ones(1)


class Turned(Wrong):
    def linearize(self, x):
        push, pull = super().linearize(x)
        return push, lambda v: self.xp.stack(list(pull(v).T), axis=0).T


class Compiled(Wrong):
    def curvature(self, x, s):
        return jnp.linalg.norm(2 * s.T @ s)


class Single(Wrong):
    def preconditioner(self, x, damping=0.0):
        solve = super().preconditioner(x, damping)
        return lambda g: solve(g) if g.ndim == 2 else 0 * g


class Entries(Wrong):
    def entries_linearized(self, x, indices):
        push, pull = super().entries_linearized(x, indices)
        return push, lambda w: pull(w) / 2


class Forms(Wrong):
    def power_push(self, x, rows):
        return lambda z: 2 * self.power_forms(z, rows)[0]


class Light(Wrong):
    def intensities_push(self, x, forward):
        return lambda z: -self.intensities(z, forward, None)[0]


class Shape(Wrong):
    def image(self, x):
        return jax.ShapeDtypeStruct((x.shape[1],) * 2, x.dtype)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (Push, "push, NumPy: 0.01"),
        (Doubled, "pull, NumPy in float32, arrays"),
        (Turned, "pull, NumPy, order"),
        (Compiled, "an operation of JAX"),
        (Single, "preconditioner, leading axes 0, NumPy"),
        (Entries, "entries, pullback: 0.5"),
        (Forms, "power_forms, push: "),
        (Light, "intensities, push: "),
        (Shape, "image, stated"),
    ],
)
def test_what_is_wrong_on_numpy_is_found_and_named(wrong, said):
    with pytest.raises(AssertionError, match=said):
        gnp.testing.check_map(wrong(2), FACTORS[0])


def test_a_class_that_does_not_say_so_is_not_bound_to_numpy():
    class Own(gnp.SymmetricCP):
        def curvature(self, x, s):
            return jnp.linalg.norm(2 * s.T @ s)

    assert not Own(2).runs_on_numpy
    assert not gnp.Stack(gnp.LowRank(), Own(2)).runs_on_numpy
    assert "push, NumPy" not in gnp.testing.check_map(Own(2), FACTORS[0])
