"""Bad, odd and rare input: it works and is right, or it is refused in words that fit. There is no third way."""

import re
import warnings

import pytest

import gnpolyak as gnp
from inputs import data, generators, models, options, parts, penalties, surroundings

MODULES = (models, penalties, data, options, parts, generators, surroundings)
TABLE = {
    f"{area}, {name}": case
    for module in MODULES
    for area, cases in module.CASES.items()
    for name, case in cases.items()
}


def test_the_table_is_long_enough():
    assert len(TABLE) >= 400


@pytest.mark.parametrize("name", TABLE)
def test_input(name):
    case = TABLE[name]
    if case.holds is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gnp.starts.WeakStartWarning)
            assert case.holds(case.call())
        return
    with pytest.raises(gnp.InputError) as caught:
        case.call()
    error = caught.value
    assert all((error.given, error.needed, error.missing, error.advice))
    assert re.search(case.says, str(error)), str(error)
    assert re.search(case.advises, error.advice), error.advice
    assert len(str(error)) < 1200
    assert "\n" not in str(error)
    if case.cause is not None:
        assert isinstance(error.__cause__, case.cause)
