"""Compiled programs are kept between two commands, in the user's cache folder: JAX's own persistent cache, bounded.

The library itself never does so: to write to somebody's disk is for them to ask for.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import platform
import stat
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import jax

from gnpolyak.base import environment

SETTING = "GNPOLYAK_CACHE"
"""The environment variable: off, or another folder."""

_OFF = {"off", "no", "false", "0"}
_ON = {"", "on", "yes", "true", "1"}
# Bytes. A command's programs are some hundred thousand.
_MOST = 256 * 2**20
# How JAX names the files.
_SUFFIXES = ("-cache", "-atime")


def folder() -> Path | None:
    """Where programs are kept; None where that is switched off, or there is no place for it."""
    said = os.environ.get(SETTING, "").strip()
    if said.lower() in _OFF:
        return None
    place = _caches() if said.lower() in _ON else Path(said)
    # A home folder may be shared by machines, and a program of one need not run on the processor of another.
    return None if place is None else place / "programs" / _processor()


def enable() -> None:
    """Keep and use compiled programs, where there is a place for them and the user has not told JAX of another."""
    place = folder()
    if place is None or getattr(jax.config, "jax_compilation_cache_dir", None) or not _is_ours(place):
        return
    _prune(place)
    # What cannot be read or kept, half-written by a process that was killed or on a full disk, is compiled again.
    warnings.filterwarnings("ignore", message="Error (reading|writing) persistent compilation cache entry")
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_compilation_cache_dir", str(place))


def clear() -> None:
    """Remove the kept programs, and nothing else that may be in the folder."""
    for path in _programs():
        path.unlink(missing_ok=True)


def describe() -> dict[str, str | int | None]:
    """Where the programs are, how many, and how large they are together."""
    sizes = [path.stat().st_size for path in _programs()]
    place = folder()
    return {"folder": None if place is None else str(place), "programs": len(sizes), "bytes": sum(sizes)}


def told() -> str:
    """The same as a sentence, with what can be done about it."""
    found = describe()
    if found["folder"] is None:
        return "off"
    size = f"{found['programs']} programs, {found['bytes'] or 0:,} bytes"
    return f"{found['folder']} ({size}; gnpolyak info --clear-cache empties it, {SETTING}=off does without)"


def _programs() -> list[Path]:
    place = folder()
    return [] if place is None else list(_kept(place))


def _kept(place: Path) -> Iterator[Path]:
    try:
        yield from (path for path in place.iterdir() if path.name.endswith(_SUFFIXES) and path.is_file())
    except OSError:
        return


def _caches() -> Path | None:
    """The folder for caches of this user on this system."""
    stated = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", "")
    if Path(stated).is_absolute():
        return Path(stated) / "gnpolyak"
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if not home.is_dir():
        return None
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "gnpolyak"


def _processor() -> str:
    """A short name for what this processor can do."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8", errors="replace").splitlines() if info.is_file() else []
    abilities = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    words = " ".join((platform.machine(), environment.processor(), abilities))
    return hashlib.sha256(words.encode()).hexdigest()[:12]


def _is_ours(place: Path) -> bool:
    """Make the folder, and tell whether nobody else can write to it: what is in it will be executed."""
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = place.stat()
    except OSError:
        return False
    owned = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    return owned and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and os.access(place, os.W_OK)


def _prune(place: Path) -> None:
    """Where there is more than allowed, keep the newest programs, half of that."""
    try:
        newest = sorted(((path.stat(), path) for path in _kept(place)), key=lambda each: -each[0].st_mtime)
        sizes = itertools.accumulate(found.st_size for found, _ in newest)
        if sum(found.st_size for found, _ in newest) > _MOST:
            for (_, path), size in zip(newest, sizes, strict=True):
                if size > _MOST // 2:
                    path.unlink(missing_ok=True)
    except OSError:
        # Another command is at it.
        return
