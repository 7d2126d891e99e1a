"""The script of the page on clusters, and its lines for two shells, as they are printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hosts.group import SOURCE

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "clusters.md"


@pytest.mark.slow
def test_two_shells_solve_what_the_page_says(tmp_path, monkeypatch):
    text = PAGE.read_text(encoding="utf-8")
    script, data = re.findall(r"```python\n(.*?)```", text.partition("`fit.py`:")[2], flags=re.DOTALL)
    lines = re.search(r"In two shells.*?```sh\n(.*?)```", text, flags=re.DOTALL)[1].splitlines()
    (tmp_path / "fit.py").write_text(script)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec("import numpy as np\nimport gnpolyak as gnp\n" + data, names)
    python = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # Nothing listens beyond this machine.
    inside = {"JAX_COORDINATOR_BIND_ADDRESS": "127.0.0.1:29411", "JAX_PLATFORMS": "cpu"}
    environment = os.environ | {"PATH": python, "PYTHONPATH": str(SOURCE)} | inside
    shells = [subprocess.Popen(["sh", "-c", f"exec {line}"], env=environment, stdout=subprocess.PIPE) for line in lines]
    try:
        said = [shell.communicate(timeout=300)[0].decode() for shell in shells]
    finally:
        for shell in shells:
            shell.kill()
    assert [shell.returncode for shell in shells] == [0, 0]
    assert "(success)" in said[0]
    assert "success" not in said[1]
    x, truth = np.load("x.npy"), names["case"].truth
    assert np.allclose(x @ x.T, truth @ truth.T, atol=1e-7)
    assert (tmp_path / "fit.ckpt").exists()
