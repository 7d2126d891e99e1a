"""Rows: what is kept of a run, and that the file gives it back or is refused."""

import gzip

import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.paper import rows
from paper.made import trace


@pytest.mark.parametrize("count", [1, 2, 150, 999, 10_001])
def test_thinned_rows_still_tell_the_calls_exactly(tmp_path, count):
    rng = np.random.default_rng(count)
    gap = 300 * np.exp(-40 * np.linspace(0, 1, count)) * rng.uniform(0.5, 2.0, count)
    best = np.minimum.accumulate(gap)
    kept = rows.recorded(gap, best)
    facts = trace().facts
    rows.save(tmp_path / "rows.csv.gz", [rows.Trace(facts, kept + 1, kept + 1.0, gap[kept], best[kept])])
    [thinned] = rows.load(tmp_path / "rows.csv.gz")
    assert len(kept) <= 600
    assert {0, count - 1} <= set(kept)
    for power in range(-2, 14):
        for relative in (False, True):
            level = 10.0**-power * (best[0] if relative else 1.0)
            exact = np.argmax(best <= level) + 1 if (best <= level).any() else np.inf
            assert thinned.calls_to(10.0**-power, relative) == exact


def test_rows_survive_the_file(tmp_path):
    path = tmp_path / "rows.csv.gz"
    written = [trace(seed=0), trace(seed=1, best=(2.0, 1e-300)), trace(method='a "name", quoted')]
    rows.save(path, written)
    read = rows.load(path)
    assert [one.facts for one in read] == [one.facts for one in written]
    for one, other in zip(read, written, strict=True):
        assert np.array_equal(one.call, other.call)
        assert np.allclose(one.best, other.best, rtol=1e-5)
    first = path.read_bytes()
    rows.save(path, read)
    assert path.read_bytes() == first
    assert [entry.name for entry in tmp_path.iterdir()] == ["rows.csv.gz"]


@pytest.mark.parametrize(
    "content",
    [
        b"not gzip at all",
        gzip.compress(b"a,b\n1,2\n"),
        gzip.compress((",".join(rows.COLUMNS) + "\n1,2\n").encode()),
        gzip.compress((",".join(rows.COLUMNS) + "\n" + ",".join(["x"] * len(rows.COLUMNS)) + "\n").encode()),
        gzip.compress(",".join(rows.COLUMNS).encode())[:-9],
        gzip.compress(b"\xff\xfe\x00"),
        gzip.compress((",".join(rows.COLUMNS) + "\n" + "1," * (len(rows.COLUMNS) - 1) + "-inf\n").encode()),
        gzip.compress((",".join(rows.COLUMNS) + '\n"' + "x" * 200_000 + '"\n').encode()),
        bytes([*gzip.compress(bytes(range(256)) * 9)[:40], *[7] * 40]),
    ],
    ids=[
        *("not gzip", "other columns", "too few cells", "no numbers", "cut off", "not UTF-8"),
        *("an infinite error", "a cell without end", "flipped bytes"),
    ],
)
def test_files_that_are_not_rows_are_refused(tmp_path, content):
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(content)
    with pytest.raises(gnp.InputError, match="move the file away"):
        rows.load(path)
