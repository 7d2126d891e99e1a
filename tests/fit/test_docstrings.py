"""The examples in the docstrings of what a newcomer meets first."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["fit.curve_fit", "fit.named", "problem.maps.numpy"])
def test_they_show_what_is_printed(name):
    found = doctest.testmod(importlib.import_module(f"gnpolyak.{name}"))
    assert found.attempted
    assert not found.failed
