"""Where and with what something was measured: the columns that every file of rows carries, and how pages tell them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import gnpolyak as gnp
from gnpolyak.base.environment import provenance

HARDWARE = ("device", "processor", "cores")
SOFTWARE = ("oracle", "versions", "commit", "date")
"""What was installed; the date too, as that changes with it."""

_TOLD = ("processor", "cores", "device", "oracle", "dtype", "versions", "commit", "jobs", "date")


def machine() -> dict[str, str]:
    """The columns `HARDWARE` and `SOFTWARE`, as they are now."""
    now = provenance()
    texts = (
        ", ".join(now["devices"]),
        now["machine"],
        str(now["cores"]),
        gnp.native.describe()["oracle"],
        ", ".join(f"{name} {version}" for name, version in now["versions"].items()),
        now["commit"] or "unknown",
        now["date"].partition("T")[0],
    )
    return dict(zip((*HARDWARE, *SOFTWARE), texts, strict=True))


def told(facts: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """What rows were made on and with, in the order of pages; several values where the rows differ."""
    return {name: "; ".join(sorted({one[name] for one in facts if name in one})) for name in _TOLD}
