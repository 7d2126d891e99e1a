"""What this installation is made of: versions, devices, processor and commit."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import jax

from gnpolyak.base.version import __version__

_PACKAGES = ("jax", "jaxlib", "numpy", "equinox", "lineax", "scipy", "torch", "optax")


def provenance() -> dict[str, Any]:
    """Where, when and with what a figure was taken, as JSON can keep it.

    Returns
    -------
    dict
        ``date`` (UTC, to the second), ``machine`` (its processor), ``cores``, ``devices``, ``python``, ``versions`` and
        ``commit``. Which oracle served is the problem's to say: `gnpolyak.native.describe`.
    """
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": processor(),
        "cores": os.cpu_count(),
        "devices": sorted({f"{device.platform} {device.device_kind}" for device in jax.devices()}),
        "python": platform.python_version(),
        "versions": versions(),
        "commit": commit(),
    }


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
