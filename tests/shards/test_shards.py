"""Measurements on several devices: the same solve as on one, with one sum over the devices for each call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base.measurements import Layout
from gnpolyak.oracles import Reductions

SCRIPT = Path(__file__).parent / "inside.py"
SOLVES = ["known", "from_the_data", "completion", "image", "noise", "as_they_lie", "own_model"]
SLOW = ["bilinear", "uneven_rows", "sparse_and_weighed", "large"]


def run(*args: str, script: Path = SCRIPT, devices: int = 4) -> dict[str, dict[str, Any]]:
    flags = os.environ.get("XLA_FLAGS", "") + f" --xla_force_host_platform_device_count={devices}"
    environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, str(script), *args], capture_output=True, text=True, timeout=900, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line.pop("case"): line for line in lines}


@pytest.fixture(scope="module")
def told() -> dict[str, dict[str, Any]]:
    return run()


@pytest.fixture(scope="module")
def told_slowly() -> dict[str, dict[str, Any]]:
    return run("slow")


@pytest.mark.parametrize("case", SOLVES)
def test_four_devices_do_what_one_does(told: dict[str, dict[str, Any]], case: str) -> None:
    check(case, told[case])


@pytest.mark.slow
@pytest.mark.parametrize("case", SLOW)
def test_four_devices_do_what_one_does_on_other_problems(told_slowly: dict[str, dict[str, Any]], case: str) -> None:
    check(case, told_slowly[case])


def check(case: str, found: dict[str, Any]) -> None:
    assert found["status"][0] == found["status"][1]
    assert found["status"][0] in {"CERTIFIED", "TARGET_REACHED", "NOISE"} or case == "large"
    assert found["apart"] < 1e-12
    assert found["outliers"]
    assert case == "own_model" or "4 devices" in found["label"]


def test_standard_errors_are_the_same(told: dict[str, dict[str, Any]]) -> None:
    # On one device from AJ as a matrix, on several from a product with it for each variable.
    assert told["noise"]["errors"] < 1e-6


def test_a_solve_goes_on_from_a_file_bit_by_bit(told: dict[str, dict[str, Any]]) -> None:
    assert told["checkpoint"]["bits"]


@pytest.mark.slow
def test_diagnostics_say_the_same(told_slowly: dict[str, dict[str, Any]]) -> None:
    told_slowly["diagnostics"].pop("seconds")
    assert all(told_slowly["diagnostics"].values()), told_slowly["diagnostics"]


def test_a_step_has_one_sum_over_the_devices_and_moves_nothing_else(told: dict[str, dict[str, Any]]) -> None:
    found = {name: each for name, each in told["collectives"].items() if name != "seconds"}
    assert len(found) == 4
    assert all(each == ["all-reduce"] for each in found.values()), found


def one_device(lengths: tuple[int, ...], room: int) -> Layout:
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("measurements",))
    return Layout(mesh, lengths, room)


def test_medians_leave_out_places_without_a_measurement() -> None:
    sizes = np.array([3.0, 1.0, 0.5, 7.0, 2.0, 0.0, 0.0])
    median = Reductions(jnp, one_device((5,), 7)).median
    with jax.enable_x64():
        assert float(jax.jit(median)(sizes)) == 2.0
        assert float(jax.jit(median)(sizes, sizes > 1)) == 3.0
        assert float(jax.jit(median)(sizes, sizes > 9)) == 0.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_medians_are_those_of_a_sort(dtype: type) -> None:
    rng = np.random.default_rng(0)
    sizes = np.abs(rng.standard_normal(1001)) * 10.0 ** rng.integers(-30, 30, 1001)
    sizes = np.where(rng.random(1001) < 0.01, np.inf, sizes).astype(dtype)
    median = Reductions(jnp, one_device((1001,), 1001)).median
    with jax.enable_x64(dtype is np.float64):
        assert float(jax.jit(median)(sizes)) == float(np.sort(sizes)[500])


@pytest.mark.parametrize(
    ("problem", "complaint"),
    [
        (gnp.composite(lambda x: x, gnp.L2(np.ones(4))), "cut by measurements"),
        (gnp.composite(lambda x: x, gnp.L1(np.ones(4), weights=[0.0, 1, 1, 1])), "weights of which some are zero"),
        (3, "a problem of type int"),
    ],
)
def test_what_cannot_be_spread_is_refused_in_one_line(problem: Any, complaint: str) -> None:
    with pytest.raises(gnp.InputError, match=complaint):
        gnp.shard(problem)


def test_a_problem_is_spread_once() -> None:
    problem = gnp.shard(gnp.instances.tensor_sensing(d=10, r=1).problem)
    with pytest.raises(gnp.InputError, match="spread already"):
        gnp.shard(problem)
    with pytest.raises(gnp.InputError, match="mesh"):
        gnp.shard(gnp.instances.tensor_sensing(d=10, r=1).problem, mesh=4)
