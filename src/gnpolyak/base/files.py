"""Files that are either whole or absent."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What a folder has to take for it to count as one that files can be written to.
_TRIAL = 2**16
# What is being written and has no name yet.
_drafts: set[Path] = set()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path` that takes its place when the block ends without an error."""
    require_plain(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    draft = Path(name)
    _drafts.add(draft)
    try:
        yield draft
        # mkstemp makes files that only the owner can read; the result should be like any other new file.
        draft.chmod(0o666 & ~_umask())
        _flush(draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
        _drafts.discard(draft)


def remove_drafts() -> None:
    """Remove what is being written, for a process that is about to end without coming back to it."""
    for draft in tuple(_drafts):
        draft.unlink(missing_ok=True)


def require_writable(path: Path) -> None:
    """Raise OSError, before any work is done for it, where a file could not be written: by writing one beside it.

    Rights alone do not tell: a disk may be full or mounted for reading only, and an administrator has every right.
    """
    require_plain(path)
    with tempfile.TemporaryFile(dir=path.parent) as trial:
        trial.write(bytes(_TRIAL))


def require_plain(path: Path) -> None:
    """Raise OSError for a folder, a pipe or a device: reading may wait forever, and writing would replace it."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "there is something of that name that is no plain file", str(path))


def _flush(path: Path) -> None:
    """Have the content on the disk before the name: a power cut must not leave an empty file in a good one's place."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
