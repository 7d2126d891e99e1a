"""Rows, data and variables for the passes on NumPy arrays."""

import jax
import numpy as np

import gnpolyak as gnp
from passes import data

KINDS = {"f64": (np.float64, np.float64), "f32": (np.float32, np.float32), "mixed": (np.float32, np.float64)}


def leaves(tree):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def same(found, expected):
    found, expected = leaves(found), leaves(expected)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def power_case(m, d, r, kind="f64", centred=True):
    stored, computed = KINDS[kind]
    p, q, b, x = data(m, d, r)
    z, w = np.random.default_rng(1).standard_normal((d, r)), np.random.default_rng(2).random(m)
    return p.astype(stored), q.astype(stored) if centred else None, *(a.astype(computed) for a in (b, x, z, w))


def bilinear_case(m, d1, d2, r, kind="f64"):
    stored, computed = KINDS[kind]
    rng = np.random.default_rng([m, d1, d2, r])
    p, q = (rng.standard_normal((m, d)).astype(stored) for d in (d1, d2))
    x, z = (tuple((rng.standard_normal((d, r)) / np.sqrt(d)).astype(computed) for d in (d1, d2)) for _ in range(2))
    return p, q, *rng.standard_normal((2, m)).astype(computed), x, z


def entries_case(d1, d2, r, m, dtype=np.float64, ordered=False):
    rng = np.random.default_rng([d1, d2, r, m])
    places = rng.choice(d1 * d2, m, replace=False)
    places = np.sort(places) if ordered else places
    sensing = gnp.Entries(places // d2, places % d2)
    x, z = (tuple(rng.standard_normal((d, r)).astype(dtype) for d in (d1, d2)) for _ in range(2))
    return sensing, *rng.standard_normal((2, m)).astype(dtype), x, z
