"""The benchmark of streamed rows runs, and says what it measured."""

import json
import sys

import numpy as np

from gnpolyak.base.streams import reading
from gnpolyak.bench import streams
from gnpolyak.bench.specs import Streams


def test_passes_are_measured_beside_the_reader(monkeypatch, capsys):
    spec = {"kind": "file", "gigabytes": 2 * 8 * 300 * 6 / 1e9, "d": 6, "r": 1, "rounds": 2}
    monkeypatch.setattr(reading, "BLOCK_BYTES", 64 * 2 * 6 * 8)
    monkeypatch.setattr(sys, "argv", ["streams", json.dumps(spec)])
    streams.main()
    told = json.loads(capsys.readouterr().out)
    assert {name: len(found) for name, found in told["speeds"].items()} == {
        streams.BARE: 2,
        "oracle call": 2,
        "product": 2,
    }
    assert reading.blocks.__name__ == "blocks", "what was measured with is gone"


def test_a_tenth_of_the_data_is_ruined_and_the_files_hold_the_rows(tmp_path):
    spec = Streams("file", 2 * 8 * 300 * 6 / 1e9, d=6, r=2, rounds=1)
    (p, q), b, x, paths = streams._data(spec, tmp_path)
    assert [path.name for path in paths] == ["p.npy", "q.npy"]
    clean = np.sum((p @ x) ** 2 - (q @ x) ** 2, axis=1)
    assert np.sum(~np.isclose(b, clean)) == 30
