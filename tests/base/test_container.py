"""Files of arrays that are believed whole or not at all."""

import hashlib
import json
import struct
import tracemalloc

import numpy as np
import pytest

from gnpolyak import InputError
from gnpolyak.base import container

MAGIC = b"gnpolyak container 1\n"


def signed(words, rest=b"", length=None):
    """A file of this header, with the checksum that makes it look whole."""
    body = MAGIC + struct.pack("<Q", len(words) if length is None else length) + words + rest
    return body + hashlib.sha256(body).digest()


def table(*arrays):
    return json.dumps({"header": {}, "arrays": arrays}).encode()


def test_what_is_written_is_read_bit_by_bit(tmp_path):
    given = [
        np.array([[1.5, -0.0], [np.nan, np.inf]]),
        np.arange(6, dtype=np.int32)[::2],
        np.asfortranarray(np.arange(6.0, dtype=np.float32).reshape(2, 3)),
        np.array(True),
        np.array([1 + 2j]),
        np.arange(3.0, dtype=">f8"),
        np.zeros((0, 4)),
    ]
    container.write(tmp_path / "a", {"words": ["é", 0.1, None]}, given)
    header, found = container.read(tmp_path / "a")
    assert header == {"words": ["é", 0.1, None]}
    for before, after in zip(given, found, strict=True):
        assert after.dtype == before.dtype.newbyteorder("=")
        assert after.shape == before.shape
        assert after.tobytes() == np.ascontiguousarray(before, after.dtype).tobytes()
        assert after.flags.writeable
        assert after.flags.aligned


def test_the_layout_is_what_is_said_of_it(tmp_path):
    """Read by hand: another program can."""
    container.write(tmp_path / "a", {"n": 1}, [np.array([1.0, 2.0])])
    content = (tmp_path / "a").read_bytes()
    (length,) = struct.unpack_from("<Q", content, len(MAGIC))
    words = content[len(MAGIC) + 8 :][:length]
    assert json.loads(words) == {"header": {"n": 1}, "arrays": [["<f8", [2]]]}
    assert content[len(MAGIC) + 8 + length : -32] == struct.pack("<2d", 1.0, 2.0)
    assert content[-32:] == hashlib.sha256(content[:-32]).digest()


HUGE = 2**31
LIES = {
    "more than is there": signed(table(["<f8", [HUGE, HUGE]]), bytes(8)),
    # 2³² · 2³² is 0 in 64 bits.
    "sizes that wrap around": signed(table(["<f8", [2**32, 2**32]])),
    "less than is there": signed(table(["<f8", [1]]), bytes(16)),
    "a negative side": signed(table(["<f8", [-1]]), bytes(8)),
    "two negative sides": signed(table(["<f8", [-1, -1]]), bytes(8)),
    "a side that is no number": signed(table(["<f8", ["1"]]), bytes(8)),
    "a side that is a flag": signed(table(["<f8", [True]]), bytes(8)),
    "objects": signed(table(["|O", [1]]), bytes(8)),
    "no type at all": signed(table(["rubbish", [1]]), bytes(8)),
    "a record type": signed(table(["f8,f8", [1]]), bytes(16)),
    "no table": signed(b"{}"),
    "no dictionary": signed(b"[1, 2]"),
    "no JSON": signed(b"\xff\xfe"),
    "nested without end": signed(b"[" * 100_000),
    "a header longer than the file": signed(b"{}", length=2**63),
    "no header": MAGIC + hashlib.sha256(MAGIC).digest(),
    "another format": b"PK\x03\x04" + bytes(100),
    "a later version": b"gnpolyak container 2\n" + bytes(100),
    "nothing": b"",
}


@pytest.mark.parametrize("content", LIES.values(), ids=LIES.keys())
def test_a_file_that_promises_what_it_does_not_hold_is_refused_in_a_line(tmp_path, content):
    """With its checksum right, so that only the reader's own checks stand between the file and memory."""
    path = tmp_path / "a"
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as refusal:
            container.read(path)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()
    assert "\n" not in str(refusal.value)
    assert path.read_bytes() == content


def test_objects_are_not_written(tmp_path):
    with pytest.raises(InputError, match="type object"):
        container.write(tmp_path / "a", {}, [np.array([None])])
    assert not list(tmp_path.iterdir())
