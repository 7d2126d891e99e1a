"""The passes on NumPy arrays: against formulas in NumPy, and bit for bit against the same passes under JAX."""

import os

import jax
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base import arrays
from gnpolyak.problem.oracles import native
from gnpolyak.problem.oracles.native import calls, direct, library
from gnpolyak.problem.oracles.native import entries as passes_over_entries
from gnpolyak.problem.oracles.native.bilinear import bilinear_forms, bilinear_l1, bilinear_product
from passes import assert_close, by_numpy, data, measured, pulled, pushed, python
from problem.direct_cases import KINDS, bilinear_case, entries_case, power_case, same

pytestmark = pytest.mark.skipif(not direct.available(), reason="no library with functions for NumPy arrays")

# m and d: single entries, rows shorter than a vector, odd ones, and rows enough for several threads.
SHAPES = [(1, 1), (3, 7), (130, 31), (97, 257), (1500, 100)]
NEAR = {"f64": 1e-12, "f32": 1e-4, "mixed": 1e-12}


def under_jax(function, *args, **static):
    """What the JAX function gives, compiled."""
    with arrays.computing_in(np.dtype(np.float64)):
        return jax.device_get(jax.jit(lambda *args: function(*args, **static))(*args))


def wide(*parts):
    return [None if part is None else part.astype(np.float64) for part in parts]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize(("m", "d"), SHAPES)
def test_power(m, d, centred, kind):
    for r in range(1, 7):
        n = 2 + r % 3
        p, q, b, x, z, w = power_case(m, d, r, kind, centred)
        value, gradient = direct.power_l1(p, q, b, x, n)
        values, slopes = direct.power_forms(p, q, x, n)
        along, product = direct.power_product(p, q, slopes, z, w)
        nothing, adjoint = direct.power_product(p, q, slopes, None, w)
        assert nothing is None
        assert isinstance(value, np.floating)
        assert {each.dtype for each in (value, gradient, values, slopes, along, product, adjoint)} == {x.dtype}

        p64, q64, b64, x64, z64, w64 = wide(p, q, b, x, z, w)
        s = pushed(p64, q64, x64, n, z64)
        assert_close((value, gradient), by_numpy(p64, q64, b64, x64, n), NEAR[kind])
        assert_close((values, along), (measured(p64, q64, x64, n), s), NEAR[kind])
        assert_close((product, adjoint), (pulled(p64, q64, x64, n, w64 * s), pulled(p64, q64, x64, n, w64)), NEAR[kind])

        same((value, gradient), under_jax(calls.power_l1, p, q, b, x, n=n))
        same((values, slopes), under_jax(calls.power_forms, p, q, x, n=n))
        same((along, product), under_jax(calls.power_product, p, q, slopes, z, w))
        same(adjoint, under_jax(calls.power_product, p, q, slopes, None, w))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("m", "d1", "d2"), [(1, 1, 1), (3, 7, 100), (130, 31, 9), (1031, 100, 41), (97, 2, 257)])
def test_bilinear(m, d1, d2, kind):
    for r in range(1, 7):
        p, q, b, w, x, z = bilinear_case(m, d1, d2, r, kind)
        value, gradient = direct.bilinear_l1(p, q, b, x)
        values, slopes = direct.bilinear_forms(p, q, x)
        along, product = direct.bilinear_product(p, q, slopes, z, w)
        nothing, adjoint = direct.bilinear_product(p, q, slopes, None, w)
        assert nothing is None
        assert isinstance(value, np.floating)

        p64, q64, b64, w64 = wide(p, q, b, w)
        y, t = p64 @ x[0], q64 @ x[1]
        s = np.sum(t * (p64 @ z[0]) + y * (q64 @ z[1]), axis=1)

        def back(v, p=p64, q=q64, y=y, t=t):
            return p.T @ (v[:, None] * t), q.T @ (v[:, None] * y)

        residuals = np.sum(y * t, axis=1) - b64
        assert_close((value, *gradient), (np.abs(residuals).sum(), *back(np.sign(residuals))), NEAR[kind])
        assert_close((values, slopes, along), (np.sum(y * t, axis=1), np.stack([t, y]), s), NEAR[kind])
        assert_close((*product, *adjoint), (*back(w64 * s), *back(w64)), NEAR[kind])

        same((value, gradient), under_jax(bilinear_l1, p, q, b, x))
        same((values, slopes), under_jax(bilinear_forms, p, q, x))
        same((along, product), under_jax(bilinear_product, p, q, slopes, z, w))
        same(adjoint, under_jax(bilinear_product, p, q, slopes, None, w))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize(
    ("d1", "d2", "m"), [(1, 1, 1), (30, 20, 400), (20, 30, 400), (9, 200, 1500), (150, 120, 18000)]
)
def test_entries(d1, d2, m, ordered, dtype):
    for r in (1, 3, 5, 6, 17):
        sensing, b, w, x, z = entries_case(d1, d2, r, m, dtype, ordered)
        sweep = direct.numpy_sweep(sensing.sweep)
        value, gradient = direct.entries_l1(sweep, b, x)
        values = direct.entries_values(sweep, x, m)
        along, product = direct.entries_product(sweep, x, z, w)
        nothing, adjoint = direct.entries_product(sweep, x, None, w)
        assert nothing is None
        assert {each.dtype for each in (value, values, along, *gradient, *product, *adjoint)} == {np.dtype(dtype)}

        at = tuple(np.asarray(axis) for axis in sensing.indices)
        (u, v), (zu, zv) = wide(*x), wide(*z)

        def back(weights, at=at, u=u, v=v):
            image = np.zeros((len(u), len(v)))
            np.add.at(image, at, weights)
            return image @ v, image.T @ u

        entries, s, near = (u @ v.T)[at], (zu @ v.T + u @ zv.T)[at], 1e-12 if dtype == np.float64 else 1e-4
        residuals = entries - b
        assert_close((value, *gradient), (np.abs(residuals).sum(), *back(np.sign(residuals))), near)
        assert_close((values, along), (entries, s), near)
        assert_close((*product, *adjoint), (*back(w * s), *back(w)), near)

        c, h = gnp.LowRank(), gnp.L1(b)
        same((value, gradient), under_jax(passes_over_entries._evaluate_native, sensing, c, h, x))
        same(values, under_jax(passes_over_entries._values_native, sensing, c, x))
        same((along, product), under_jax(passes_over_entries._product_native, sensing, c, x, z, w))
        same(adjoint, under_jax(passes_over_entries._product_native, sensing, c, x, None, w))


def test_entries_that_do_not_count_are_zero():
    sensing, _, w, x, z = entries_case(30, 20, 3, 400)
    some = sensing.block(0, 100, 128)
    sweep = direct.numpy_sweep(some.sweep)
    assert not direct.entries_values(sweep, x, 128)[100:].any()
    same(direct.entries_values(sweep, x, 128), under_jax(passes_over_entries._values_native, some, gnp.LowRank(), x))
    along, product = direct.entries_product(sweep, x, z, w[:128])
    same((along, product), under_jax(passes_over_entries._product_native, some, gnp.LowRank(), x, z, w[:128]))
    assert not along[100:].any()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_medians(dtype):
    rng = np.random.default_rng(0)
    rows, counted = rng.random((2, 3, 41)).astype(dtype), rng.random((2, 3, 41)) < 0.6
    rows[0, 0, 3], counted[1, 2] = np.nan, False
    same(direct.medians(rows, counted), under_jax(native.medians, rows, counted))


def test_arrays_that_are_not_contiguous_or_of_another_dtype():
    p, q, b, x, z, w = power_case(300, 20, 3)
    slopes = direct.power_forms(p, q, x, 3)[1]
    turned = [np.asfortranarray(each) for each in (p, q, x, z)]
    every_other = np.repeat(b, 2)[::2]
    assert not every_other.flags.c_contiguous
    same(direct.power_l1(turned[0], turned[1], every_other, turned[2], 3), direct.power_l1(p, q, b, x, 3))
    same(direct.power_forms(turned[0], turned[1], turned[2], 3)[1], slopes)
    found = direct.power_product(turned[0], turned[1], np.asfortranarray(slopes), turned[3], w)
    same(found, direct.power_product(p, q, slopes, z, w))
    single = b.astype(np.float32)
    same(direct.power_l1(p, q, single, x, 3), direct.power_l1(p, q, single.astype(np.float64), x, 3))


def test_arrays_that_cannot_be_written_to():
    p, q, b, x, _, _ = power_case(300, 20, 3)
    expected = direct.power_l1(p, q, b, x, 3)
    for each in (p, q, b, x):
        each.flags.writeable = False
    same(direct.power_l1(p, q, b, x, 3), expected)


def test_no_rows_at_all():
    value, gradient = direct.power_l1(*data(0, 4, 2), 2)
    assert value == 0
    assert not gradient.any()
    assert direct.power_forms(np.zeros((0, 4)), None, np.zeros((4, 2)), 2)[1].shape == (1, 0, 2)


def test_what_does_not_belong_together_is_refused():
    p, q, b, x, _, _ = power_case(30, 20, 3)
    for wrong in ((p, q[:-1], b, x), (p, q, b[:-1], x), (p, q, b, x[:-1]), (p, q, b, x[:, :0]), (p[:, :0], None, b, x)):
        with pytest.raises(gnp.InputError, match="Do: "):
            direct.power_l1(*wrong, 2)
    with pytest.raises(gnp.InputError, match="float16"):
        direct.power_l1(p.astype(np.float16), None, b, x, 2)
    with pytest.raises(gnp.InputError, match="float32"):
        direct.power_l1(p, None, b, x.astype(np.float32), 2)
    sensing, data, _, x, _ = entries_case(20, 15, 2, 100)
    sweep = direct.numpy_sweep(sensing.sweep)
    with pytest.raises(gnp.InputError, match="numpy_sweep"):
        direct.entries_l1(sweep._replace(major=sweep.major.astype(np.int64)), data, x)
    with pytest.raises(gnp.InputError, match="room"):
        direct.entries_values(sweep, x, 5)


class Older:
    """A library that was compiled before there were functions for NumPy arrays."""

    def __getattr__(self, name):
        if name.startswith("gnpolyak_c_"):
            raise AttributeError(name)
        return getattr(library.load()[0], name)


def test_an_older_library_serves_xla_alone(monkeypatch):
    older = Older()
    monkeypatch.setattr(direct, "load", lambda: (older, "compiled with the package"))
    direct._function.cache_clear()
    assert not direct.available()
    with pytest.raises(gnp.InputError, match="came after"):
        direct.medians(np.ones((2, 3)), np.ones((2, 3), bool))


def test_jax_hears_of_the_passes_when_it_is_asked_for_one():
    code = """
import jax, numpy as np
from gnpolyak.problem.oracles.native import direct, library, status
heard, register = [], jax.ffi.register_ffi_target
jax.ffi.register_ffi_target = lambda name, *args, **more: (heard.append(name), register(name, *args, **more))
library.set_num_threads(None)
assert direct.available()
assert direct.power_l1(np.ones((2, 3)), None, np.zeros(2), np.ones((3, 1)), 2)[0] == 18
before = len(heard)
assert status().available
print(before, len(heard) > 0)
"""
    assert python(code) == "0 True"


SNIPPET = """
import numpy as np
from problem.direct_cases import KINDS, bilinear_case, entries_case, leaves, power_case, same
from passes import assert_close, by_numpy, data
from gnpolyak.problem.oracles.native import direct, library
for m, d, r in ((1, 1, 1), (3, 3, 4), (130, 31, 7), (257, 100, 12)):
    assert_close(direct.power_l1(*data(m, d, r), 3), by_numpy(*data(m, d, r), 3), 1e-12)
print(library.load()[0].gnpolyak_instruction_set().decode())
"""


def test_older_processors():
    assert python(SNIPPET, GNPOLYAK_ISA="baseline") == "baseline"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity of processors")
def test_one_processor_means_one_thread():
    code = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import numpy as np
from gnpolyak.problem.oracles.native import direct
rng = np.random.default_rng(0)
p, b, x = rng.random((4000, 60)), rng.random(4000), rng.random((60, 5))
before = len(os.listdir("/proc/self/task"))
direct.power_l1(p, None, b, x, 2)
print(len(os.listdir("/proc/self/task")) - before)
"""
    assert python(code) == "0"
