"""Arrays and words about them in one file, which is believed whole or not at all.

A line that names the format and its version, the length of a header, the header in JSON with the type and shape of each
array, the arrays themselves in little-endian order, and a SHA-256 of everything before it. Nothing in a file is ever
executed, and nothing is allocated for what the file is too short to hold.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gnpolyak.base.errors import InputError
from gnpolyak.base.files import replacing

VERSION = 1
_FORMAT = b"gnpolyak container "
_MAGIC = _FORMAT + b"%d\n" % VERSION
_LENGTH = struct.Struct("<Q")
_DIGEST = hashlib.sha256().digest_size
# Numbers, whole numbers and flags: what a state is made of.
_KINDS = "biufc"


def write(path: Path, header: dict[str, Any], arrays: Sequence[Any]) -> None:
    """Put a header and arrays in the place of what was at `path`, all of it or nothing."""
    plain = [_little(np.asarray(array)) for array in arrays]
    table = [[array.dtype.str, array.shape] for array in plain]
    words = json.dumps({"header": header, "arrays": table}).encode()
    parts: list[bytes | memoryview] = [_MAGIC, _LENGTH.pack(len(words)), words, *map(_bytes, plain)]
    digest = hashlib.sha256()
    with replacing(path) as draft, draft.open("wb") as file:
        for part in parts:
            digest.update(part)
            file.write(part)
        file.write(digest.digest())


def read(path: Path) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The header and the arrays of a file.

    Raises
    ------
    InputError
        In one line, where the file is not one of these, of another version, cut short or altered, or cannot be read.
    """
    return parsed(path, content(path))


def content(path: Path) -> bytes:
    """What is in a file, as it is, if it is a whole one; raises as `read` does."""
    try:
        found = path.read_bytes() if path.is_file() else b""
    except OSError as error:
        raise _refused(path, f"the right to read it: {error.strerror or error}") from error
    if not found.startswith(_MAGIC):
        other = found.startswith(_FORMAT)
        raise _refused(path, f"version {VERSION} of the format" if other else "the first line of such a file")
    if hashlib.sha256(memoryview(found)[:-_DIGEST]).digest() != found[-_DIGEST:]:
        raise _refused(path, "its own checksum: it was cut short or altered")
    return found


def parsed(path: Path, found: bytes) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The header and the arrays in the `content` of a file; raises as `read` does."""
    try:
        return _parsed(memoryview(found)[len(_MAGIC) : -_DIGEST])
    except (ValueError, TypeError, KeyError, struct.error, RecursionError) as error:
        raise _refused(path, "what its header promises") from error


def _parsed(body: memoryview) -> tuple[dict[str, Any], list[np.ndarray]]:
    (length,) = _LENGTH.unpack_from(body)
    if length > len(body) - _LENGTH.size:
        raise ValueError(length)
    words, rest = body[_LENGTH.size :][:length], body[_LENGTH.size + length :]
    told = json.loads(bytes(words))
    kinds = [_kind(*entry) for entry in told["arrays"]]
    # Python's own integers: a product of declared sizes must not wrap around to one that fits.
    if sum(size for _, _, size in kinds) != len(rest) or not isinstance(told["header"], dict):
        raise ValueError(len(rest))
    return told["header"], list(_cut(rest, kinds))


def _kind(name: str, shape: list[int]) -> tuple[np.dtype, tuple[int, ...], int]:
    """A declared type and shape, and the bytes that they take."""
    dtype = np.dtype(str(name))
    if dtype.kind not in _KINDS or not all(type(side) is int and side >= 0 for side in shape):
        raise ValueError(name)
    size = dtype.itemsize
    for side in shape:
        size *= side
    return dtype, tuple(shape), size


def _cut(rest: memoryview, kinds: list[tuple[np.dtype, tuple[int, ...], int]]) -> Iterator[np.ndarray]:
    begin = 0
    for dtype, shape, size in kinds:
        # A copy, since what is read in place may lie at any address.
        array = np.frombuffer(rest[begin : begin + size], dtype).reshape(shape)
        yield array.astype(dtype.newbyteorder("="), copy=True)
        begin += size


def _little(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in _KINDS:
        raise InputError(
            given=f"an array of type {array.dtype} to keep in a file",
            needed="numbers that NumPy has a name for",
            missing="a type that the file can state",
            advice="keep float32 or float64 in the variable",
        )
    # `ascontiguousarray` would give an array without axes one.
    return np.asarray(array, array.dtype.newbyteorder("<"), order="C")


def _bytes(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _refused(path: Path, missing: str) -> InputError:
    return InputError(
        given=f"{path}",
        needed="a whole file as this library writes it",
        missing=missing,
        advice="name another file, or remove this one to begin afresh; it was left as it is",
    )
