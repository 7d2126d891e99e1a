"""A first answer compiles nothing: the wait for it would be the compiler's."""

import pytest

from gnpolyak.bench import fresh


@pytest.fixture(scope="module")
def found():
    """Every class at a small size, one after the other in one fresh process."""
    with fresh.data_files(small=True) as files:
        return fresh.told("classes", "0", *(word for name, path in files.items() for word in (name, str(path))))


@pytest.mark.parametrize("name", fresh.CLASSES)
def test_the_first_answer_compiles_no_program(found, name):
    assert found[fresh.CLASSES[name].label]["programs"] == 0


@pytest.mark.parametrize("name", fresh.CLASSES)
def test_the_first_answer_is_one(found, name):
    assert found[fresh.CLASSES[name].label]["success"]
