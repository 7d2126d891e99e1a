"""A fork copies memory and no threads: where JAX had begun to compute, a child waits forever for those it lacks."""

from __future__ import annotations

import os
from typing import Any

from gnpolyak.base.errors import InputError


class _Process:
    """What is known of this process."""

    begun = False
    """Whether it has computed."""
    bereft = False
    """Whether it was forked from one that had."""


def require_threads() -> None:
    """Raise InputError in a process that would wait forever; called wherever the library begins to compute."""
    if _Process.bereft:
        raise InputError(
            given="a process forked from one that had already computed with JAX",
            needed="JAX's threads",
            missing="them: a fork does not copy threads, and what is computed here would never end",
            advice="start processes with multiprocessing.get_context('spawn'), or fork before anything is computed",
        )
    _Process.begun = True


def _before() -> None:
    _Process.begun = _Process.begun or _jax_has_begun()


def _in_the_child() -> None:
    _Process.bereft = _Process.bereft or _Process.begun


def _jax_has_begun() -> bool:
    """Whether anybody has made JAX compute; only JAX knows, and has no public word for it."""
    import jax._src.xla_bridge as bridge  # noqa: PLC0415

    has_begun: Any = getattr(bridge, "backends_are_initialized", lambda: False)
    return bool(has_begun())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_child=_in_the_child)
