"""Files that are damaged, huge or made to harm: one line, and no memory taken."""

import importlib.util
import io
import os
import pickle
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.cli.solve.reading import read


def npy(array, **kwargs):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), **kwargs)
    return buffer.getvalue()


def declared(header, content=b"", version=1):
    """A .npy file whose header says this."""
    text = header.encode() + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text + content


def claims(shape, descr="'<f8'"):
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"


def zipped(members, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


GOOD = npy(np.arange(6.0).reshape(2, 3))


class Bomb:
    def __reduce__(self):
        return os.system, ("touch exploded",)


def objects():
    return npy(np.array([Bomb()], dtype=object), allow_pickle=True)


def damaged_zip():
    content = bytearray(zipped([("a.npy", GOOD)]))
    content[content.index(b"NUMPY") + len(GOOD) - 12] ^= 0xFF
    return bytes(content)


def encrypted_zip():
    content = bytearray(zipped([("a.npy", GOOD)]))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


def lying_zip():
    """A member that claims 2 GB and is 100 bytes long."""
    content = bytearray(zipped([("a.npy", GOOD)]))
    place = content.index(b"PK\x01\x02") + 24
    content[place : place + 4] = struct.pack("<I", 2**31)
    return bytes(content)


HOSTILE = {
    "empty.npy": (b"", "it is empty"),
    "empty.csv": (b"", "it is empty"),
    "blank.csv": (b"\n \n", "0 rows"),
    "text.npy": (b"1,2\n3,4\n", "header"),
    "cut.npy": (GOOD[:-3], "damaged"),
    "long.npy": (GOOD + b"\0", "damaged"),
    "stub.npy": (GOOD[:9], "header"),
    "huge.npy": (declared(claims("(10000000, 10000000, 10000000)")), "room"),
    "astronomic.npy": (declared(claims(f"({'9' * 4000},)")), "room"),
    "digits.npy": (declared(claims(f"({'9' * 6000},)")), "header"),
    "negative.npy": (declared(claims("(-2, -3)"), b"\0" * 48), "no array has"),
    "true.npy": (declared(claims("(True,)"), b"\0" * 8), "no array has"),
    "none.npy": (declared(claims("(0, 3)")), "empty array"),
    "deep.npy": (declared(claims("(1," * 500)), "header"),
    "nested.npy": (declared("(" * 9000), "header"),
    "wide.npy": (declared(claims("(" + "1," * 40 + ")"), b"\0" * 8), "no array has"),
    "code.npy": (declared("{'descr': '<f8', 'fortran_order': False, 'shape': (__import__('os').getpid(),)}"), "header"),
    "version.npy": (b"\x93NUMPY\x09\x00" + GOOD[8:], "header"),
    "objects.npy": (objects(), "never unpickled"),
    "pickle.npy": (pickle.dumps(Bomb()), "header"),
    "strings.npy": (npy(np.array(["a", "b"])), "not one of numbers"),
    "records.npy": (npy(np.zeros(2, dtype=[("a", "f8")])), "not one of numbers"),
    "dates.npy": (npy(np.zeros(2, dtype="M8[s]")), "not one of numbers"),
    "no.npz": (b"PK\x03\x04 and then nothing", "no sound .npz"),
    "array.npz": (GOOD, "no sound .npz"),
    "cut.npz": (zipped([("a.npy", GOOD)])[:-10], "no sound .npz"),
    "damaged.npz": (damaged_zip(), "no sound .npz"),
    "none.npz": (zipped([]), "0 arrays"),
    "many.npz": (zipped([(f"{k}.npy", GOOD) for k in range(70)]), "70 arrays"),
    "paths.npz": (zipped([("../../evil.npy", GOOD)]), "no array of a .npz"),
    "absolute.npz": (zipped([("/etc/evil.npy", GOOD)]), "no array of a .npz"),
    "drive.npz": (zipped([("C:\\evil.npy", GOOD)]), "no array of a .npz"),
    "other.npz": (zipped([("run.sh", b"touch exploded")]), "no array of a .npz"),
    "encrypted.npz": (encrypted_zip(), "encrypted"),
    "lying.npz": (lying_zip(), "larger than it can be"),
    "objects.npz": (zipped([("a.npy", objects())]), "never unpickled"),
    "inner.npz": (zipped([("a.npy", GOOD[:-8])]), "length it declares"),
    "claims.npz": (zipped([("a.npy", declared(claims("(100, 100)")))]), "cut off"),
    "packed.npz": (zipped([("a.npy", GOOD)], zipfile.ZIP_BZIP2), "packed in a way"),
    "ragged.csv": (b"1,2,3\n4,5\n", "line 2 has 2 cells"),
    "words.csv": (b"a,b\n1,2\n3,four\n", "line 3 has 'four'"),
    "header.csv": (b"a,b,c\n", "0 rows"),
    "comma.csv": (b"1,5;2\n3;4\n", "point"),
    "latin.csv": ("é,1\n2,3\n".encode("latin-1"), "not UTF-8"),
    "wide.csv": ("1,2\n3,4\n".encode("utf-16"), "not UTF-8"),
    "zero.csv": (b"1,2\0\n3,4\n", "zero bytes"),
    "underscore.csv": (b"1,2\n3,1_000\n", "'1_000'"),
    "columns.csv": (b"1," * 200_000 + b"1\n", "more than 100,000 cells"),
    "spaces.csv": (b"1 " * 200_000, "more than 100,000 cells"),
    "late.csv": (b"1,2\n" * 9000 + "é,1\n".encode("latin-1"), "not UTF-8"),
    "words.npz": (zipped([("a.npy", npy(np.array(["x" * 65])))]), "not one of numbers"),
    "bytes.npz": (zipped([("a.npy", npy(np.array([b"x"])))]), "not one of numbers"),
    "signs.npz": (zipped([("a.npy", declared(claims("(1,)", "'<U1'"), b"\xff" * 4))]), "plain letters"),
    "kind.npz": (zipped([("kind.npy", npy(np.array("tucker")))]), "no data"),
    "image.jpg": (b"\xff\xd8", "suffix"),
    "nosuffix": (b"1,2", "suffix"),
}


def refused(path):
    with pytest.raises(gnp.InputError) as error:
        read(Path(path))
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500
    return str(error.value)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_in_one_line(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content, expected = HOSTILE[name]
    Path(name).write_bytes(content)
    tracemalloc.start()
    message = refused(name)
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()
    assert expected in message
    assert [each.name for each in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("content", [GOOD, zipped([("a.npy", GOOD), ("b.npy", GOOD)])], ids=["npy", "npz"])
def test_a_file_cut_off_anywhere_is_refused(content, tmp_path):
    path = tmp_path / ("cut.npy" if content is GOOD else "cut.npz")
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        refused(path)


def test_many_short_lines_take_no_more_memory_than_their_numbers(tmp_path):
    (tmp_path / "thin.csv").write_bytes(b"1\n" * 100_000)
    tracemalloc.start()
    assert read(tmp_path / "thin.csv").alone.shape == (100_000, 1)
    assert tracemalloc.get_traced_memory()[1] < 2.5e6
    tracemalloc.stop()


def test_a_member_that_comes_twice_is_refused(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate"):
        content = zipped([("a.npy", GOOD), ("a.npy", GOOD)])
    (tmp_path / "twice.npz").write_bytes(content)
    assert "more than once" in refused(tmp_path / "twice.npz")


def test_a_zip_bomb_is_measured_before_it_is_unpacked(tmp_path, monkeypatch):
    bomb = declared(claims("(50000000,)", "'|u1'"), bytes(50_000_000))
    (tmp_path / "bomb.npz").write_bytes(zipped([("a.npy", bomb)], zipfile.ZIP_DEFLATED))
    monkeypatch.setattr("gnpolyak.cli.solve.opening.available", lambda: 10**8)
    del bomb
    tracemalloc.start()
    assert "room" in refused(tmp_path / "bomb.npz")
    assert tracemalloc.get_traced_memory()[1] < 5e6
    tracemalloc.stop()


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is not None, reason="pyarrow is here")
def test_parquet_without_pyarrow_says_what_to_install(tmp_path):
    (tmp_path / "table.parquet").write_bytes(b"PAR1")
    assert "pip install pyarrow" in refused(tmp_path / "table.parquet")


def test_parquet(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"rows": [0, 1], "values": [0.5, None]}), tmp_path / "good.parquet")
    content = read(tmp_path / "good.parquet")
    assert np.array_equal(content.alone, [[0, 0.5], [1, np.nan]], equal_nan=True)
    assert np.array_equal(content.named["rows"], [0, 1])
    parquet.write_table(pa.table({"a": [1.0], "b": ["word"]}), tmp_path / "words.parquet")
    assert "columns of numbers only: one is of 'string'" in refused(tmp_path / "words.parquet")
    parquet.write_table(pa.table({"a": [[1.0]]}), tmp_path / "lists.parquet")
    assert "columns of numbers only" in refused(tmp_path / "lists.parquet")
    parquet.write_table(pa.table({"a": np.zeros(0)}), tmp_path / "none.parquet")
    assert "0 rows" in refused(tmp_path / "none.parquet")
    whole = (tmp_path / "good.parquet").read_bytes()
    for content in (whole[:-5], whole[:40], b"PAR1" + bytes(50) + b"PAR1", whole[:20] + b"\xff" * 30 + whole[50:]):
        (tmp_path / "bad.parquet").write_bytes(content)
        assert "no sound parquet" in refused(tmp_path / "bad.parquet")


def test_what_is_no_plain_file_is_refused(tmp_path):
    (tmp_path / "folder.npy").mkdir()
    os.mkfifo(tmp_path / "pipe.npy")
    (tmp_path / "loop.npy").symlink_to(tmp_path / "loop.npy")
    (tmp_path / "nowhere.npy").symlink_to(tmp_path / "missing")
    assert "no plain file" in refused(tmp_path / "folder.npy")
    assert "no plain file" in refused(tmp_path / "pipe.npy")
    assert "cannot be opened" in refused(tmp_path / "loop.npy")
    assert "cannot be opened" in refused(tmp_path / "nowhere.npy")
    assert "cannot be opened" in refused(tmp_path / "a\nb\x1b[31m.npy")
    assert "cannot be opened" in refused(tmp_path / "zero\0byte.npy")


@pytest.mark.parametrize(
    "array", [np.arange(6.0).reshape(2, 3), np.asfortranarray(np.eye(3)), np.arange(4, dtype=">i4")]
)
@pytest.mark.parametrize("save", [np.save, np.savez, np.savez_compressed])
def test_good_arrays_are_read_as_numpy_reads_them(array, save, tmp_path):
    path = tmp_path / ("good.npy" if save is np.save else "good.npz")
    save(path, array)
    assert np.array_equal(read(path).alone, array)


def test_symlinks_to_files_and_named_arrays_are_read(tmp_path):
    np.savez(tmp_path / "data.npz", a=np.eye(2), b=np.array([True, False]))
    (tmp_path / "link.npz").symlink_to(tmp_path / "data.npz")
    content = read(tmp_path / "link.npz")
    assert content.alone is None
    assert np.array_equal(content.named["b"], [True, False])
    assert str(content) == "a (2, 2), b (2,)"


@pytest.mark.parametrize(
    "text",
    [
        "1,2,\n4,5,6\n",
        "1;2;nan\n4;5;6\n",
        "# a comment\n1\t2\tNA\n4\t5\t6",
        "x,y,z\r\n1,2,\r\n4,5,6\r\n",
        "1 2 nan\n4 5 6\n",
    ],
)
def test_tables_of_text_are_read(text, tmp_path):
    (tmp_path / "table.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    content = read(tmp_path / "table.csv")
    assert np.array_equal(content.alone, [[1, 2, np.nan], [4, 5, 6]], equal_nan=True)
    assert set(content.named) == ({"x", "y", "z"} if "x" in text else set())
