"""NumPy's files, read without ever unpickling: what a header declares is held against the file before memory is taken.

`numpy.load` makes room for whatever a header claims before it looks whether the numbers are there. Here the header is
read alone, and the numbers only when their count, their type and the file's length agree.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np

from gnpolyak.base.errors import InputError
from gnpolyak.cli.solve.opening import require_room, shown, unreadable

_AGAIN = "write it again with numpy.save or numpy.savez"
_AS_NUMBERS = "save numbers: array.astype(float)"
# What goes wrong inside zipfile and zlib when a file is damaged or made to harm.
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError, NotImplementedError)
_MOST_MEMBERS, _MOST_DIMENSIONS = 64, 8
# Letters of a word in an array of words: the name of a kind, or a Pauli string.
_MOST_LETTERS, _LAST_LETTER = 64, 126
# Deflate cannot do better than this.
_LARGEST_RATIO = 1032


def read_npy(path: Path, file: IO[bytes], size: int) -> np.ndarray:
    """The array in a .npy file of `size` bytes."""
    shape, fortran, dtype = _header(path, file)
    expected = math.prod(shape) * dtype.itemsize
    require_room(path, expected)
    there = size - file.tell()
    if there != expected:
        raise unreadable(path, f"it is damaged: its {shape} numbers take {expected:,} bytes, not {there:,}", _AGAIN)
    return _numbers(path, file.read(expected), shape, fortran, dtype)


def read_npz(path: Path, file: IO[bytes]) -> dict[str, np.ndarray]:
    """The arrays in a .npz file, by their names."""
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            _check_members(path, members)
            require_room(path, sum(member.file_size for member in members))
            return {member.filename.removesuffix(".npy"): _member(path, archive, member) for member in members}
    except InputError:
        raise
    except _DAMAGED as error:
        raise unreadable(path, f"it is no sound .npz file ({type(error).__name__})", _AGAIN) from error


def _check_members(path: Path, members: list[zipfile.ZipInfo]) -> None:
    names = [member.filename for member in members]
    if not names or len(names) > _MOST_MEMBERS:
        raise unreadable(path, f"it holds {len(names)} arrays, not 1 to {_MOST_MEMBERS}", "save only what is asked for")
    for member in members:
        name = member.filename
        if names.count(name) > 1:
            raise unreadable(path, f"it holds {shown(name)} more than once", _AGAIN)
        if not name.endswith(".npy") or any(sign in name for sign in "/\\:\0"):
            raise unreadable(path, f"it holds {shown(name)}, which is no array of a .npz file", _AGAIN)
        if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise unreadable(path, f"{shown(name)} in it is encrypted, or packed in a way NumPy never does", _AGAIN)
        if member.file_size > _LARGEST_RATIO * (member.compress_size + 1):
            raise unreadable(path, f"{shown(name)} in it claims to be larger than it can be", _AGAIN)


def _member(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    # Read through a limit: what is unpacked ends at the size that was declared and checked.
    with archive.open(member) as file:
        shape, fortran, dtype = _header(path, file, words=True)
        expected = math.prod(shape) * dtype.itemsize
        require_room(path, expected)
        if expected > member.file_size:
            raise unreadable(path, f"{shown(member.filename)} in it is cut off", _AGAIN)
        content = file.read(expected)
        # The checksum is only looked at when the end is reached.
        if len(content) != expected or file.read(1):
            raise unreadable(path, f"{shown(member.filename)} in it does not have the length it declares", _AGAIN)
        return _numbers(path, content, shape, fortran, dtype)


def _header(path: Path, file: IO[bytes], *, words: bool = False) -> tuple[tuple[int, ...], bool, np.dtype]:
    try:
        version = np.lib.format.read_magic(file)
        readers: dict[Any, Any] = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        shape, fortran, dtype = readers[version](file)
    except (zipfile.BadZipFile, zlib.error):
        raise
    except Exception as error:  # A parser of text from anywhere raises anything.
        raise unreadable(path, f"its header is not NumPy's ({type(error).__name__})", _AGAIN) from error
    _check_declared(path, shape, dtype, words)
    return shape, fortran, dtype


def _check_declared(path: Path, shape: tuple[int, ...], dtype: np.dtype, words: bool) -> None:
    if dtype.hasobject:
        raise unreadable(path, "it holds Python objects, which are never unpickled here", _AS_NUMBERS)
    largest = {"c": 16, "U": 4 * _MOST_LETTERS if words else 0}.get(dtype.kind, 8)
    if dtype.kind not in "biufcU" or dtype.names or not 0 < dtype.itemsize <= largest:
        raise unreadable(path, f"its type {shown(str(dtype))} is not one of numbers", _AS_NUMBERS)
    if len(shape) > _MOST_DIMENSIONS or any(isinstance(side, bool) or side < 0 for side in shape):
        raise unreadable(path, f"it declares the shape {shown(str(shape))}, which no array has", _AGAIN)
    if not math.prod(shape):
        raise unreadable(path, f"it is an empty array of shape {shape}", "save the data into it")


def _numbers(path: Path, content: bytes, shape: tuple[int, ...], fortran: bool, dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "b":
        flat = np.frombuffer(content, np.uint8) != 0
    else:
        flat = np.frombuffer(content, dtype)
        # Four bytes need not be a letter, and Python finds that out too late.
        if dtype.kind == "U" and flat.view(dtype.str[0] + "u4").max(initial=0) > _LAST_LETTER:
            raise unreadable(path, "it holds text that is not plain letters", _AS_NUMBERS)
        flat = flat.astype(dtype.newbyteorder("="))
    return flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)
