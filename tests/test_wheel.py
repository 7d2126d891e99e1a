"""The wheel: made here, it runs in an empty environment without a compiler, with the kernel inside."""

import importlib.util
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
KERNEL = "gnpolyak/problem/oracles/native/_oracle.so"


def run(*command, **environment):
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def wheel(folder, **environment):
    """From a copy: a build compiles into the tree that it is given."""
    tree = folder / "tree"
    files = run("git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    for name in filter(lambda name: (ROOT / name).is_file(), files):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes((ROOT / name).read_bytes())
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(folder), str(tree), **environment)
    return next(folder.glob("*.whl"))


@pytest.mark.slow
def test_a_wheel_runs_where_there_is_no_compiler(tmp_path):
    made = wheel(tmp_path)
    assert made.stem.endswith(f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}")
    assert KERNEL in zipfile.ZipFile(made).namelist()
    run(sys.executable, "-m", "venv", str(tmp_path / "empty"))
    places = {"PATH": str(tmp_path / "empty" / "bin"), "PYTHONPATH": "", "CXX": "", "XLA_FLAGS": ""}
    python = str(tmp_path / "empty" / "bin" / "python")
    run(python, "-m", "pip", "install", "--quiet", str(made), **places)
    assert str(tmp_path) in run(python, str(ROOT / ".ci" / "smoke.py"), **places)


@pytest.mark.slow
def test_without_a_compiler_the_wheel_is_for_every_platform(tmp_path):
    made = wheel(tmp_path, CXX="no-such-compiler")
    assert made.stem.endswith("py3-none-any")
    assert KERNEL not in zipfile.ZipFile(made).namelist()


@pytest.mark.parametrize(
    ("platform", "tag"),
    [
        ("linux-x86_64", "linux_x86_64"),
        ("macosx-11.0-arm64", "macosx_11_0_arm64"),
        ("macosx-10.9-universal2", "macosx_10_9_arm64"),
        ("win-amd64", "win_amd64"),
    ],
)
def test_a_tag_names_one_processor(platform, tag, monkeypatch):
    pytest.importorskip("hatchling", reason="hatchling builds the package, and is there only while it is built")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    monkeypatch.setattr(hook.sysconfig, "get_platform", lambda: platform)
    monkeypatch.setattr(hook.platform, "machine", lambda: "arm64")
    assert hook._platform() == tag
