"""No false alarm on correct derivatives, and no mistake that passes: hundreds of each, at scales of 1e-12 to 1e12."""

import numpy as np
import pytest

from diagnostics.taylor_models import FAMILIES, drawn, library
from gnpolyak import diagnostics

SOME, ALL = range(3), range(24)


def complaints(family, seeds, *, wrong):
    """The models of a family that were judged falsely."""
    cases = [drawn(family, seed, wrong) for seed in seeds]
    judged = [(name, diagnostics.check_taylor(c, x, seed=1)) for c, x, name in cases]
    return [(name, found.message) for name, found in judged if found.passed == wrong]


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("family", FAMILIES)
def test_some_models(family, wrong):
    assert not complaints(family, SOME[: 2 + wrong], wrong=wrong)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("family", FAMILIES)
def test_all_models(family, wrong):
    assert not complaints(family, ALL, wrong=wrong)


@pytest.mark.slow
@pytest.mark.parametrize("exponent", [-12, -6, 0, 6, 12])
def test_the_librarys_own_maps(exponent):
    found = [(c.label, diagnostics.check_taylor(c, x)) for c, x in library(np.random.default_rng(0), 10.0**exponent)]
    assert not [(name, check.message) for name, check in found if not check.passed]
