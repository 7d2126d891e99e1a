"""Where and with what something was measured: the columns that every file of rows carries, and how pages tell them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import jax

from gnpolyak.base import environment

HARDWARE = ("device", "processor", "cores")
SOFTWARE = ("oracle", "versions", "commit", "date")
"""What was installed; the date too, as that changes with it."""

_TOLD = ("processor", "cores", "device", "oracle", "dtype", "versions", "commit", "jobs", "date")


def machine() -> dict[str, str]:
    """The columns `HARDWARE` and `SOFTWARE`, as they are now."""
    installed = environment.versions()
    texts = (
        ", ".join(sorted({device.device_kind for device in jax.devices()})),
        environment.processor(),
        str(os.cpu_count()),
        environment.oracle(),
        ", ".join(f"{name} {version}" for name, version in installed.items()),
        environment.commit() or "unknown",
        datetime.now(UTC).date().isoformat(),
    )
    return dict(zip((*HARDWARE, *SOFTWARE), texts, strict=True))


def told(facts: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """What rows were made on and with, in the order of pages; several values where the rows differ."""
    return {name: "; ".join(sorted({one[name] for one in facts if name in one})) for name in _TOLD}
