"""Rows in files and from seeds: what is read is what is there, ahead of its use and into few buffers."""

import threading

import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base import halting, memory
from gnpolyak.base.streams import Streamed, reading, rows, together
from gnpolyak.base.streams.sources import InFile, Source


@pytest.fixture
def table():
    return np.random.default_rng(0).standard_normal((333, 7))


@pytest.fixture
def mapped(table, tmp_path):
    np.save(tmp_path / "p.npy", table)
    return np.load(tmp_path / "p.npy", mmap_mode="r")


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(reading, "BLOCK_BYTES", 40 * 7 * 8)


def read(*sources):
    with reading.many_passes():
        return [np.concatenate(each) for each in zip(*(_copies(sources)), strict=True)]


def _copies(sources):
    return [[part.copy() for part in found] for _, _, found in reading.blocks(sources)]


@pytest.mark.usefixtures("tiny")
class TestBlocks:
    def test_all_rows_come_in_their_order(self, mapped, table):
        ends = [(start, stop) for start, stop, _ in reading.blocks([InFile(mapped, "p")])]
        assert ends == [(start, min(start + 40, 333)) for start in range(0, 333, 40)]
        assert np.array_equal(read(InFile(mapped, "p"))[0], table)

    def test_two_matrices_are_read_together(self, mapped, table, tmp_path):
        np.save(tmp_path / "q.npy", np.float32(table[:, :3]))
        q = InFile(np.load(tmp_path / "q.npy", mmap_mode="r"), "q")
        found = read(InFile(mapped, "p"), q)
        assert np.array_equal(found[0], table)
        assert np.array_equal(found[1], np.float32(table[:, :3]))

    def test_the_same_few_buffers_serve_all_blocks_of_all_passes(self, mapped):
        source, places = InFile(mapped, "p"), set()
        with reading.many_passes():
            for _ in range(3):
                places |= {found.ctypes.data for _, _, (found,) in reading.blocks([source])}
        assert len(places) <= source.workers + 1

    def test_a_file_system_without_direct_reads_is_read_as_usual(self, mapped, table, monkeypatch):
        source = InFile(mapped, "p")
        source.direct = True
        monkeypatch.setattr(InFile, "_filled", lambda *args: False)
        assert np.array_equal(read(source)[0], table)

    def test_the_next_block_is_read_while_one_is_used(self):
        begun = threading.Event()

        class Slow(Source):
            shape, dtype, label, workers = (80, 7), np.dtype(float), "slow", 1

            def read(self, start, stop, out):
                out[...] = start
                if start:
                    begun.set()

        passing = reading.blocks([Slow()])
        assert np.all(next(passing)[2][0] == 0)
        assert begun.wait(5), "while the first block is held, the second is read"
        assert np.all(next(passing)[2][0] == 40)

    def test_a_pass_that_is_halted_ends_after_a_block_and_leaves_no_thread(self, mapped):
        seen = []
        with halting.halted_by(lambda: len(seen) == 2):
            passing = reading.blocks([InFile(mapped, "p")])
            seen += [next(passing)[0], next(passing)[0]]
            with pytest.raises(halting.HaltedError):
                next(passing)
        assert seen == [0, 40]
        assert not [thread for thread in threading.enumerate() if "gnpolyak rows" in thread.name]

    def test_what_a_source_raises_reaches_who_reads(self):
        def make(start, stop):
            raise RuntimeError("no more")

        with pytest.raises(RuntimeError, match="no more"):
            read(gnp.GeneratedRows(make, (80, 7)))


class TestFiles:
    @pytest.mark.usefixtures("tiny")
    def test_rows_read_past_the_cache_are_the_same(self, table, tmp_path):
        (tmp_path / "raw").write_bytes(b"x" * 5000 + table.tobytes())
        raw = np.memmap(tmp_path / "raw", np.float64, "r", 5000, table.shape)
        for part, known in ((raw, table), (raw[11:300], table[11:300])):
            source = InFile(part, "p")
            source.direct = True
            assert np.array_equal(read(source)[0], known)

    @pytest.mark.usefixtures("tiny")
    def test_more_than_half_of_the_free_memory_is_read_past_the_cache(self, mapped, monkeypatch):
        for room, direct in ((10**9, False), (10**4, True)):
            monkeypatch.setattr(memory, "available", lambda room=room: room)
            (found,) = together({"p": mapped})
            assert found.source.direct is direct

    def test_a_part_of_a_map_is_found_in_its_file(self, mapped, table):
        part = InFile(mapped[100:300], "p")
        assert np.array_equal(part.rows(0, 200), table[100:300])
        assert np.array_equal(part.take(np.array([3, 4, 99])), table[[103, 104, 199]])

    def test_a_raw_file_with_an_offset_beyond_a_page(self, table, tmp_path):
        (tmp_path / "raw").write_bytes(b"x" * 5000 + table.tobytes())
        raw = np.memmap(tmp_path / "raw", np.float64, "r", 5000, table.shape)
        assert np.array_equal(InFile(raw, "p").rows(7, 333), table[7:])

    @pytest.mark.parametrize(
        ("spoil", "said"),
        [
            (lambda path: path.write_bytes(path.read_bytes()[:-8]), "changed or replaced"),
            (lambda path: path.write_bytes(path.read_bytes()), "changed or replaced"),
            (lambda path: path.unlink(), "No such file"),
        ],
        ids=["cut short", "written again", "removed"],
    )
    def test_a_file_that_changes_is_refused(self, mapped, tmp_path, spoil, said):
        source = InFile(mapped, "p")
        spoil(tmp_path / "p.npy")
        with pytest.raises(gnp.InputError, match=said):
            source.rows(0, 1)

    def test_a_file_that_ends_too_soon_is_refused(self, table, tmp_path, monkeypatch):
        np.save(tmp_path / "p.npy", table)
        source = InFile(np.load(tmp_path / "p.npy", mmap_mode="r"), "p")
        # Rows beyond the end, as where a file is cut between the look at it and the read.
        source.shape = (400, 7)
        with pytest.raises(gnp.InputError, match="shorter than it was"):
            source.rows(300, 400)

    @pytest.mark.parametrize(
        ("stored", "mode", "said"),
        [
            (np.asfortranarray, "r", "C order"),
            (lambda a: a.astype(">f8"), "r", "order of bytes"),
            (lambda a: a.astype(np.int64), "r", "dtype int64"),
            (lambda a: a, "c", "mode 'c'"),
        ],
        ids=["Fortran", "bytes", "integers", "copy on write"],
    )
    @pytest.mark.usefixtures("tiny")
    def test_what_cannot_be_streamed_is_refused_in_a_line(self, table, tmp_path, stored, mode, said):
        np.save(tmp_path / "p.npy", stored(table))
        with pytest.raises(gnp.InputError, match=said) as raised:
            together({"p": np.load(tmp_path / "p.npy", mmap_mode=mode)})
        assert "\n" not in str(raised.value)

    @pytest.mark.usefixtures("tiny")
    def test_rows_with_gaps_are_refused(self, mapped):
        with pytest.raises(gnp.InputError, match="one after the other"):
            together({"p": mapped[::2]})


class TestTogether:
    def test_rows_that_fit_a_block_are_read(self, mapped, table):
        (found,) = together({"p": mapped})
        assert not isinstance(found, Streamed)
        assert np.array_equal(found, table)

    @pytest.mark.usefixtures("tiny")
    def test_an_array_beside_a_file_is_cut_like_it(self, mapped, table):
        p, q, none = together({"p": mapped, "q": table + 1, "more": None}, spare="more")
        assert none is None
        assert np.array_equal(read(p.source, q.source)[1], table + 1)

    @pytest.mark.usefixtures("tiny")
    def test_as_many_rows_are_asked_of_each(self, mapped, table):
        with pytest.raises(gnp.InputError, match="333 rows and q with 332 rows"):
            together({"p": mapped, "q": table[1:]})

    @pytest.mark.usefixtures("tiny")
    def test_nobody_is_handed_all_rows_by_accident(self, mapped):
        (found,) = together({"p": mapped})
        for use in (np.asarray, lambda each: each.astype(float)):
            with pytest.raises(gnp.InputError, match="333 rows that are streamed"):
                use(found)
        assert "333×7 float64 numbers of p in p.npy" in repr(found)
        assert rows.is_streamed((found,))


class TestGenerated:
    @pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
    def test_rows_of_a_seed_do_not_depend_on_how_they_are_cut(self, dtype):
        source = gnp.GeneratedRows.gaussian(5, (3000, 40), dtype)
        whole = source[:]
        assert whole.dtype == dtype
        assert np.array_equal(np.concatenate([source[k : k + 333] for k in range(0, 3000, 333)]), whole)
        assert np.array_equal(source[5:2900:77], whole[5:2900:77])
        assert np.array_equal(gnp.GeneratedRows.gaussian(5, (3000, 40), dtype)[:], whole)
        assert abs(np.mean(np.abs(whole) ** 2) - 1) < 0.02
        assert not np.array_equal(gnp.GeneratedRows.gaussian(6, (3000, 40), dtype)[:1], whole[:1])

    def test_rows_are_independent(self):
        whole = gnp.GeneratedRows.gaussian(1, (4096, 16))[:]
        assert len(np.unique(whole)) == whole.size
        assert np.linalg.norm(np.corrcoef(whole.T) - np.eye(16), 2) < 0.2

    def test_rows_of_a_function(self):
        source = gnp.GeneratedRows(lambda start, stop: np.vander(np.arange(start, stop), 4), (50, 4))
        assert np.array_equal(source[10:20], np.vander(np.arange(10, 20), 4))

    @pytest.mark.parametrize(
        "wrong",
        [
            lambda: gnp.GeneratedRows(np.ones((3, 3)), (3, 3)),
            lambda: gnp.GeneratedRows(lambda a, b: None, 3),
            lambda: gnp.GeneratedRows(lambda a, b: None, (3, 0)),
            lambda: gnp.GeneratedRows.gaussian(1, (3, 3), object),
            lambda: gnp.GeneratedRows.gaussian(-1, (3, 3)),
            lambda: gnp.GeneratedRows(lambda a, b: np.ones((1, 3)), (3, 3))[:],
            lambda: gnp.GeneratedRows(lambda a, b: np.full((b - a, 3), "x"), (3, 3))[:],
        ],
    )
    def test_what_makes_no_rows_is_refused(self, wrong):
        with pytest.raises(gnp.InputError) as raised:
            wrong()
        assert "\n" not in str(raised.value)
