"""Compile the fused oracle with whatever C++ compiler the machine has.

The package's build calls `build`, and so may anybody who runs from a source tree, with
``python -m gnpolyak.problem.oracles.native``.
Only the standard library is used, because the build environment holds little more than jaxlib and its headers.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIBRARY = "_oracle.so"
NOTE = "_oracle.txt"
"""Why there is no library, in a sentence: what `gnpolyak info` repeats."""

_COMMON = ["-O3", "-std=c++17", "-fvisibility=hidden", "-Wall"]
# Tried where CXX names no compiler. On Windows MSVC has no vector types, and GCC spills wide registers to a stack that
# it does not align; Clang, which `pip install ziglang` brings, aligns it. Without a target it would compile for the
# very processor that it runs on.
_COMPILERS = {
    "posix": ("c++", "g++", "clang++"),
    "nt": (f"python-zig c++ -target {'aarch64' if platform.machine() == 'ARM64' else 'x86_64'}-windows-gnu",),
}
# Register width in bytes and rows in a register tile, next to the compiler's flags.
_BASELINE: dict[str, tuple[int, int, list[str]]] = {"baseline": (16, 2, [])}
_X86 = {
    "avx2": (32, 2, ["-mavx2", "-mfma"]),
    "avx512": (64, 4, ["-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mavx2", "-mfma"]),
}


# Compiled for each instruction set, and the entry points that XLA calls.
_KERNELS = ("kernel.cpp", "entries.cpp")
_CALLS = ("oracle.cpp", "entry_calls.cpp", "medians.cpp")


class BuildError(Exception):
    """Why the library could not be built."""


def build(folder: Path = HERE) -> Path | None:
    """Compile the library into `folder`; on failure leave a note that says why, and return None."""
    library, note = folder / LIBRARY, folder / NOTE
    library.unlink(missing_ok=True)
    note.unlink(missing_ok=True)
    try:
        _compile(library)
    except BuildError as error:
        note.write_text(f"{error}\n", encoding="utf-8")
        return None
    return library


def _compile(library: Path) -> None:
    common, include = [*_compiler(), *_COMMON, *_target()], _headers()
    x86 = platform.machine().lower() in {"x86_64", "amd64"}
    with tempfile.TemporaryDirectory() as scratch:
        objects = []
        for isa, (width, rows, flags) in {**_BASELINE, **(_X86 if x86 else {})}.items():
            define = [f"-DGNPOLYAK_ISA={isa}", f'-DGNPOLYAK_NAME="{isa}"']
            define += [f"-DGNPOLYAK_BYTES={width}", f"-DGNPOLYAK_ROWS={rows}"]
            for source in _KERNELS:
                objects.append(f"{scratch}/{isa}_{source}.o")
                _run([*common, *flags, *define, "-c", str(HERE / source), "-o", objects[-1]])
        define = ["-DGNPOLYAK_X86"] if x86 else []
        for source in _CALLS:
            objects.append(f"{scratch}/{source}.o")
            _run([*common, *define, "-isystem", include, "-c", str(HERE / source), "-o", objects[-1]])
        draft = f"{scratch}/{LIBRARY}"
        _run([*common, "-shared", *objects, "-o", draft, *_linked()])
        shutil.move(draft, library)


def _target() -> list[str]:
    # Code on Windows can always be moved. ARCHFLAGS is how builds of wheels for macOS say which processor is meant.
    return [] if os.name == "nt" else ["-fPIC", *shlex.split(os.environ.get("ARCHFLAGS", ""))]


def _linked() -> list[str]:
    return [] if os.name == "nt" else ["-pthread"]


def _compiler() -> list[str]:
    named = os.environ.get("CXX")
    candidates = (named,) if named else _COMPILERS.get(os.name, ())
    for candidate in candidates:
        command = shlex.split(candidate, posix=os.name == "posix")
        if command and shutil.which(command[0]):
            return command
    raise BuildError(f"no C++ compiler at build time (looked for {', '.join(candidates)})")


def _headers() -> str:
    # Found rather than imported: importing jaxlib costs seconds and needs its own dependencies.
    spec = importlib.util.find_spec("jaxlib")
    for folder in spec.submodule_search_locations or [] if spec else []:
        if (Path(folder) / "include/xla/ffi/api/ffi.h").is_file():
            return str(Path(folder) / "include")
    raise BuildError("no jaxlib with XLA's FFI headers at build time")


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        reason = next((line for line in lines if "error" in line), lines[0])
        raise BuildError(f"the C++ compiler failed at build time: {reason[:200]}")
