"""The oracle of a problem on several devices answers as dense algebra does, padding left out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "on_devices.py"


@pytest.fixture(scope="module")
def told():
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
    path = os.pathsep.join([str(SCRIPT.parent.parent), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, str(SCRIPT)], capture_output=True, text=True, timeout=600, env=environment, check=False
    )


@pytest.mark.parametrize("case", ["power", "bilinear", "entries", "image", "weights", "Pinball"])
def test_four_devices(told, case):
    assert case in told.stdout.split(), told.stderr[-3000:]
