"""Tables of numbers: text with separators, and parquet."""

from __future__ import annotations

import array
import importlib
import io
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from gnpolyak.cli.solve.opening import require_room, shown, unreadable

# What stands for a number that is not there.
_MISSING = {"", "nan", "na", "n/a", "null", "none", "-", "?"}
_MOST_COLUMNS = 100_000
# The types of parquet's columns that are numbers.
_NUMBER = re.compile(r"u?int(8|16|32|64)|halffloat|float|double|bool")


def read_csv(path: Path, file: IO[bytes], size: int) -> tuple[list[str] | None, np.ndarray]:
    """The names of the columns, where the first line has some, and the numbers, NaN where a cell is empty."""
    # A character can be a number of its own, of eight bytes.
    require_room(path, 8 * size)
    text = io.TextIOWrapper(file, encoding="utf-8-sig")
    try:
        return _table(path, _rows(path, _lines(path, text)))
    finally:
        # The file is closed by who opened it.
        text.detach()


def _table(path: Path, rows: Iterator[tuple[int, list[str]]]) -> tuple[list[str] | None, np.ndarray]:
    first_place, first = next(rows, (0, [""]))
    names = [cell.strip() for cell in first] if any(map(_is_name, first)) else None
    body = rows if names else itertools.chain([(first_place, first)] if first_place else [], rows)
    numbers, width, count = array.array("d"), len(first), 0
    for place, cells in body:
        if len(cells) != width:
            raise unreadable(path, f"line {place} has {len(cells)} cells, and the first {width}", "fill the table up")
        numbers.extend(_number(path, cell, place) for cell in cells)
        count += 1
    if not count:
        raise unreadable(path, f"a table: it has 0 rows of numbers and {width} columns", "write numbers into it")
    return names, np.frombuffer(numbers, dtype=np.float64).reshape(count, width)


def _lines(path: Path, text: io.TextIOWrapper) -> Iterator[tuple[int, str]]:
    """The lines that are not empty or a comment, and their numbers, one in memory at a time."""
    try:
        for place, line in enumerate(text, 1):
            if "\0" in line:
                raise unreadable(path, "it is not text: there are zero bytes in it", "save it again as CSV in UTF-8")
            if line.strip() and line[0] != "#":
                yield place, line
    except UnicodeDecodeError as error:
        raise unreadable(path, "it is not UTF-8 text", "save it again as CSV in UTF-8") from error


def _rows(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """The cells of each line, between the sign that the first has most of, and its number."""
    sign: str | None = None
    for count, (place, line) in enumerate(lines):
        if not count:
            found = {each: line.count(each) for each in ("\t", ";", ",") if each in line}
            sign = max(found, key=lambda each: found[each], default=None)
        # Cells take more memory than the text: they are counted by as many as are allowed.
        cells = line.split(sign, _MOST_COLUMNS)
        if len(cells) > _MOST_COLUMNS:
            raise unreadable(path, f"line {place} has more than {_MOST_COLUMNS:,} cells", "write the table transposed")
        yield place, [cell.strip().strip("\"'") for cell in cells]


def _is_number(cell: str) -> bool:
    if cell.lower() in _MISSING:
        return True
    try:
        float(cell)
    except ValueError:
        return False
    # Python reads 1_000 as a number; in a table it is a name.
    return "_" not in cell


def _is_name(cell: str) -> bool:
    return not _is_number(cell) and any(sign.isalpha() for sign in cell)


def _number(path: Path, cell: str, place: int) -> float:
    if not _is_number(cell):
        advice = (
            "write decimals with a point" if cell.count(",") == 1 else "leave the cell empty where nothing is known"
        )
        raise unreadable(path, f"line {place} has {shown(cell)} for a number", advice)
    return float("nan") if cell.lower() in _MISSING else float(cell)


def read_parquet(path: Path, file: IO[bytes]) -> tuple[list[str], np.ndarray]:
    """The names of the columns and the numbers of a parquet file."""
    try:
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise unreadable(path, "pyarrow, which reads parquet", "pip install pyarrow, or save it as .csv") from error
    try:
        table = parquet.ParquetFile(file)
        shape = table.metadata.num_rows, table.metadata.num_columns
    except Exception as error:  # Of pyarrow's own classes, which need not be there.
        raise unreadable(path, f"it is no sound parquet file ({type(error).__name__})", "write it again") from error
    if 0 in shape or min(shape) < 0 or shape[1] > _MOST_COLUMNS:
        raise unreadable(path, f"a table: it has {shape[0]} rows and {shape[1]} columns", "write numbers into it")
    require_room(path, 16 * shape[0] * shape[1])
    return _columns(path, table)


def _columns(path: Path, table: Any) -> tuple[list[str], np.ndarray]:
    try:
        # Asked before they are unpacked: what is no number may be of any length.
        words = [str(kind) for kind in table.schema_arrow.types if not _NUMBER.fullmatch(str(kind))]
        read = None if words else table.read()
        columns = [np.asarray(column.to_numpy(), dtype=np.float64) for column in read.columns] if read else []
    except Exception as error:
        raise unreadable(path, f"it is no sound parquet file ({type(error).__name__})", "write it again") from error
    if read is None:
        raise unreadable(path, f"columns of numbers only: one is of {shown(words[0])}", "leave out the others")
    return list(read.column_names), np.column_stack(columns)
