"""What this installation is made of: versions, devices, and the oracle in use."""

from __future__ import annotations

import functools
import platform
import subprocess
from importlib import metadata
from pathlib import Path

import jax

from gnpolyak.base.version import __version__
from gnpolyak.problem.oracles import native

_PACKAGES = ("jax", "jaxlib", "numpy", "equinox", "lineax", "scipy", "torch", "optax")


def versions() -> dict[str, str]:
    """The versions of this package and of those it meets, as far as they are installed."""
    found = {"gnpolyak": __version__}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def devices() -> list[str]:
    """The devices JAX sees, the one it computes on first."""
    return [f"{device.platform}:{device.id} {device.device_kind}" for device in jax.devices()]


def oracle() -> str:
    """Which oracle serves power measurements under the L1 penalty, and why."""
    state = native.status()
    if jax.default_backend() != "cpu":
        return f"XLA (computing on {jax.default_backend()}; the fused oracle is for CPUs)"
    if not state.available:
        return f"XLA ({state.reason})"
    return f"fused C++ for {state.instruction_set} ({state.reason})"


def threads() -> str:
    """How many threads the fused oracle may use."""
    limit = native.status().threads
    return f"at most {limit}" if limit else "as many as XLA has, one a core"


def processor() -> str:
    """The name of the processor."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


@functools.cache
def commit() -> str | None:
    """The commit this package runs from, marked if its code was changed since; None outside a clone."""
    if not _git("ls-files", "__init__.py"):
        # Installed somewhere below another repository, whose commit would say nothing.
        return None
    head, changes = _git("rev-parse", "--short", "HEAD"), _git("status", "--porcelain", "--", ".")
    return f"{head} and changes" if changes else head


def _git(*arguments: str) -> str:
    try:
        here = Path(__file__).parent.parent
        done = subprocess.run(["git", "-C", str(here), *arguments], capture_output=True, text=True, check=True)
        return done.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
