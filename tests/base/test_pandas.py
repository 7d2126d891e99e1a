"""pandas in, labels kept; columns that are no numbers are named."""

import subprocess
import sys

import numpy as np
import pytest

import gnpolyak as gnp

pd = pytest.importorskip("pandas")

ROWS = pd.DataFrame(np.random.default_rng(0).standard_normal((12, 2)), columns=["slope", "shift"])
TRUTH = pd.Series([2.0, -1.0], index=["slope", "shift"], name="parameters")
DATA = ROWS @ TRUTH + np.where(np.arange(12) < 3, 7.0, 0.0)


def test_a_series_comes_back_with_its_labels():
    seen = []
    x0 = 0 * TRUTH
    res = gnp.minimize(gnp.composite(gnp.Linear(ROWS), gnp.L1(DATA)), x0, callback=lambda res: seen.append(res.x))
    pd.testing.assert_series_equal(res.x, TRUTH)
    assert all(x.index.equals(TRUTH.index) for x in seen)


def test_a_table_comes_back_with_its_labels():
    truth = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], index=["a", "b"], columns=["c", "d"])
    res = gnp.minimize(gnp.composite(lambda x: x**3, gnp.L1(truth**3)), truth + 0.1)
    pd.testing.assert_frame_equal(res.x, truth)


def test_standard_errors_have_labels():
    noisy = DATA + 1e-2 * np.random.default_rng(1).standard_normal(12)
    res = gnp.minimize(gnp.composite(gnp.Linear(ROWS), gnp.L1(noisy)), 0 * TRUTH, polish=True)
    assert res.standard_errors().index.equals(TRUTH.index)


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "int32", "boolean"])
def test_numbers_are_numbers_however_they_are_stored(dtype):
    table = pd.DataFrame({"a": pd.array([1, 0, 1], dtype=dtype), "b": [1.5, 2.5, 3.5]})
    assert np.array_equal(np.asarray(gnp.Linear(table).a), [[1, 1.5], [0, 2.5], [1, 3.5]])


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (pd.Series([1, None], dtype="Int64"), "1 missing value.*dropna"),
        (pd.Series([None, None], dtype="Float64"), "2 missing values"),
        (pd.Series([1.0, np.nan]), "NaN or infinite"),
        (pd.Series([1.0, "two"], name="n"), r"'n' \(object\).*no numbers"),
        (pd.DataFrame({"day": pd.to_datetime(["2020-01-01"]), "x": [1.0]}), r"'day' \(datetime"),
        (pd.Series(["a", "b"], dtype="category"), "category"),
    ],
)
def test_what_is_no_number_is_named(value, says):
    with pytest.raises(gnp.InputError, match=says):
        gnp.L1(value)


def test_nothing_is_imported_for_those_who_do_not_use_it():
    code = "import gnpolyak, sys; assert not {'torch', 'pandas', 'sklearn'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
