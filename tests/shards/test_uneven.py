"""Places that hold no datum are not counted, whichever way a problem on several devices is solved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shards.test_shards import run

SCRIPT = Path(__file__).parent / "uneven.py"


@pytest.fixture(scope="module")
def told() -> dict[str, dict[str, Any]]:
    return run(script=SCRIPT, devices=8)


@pytest.fixture(scope="module")
def told_slowly() -> dict[str, dict[str, Any]]:
    return run("slow", script=SCRIPT, devices=8)


def test_steps_of_the_graduated_method_are_those_of_one_device(told: dict[str, dict[str, Any]]) -> None:
    assert told["steps"]["same"]
    assert told["steps"]["apart"] < 1e-10
    assert told["steps"]["error"] < 0.01


@pytest.mark.parametrize("case", ["batch", "starts"])
def test_errors_are_those_of_one_device(told: dict[str, dict[str, Any]], case: str) -> None:
    check(told[case])


@pytest.mark.slow
@pytest.mark.parametrize("case", ["polished_batch", "problems", "certified_batch"])
def test_errors_of_other_batches_are_those_of_one_device(told_slowly: dict[str, dict[str, Any]], case: str) -> None:
    check(told_slowly[case])


def check(found: dict[str, Any]) -> None:
    assert all(one == many for one, many in (found[name] for name in ("status", "measurements", "outliers")))
    assert found["efficient"][0] == found["efficient"][1]
    assert set(found["measurements"][0]) == {33}
    assert found["apart"] < 1e-10
