"""Measurements and penalties bound to NumPy: the numbers are those of JAX, and nothing is compiled for them."""

import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse

import gnpolyak as gnp
from gnpolyak.problem import capabilities as can
from gnpolyak.problem.maps import Map

USED = Path(__file__).parent / "portable.py"


class Product(Map):
    """UVᵀ, stated over xp."""

    over_xp: ClassVar[bool] = True

    @property
    def offers(self):
        return frozenset({can.IMAGE, can.ENTRIES, can.BILINEAR_FORMS})

    def __call__(self, x):
        return x[0] @ x[1].T

    def linearize(self, x):
        return lambda z: z[0] @ x[1].T + x[0] @ z[1].T, lambda w: (w @ x[1], w.T @ x[0])

    def entries(self, x, indices):
        return (x[0][indices[0]] * x[1][indices[1]]).sum(axis=1)

    def entries_linearized(self, x, indices):
        def pull(v):
            whole = self.xp.zeros((len(x[0]), len(x[1])), v.dtype)
            if self.xp is np:
                np.add.at(whole, indices, v)
            else:
                whole = whole.at[indices].add(v)
            return whole @ x[1], whole.T @ x[0]

        return lambda z: self.entries((z[0], x[1]), indices) + self.entries((x[0], z[1]), indices), pull

    def bilinear_forms(self, x, left, right):
        y, t = left @ x[0], right @ x[1]
        return (y * t).sum(axis=1), lambda w: (left.T @ (w[:, None] * t), right.T @ (w[:, None] * y))

    def bilinear_push(self, x, left, right):
        y, t = left @ x[0], right @ x[1]
        return lambda z: (left @ z[0] * t + y * (right @ z[1])).sum(axis=1)


class Square(Map):
    """XXᴴ for a complex X, and XXᵀ for a real one, stated over xp."""

    over_xp: ClassVar[bool] = True

    @property
    def offers(self):
        return frozenset({can.IMAGE, can.POWER_FORMS, can.INTENSITIES})

    def __call__(self, x):
        return x @ x.conj().T

    def linearize(self, x):
        return lambda z: z @ x.conj().T + x @ z.conj().T, lambda w: (w + w.conj().T) @ x

    def power_forms(self, x, rows):
        y = rows @ x
        return (abs(y) ** 2).sum(axis=1), lambda w: 2 * rows.conj().T @ (w[:, None] * y)

    def power_push(self, x, rows):
        y = rows @ x
        return lambda z: 2 * (y.conj() * (rows @ z)).real.sum(axis=1)

    def intensities(self, x, forward, adjoint):
        products = forward(x)
        like = (lambda g: g) if self.xp.iscomplexobj(x) else lambda g: g.real
        return (abs(products) ** 2).sum(axis=0), lambda w: like(adjoint(2 * w * products))

    def intensities_push(self, x, forward):
        products = forward(x)
        return lambda z: 2 * (products.conj() * forward(z)).real.sum(axis=0)


def numbers(*shape, is_complex=False, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if is_complex else 0)


def measurements():
    """Each kind of measurements on a map that is stated over xp."""
    pair, square, turned = (numbers(4, 2), numbers(3, 2)), numbers(8, 2), numbers(8, 2, is_complex=True)
    rows, other, complex_rows = numbers(11, 8), numbers(11, 8, seed=1), numbers(11, 8, is_complex=True)
    matrix = numbers(9, 12)
    sparse = scipy.sparse.random_array((9, 12), density=0.4, rng=np.random.default_rng(2))
    yield gnp.Identity(), Product(), pair
    yield gnp.Entries([0, 3, 3, 1, 3], [2, 0, 2, 2, 2]), Product(), pair
    yield gnp.Entries([0, 3, 3, 1], [2, 0, 2, 2]).block(1, 3, 5), Product(), pair
    yield gnp.BilinearSensing(numbers(13, 4), numbers(13, 3)), Product(), pair
    yield gnp.BilinearSensing(numbers(13, 4), numbers(13, 3), storage=np.float32), Product(), pair
    yield gnp.LinearSensing(matrix), Product(), pair
    yield gnp.LinearSensing(matrix.reshape(9, 4, 3)), Product(), pair
    yield gnp.LinearSensing(numbers(9, 12, is_complex=True)), Product(), pair
    yield gnp.LinearSensing(numbers(9, 64, is_complex=True)), Square(), turned
    yield gnp.LinearSensing(sparse), Product(), pair
    yield gnp.LinearSensing(scipy.sparse.csr_matrix(numbers(9, 64, is_complex=True))), Square(), turned
    yield gnp.Parts(), Square(), turned
    yield gnp.Parts(), Square(), square
    yield gnp.PauliSensing(3, ["XYZ", "IIY", "ZZI", "YYX", "III", "IIY"]), Square(), turned
    yield gnp.PauliSensing(3), Square(), square
    yield gnp.PowerSensing(rows, other), Square(), square
    yield gnp.PowerSensing(rows), Square(), turned
    yield gnp.PowerSensing(complex_rows, rows), Square(), turned
    root = np.diag(np.arange(1.0, 9.0)) + 0.5
    yield gnp.problem.sensing.Whitened(gnp.PowerSensing(rows, other), root, np.linalg.inv(root)), Square(), square
    for kind in (gnp.FourierSensing, gnp.HadamardSensing):
        yield kind.drawn((2, 4), 3), Square(), square
        yield kind.drawn(8, 3, seed=1), Square(), turned
        yield kind(numbers(3, 8, is_complex=True)), Square(), turned


CASES = [pytest.param(each, id=f"{i}-{each[0].label}") for i, each in enumerate(measurements())]


@pytest.mark.parametrize("case", CASES)
def test_measurements(case):
    errors = gnp.testing.check_sensing(*case)
    assert "measure on NumPy in float32" in errors


@pytest.mark.parametrize("table", ["sensing", "penalties"])
def test_every_row_of_the_table_runs_on_numpy_but_those_of_users_functions(table):
    not_portable = set()
    for name, part in getattr(gnp.tables, table).items():
        for example in part.examples(np.random.default_rng(0)):
            if not example[0].runs_on_numpy:
                not_portable.add((name, example[0].label))
    assert (
        not_portable
        == {
            "sensing": {("LinearSensing", "LinearSensing(functions)")},
            "penalties": {("CustomPenalty", "CustomPenalty")},
        }[table]
    )


def test_a_class_that_derives_from_one_says_for_itself_whether_it_runs_on_numpy():
    class Mine(gnp.L1):
        pass

    assert gnp.L1(np.ones(3)).runs_on_numpy
    assert not Mine(np.ones(3)).runs_on_numpy


def test_rows_that_are_streamed_do_not_run_on_numpy():
    rows = gnp.GeneratedRows(lambda start, stop: np.ones((stop - start, 4)), (2**24, 4))
    assert not gnp.PowerSensing(rows).runs_on_numpy
    assert not gnp.LinearSensing(rows).runs_on_numpy


def test_nothing_is_compiled_for_numpy_arrays():
    run = subprocess.run([sys.executable, str(USED)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
