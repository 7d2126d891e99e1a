"""How the fused oracle is compiled, and for which processor."""

import platform
import sys
from pathlib import Path

import pytest

from gnpolyak.problem.oracles import native
from gnpolyak.problem.oracles.native import build
from passes import needs_library, python

CPUINFO = Path("/proc/cpuinfo")
NEEDED = {"avx512": {"avx512f", "avx512dq", "avx512vl", "avx512bw"}, "avx2": {"avx2", "fma"}}


def best():
    """What Linux says that the processor can do."""
    flags = set(next(line for line in CPUINFO.read_text().splitlines() if line.startswith("flags")).split())
    return next((name for name, needed in NEEDED.items() if needed <= flags), "baseline")


@needs_library
@pytest.mark.skipif(not CPUINFO.exists() or platform.machine() != "x86_64", reason="Linux on x86-64 tells its flags")
def test_the_processor_s_best_instructions_are_taken():
    assert native.status().instruction_set == best()
    code = "import gnpolyak as gnp; print(gnp.native.status().instruction_set)"
    assert python(code, GNPOLYAK_ISA="baseline") == "baseline"


@pytest.mark.skipif(sys.platform == "win32", reason="ARCHFLAGS is a custom of macOS")
def test_the_compiler_is_told_which_processor_of_a_mac_is_meant(tmp_path, monkeypatch):
    heard, compiler = tmp_path / "heard", tmp_path / "compiler"
    compiler.write_text(f'#!/bin/sh\necho "$@" > "{heard}"\nexit 1\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", f"{compiler} -with-a-flag")
    monkeypatch.setenv("ARCHFLAGS", "-arch arm64")
    assert build.build(tmp_path) is None
    assert heard.read_text().startswith("-with-a-flag ")
    assert " -arch arm64 " in heard.read_text()


def test_on_windows_one_compiler_is_looked_for(monkeypatch):
    """GCC would misalign the stack; the target keeps Clang from compiling for the processor it runs on."""
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(build.shutil, "which", lambda name: name)
    monkeypatch.setattr(build.os, "name", "nt")
    compiler, target, linked = build._compiler(), build._target(), build._linked()
    monkeypatch.undo()
    assert compiler == ["python-zig", "c++", "-target", "x86_64-windows-gnu"]
    assert target == linked == []
