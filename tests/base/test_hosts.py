"""What processes settle on: one alone settles with itself. Several are in tests/hosts."""

import jax
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base.hosts import ALONE, peers_of


def test_one_alone_asks_nobody():
    assert ALONE.anywhere(True, False) == [True, False]
    assert ALONE.of_first(0.25) == 0.25
    assert ALONE.joined("digest") == "digest"
    assert ALONE.odd("digest") == []
    assert ALONE.from_first(lambda: b"content") == b"content"


def test_arrays_of_this_process_have_no_peers():
    case = gnp.instances.tensor_sensing(d=5, r=1)
    assert peers_of(case.problem) == peers_of(None) == peers_of({"a": np.ones(3), "b": "words"}) == ALONE
    assert peers_of(gnp.shard(case.problem)) == ALONE


@pytest.mark.parametrize(("rows", "count"), [(0, 3), (2, 3), (10, 3), (1000, 7)])
def test_rows_of_all_processes_are_all_rows(rows, count, monkeypatch):
    monkeypatch.setattr(jax, "process_count", lambda: count)
    parts = []
    for index in range(count):
        monkeypatch.setattr(jax, "process_index", lambda index=index: index)
        parts.append(np.arange(rows)[gnp.local_rows(rows)])
    assert np.array_equal(np.concatenate(parts), np.arange(rows))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("rows", [-1, 2.5, "10", None])
def test_what_is_no_number_of_rows_is_refused(rows):
    with pytest.raises(gnp.InputError, match="rows"):
        gnp.local_rows(rows)
