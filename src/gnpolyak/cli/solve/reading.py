"""What is in a file, as arrays of numbers with names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gnpolyak.cli.solve.arrays import read_npy, read_npz
from gnpolyak.cli.solve.opening import opened, shown, unreadable
from gnpolyak.cli.solve.tables import read_csv, read_parquet


@dataclass(frozen=True)
class Content:
    """The arrays of a file: one without a name, or several with names."""

    path: Path
    alone: np.ndarray | None
    named: dict[str, np.ndarray]
    kind: str | None = None
    """The problem class that the file itself names: an array `kind` that is a word."""

    def __str__(self) -> str:
        if self.alone is not None:
            return f"one array of shape {self.alone.shape}"
        return ", ".join(f"{shown(name)[1:-1]} {array.shape}" for name, array in self.named.items())


def read(path: Path) -> Content:
    """The arrays in a .npy, .npz, .csv or .parquet file, or InputError in one line."""
    kind = path.suffix.lower()
    if kind not in {".npy", ".npz", ".csv", ".txt", ".tsv", ".parquet"}:
        raise unreadable(path, f"a suffix that is known, not {shown(kind)}", "save it as one of these")
    with opened(path) as (file, size):
        if kind == ".npy":
            return Content(path, read_npy(path, file, size), {})
        if kind == ".npz":
            return _of(path, read_npz(path, file))
        names, table = read_parquet(path, file) if kind == ".parquet" else read_csv(path, file, size)
    columns = _by_name(names, table)
    return Content(path, table, columns)


def _of(path: Path, found: dict[str, np.ndarray]) -> Content:
    """A single array needs no name, and `kind` is none of the arrays."""
    said = found.pop("kind", None)
    kind = None if said is None else str(said.item()) if said.size == 1 else "several words"
    if not found:
        raise unreadable(path, "it holds a kind and no data", "save the arrays of that kind beside it")
    return Content(path, next(iter(found.values())) if len(found) == 1 else None, found, kind)


def _by_name(names: list[str] | None, table: np.ndarray) -> dict[str, np.ndarray]:
    return {} if names is None or len(set(names)) < len(names) else dict(zip(names, table.T, strict=True))
