"""Files that are either whole or absent."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path` that takes its place when the block ends without an error."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        # mkstemp makes files that only the owner can read; the result should be like any other new file.
        draft.chmod(0o666 & ~_umask())
        _flush(draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


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
