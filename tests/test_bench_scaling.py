"""Weak scaling: the model against cases worked out by hand, and the page against the figures it is made of."""

import json
import os
from itertools import groupby
from pathlib import Path

import pytest

from gnpolyak.bench.rows import Row, save
from gnpolyak.bench.scaling import measure, model, processes
from gnpolyak.bench.scaling.figures import cases, host, network
from gnpolyak.bench.scaling.page import page, predicted
from gnpolyak.bench.specs import SUITES, Alone, Size, Together

DOCS = Path(__file__).parent.parent / "docs"
# 16 bytes of rows take a nanosecond; 1 ms a message, and 8 numbers take a microsecond.
HOST = model.Host(speed=16e9, memory=64e9)
NETWORK = model.Network(latency=1e-3, bandwidth=64e6)


def test_a_call_reads_two_matrices_and_multiplies_each_there_and_back():
    # P and Q of 3×2: 12 numbers; PX with two columns is 3·2 scalar products of 2 products and 2 sums each.
    assert model.row_bytes(2, 3) == 96
    assert model.row_bytes(2, 3, reads=2) == 192
    assert model.operations(2, 2, 3) == 4 * (3 * 2 * 2 * 2)
    assert model.numbers(1000, 5) == 5001


def test_a_sum_takes_its_messages_and_twice_its_bytes_around_a_ring():
    assert NETWORK.seconds(8000, 1) == 0
    assert NETWORK.seconds(8000, 2) == pytest.approx(1e-3 + 1e-3)
    assert NETWORK.seconds(8000, 4) == pytest.approx(2e-3 + 1.5e-3)
    assert NETWORK.seconds(8000, 5) == pytest.approx(3e-3 + 1.6e-3)


def test_an_iteration_is_a_pass_and_a_sum():
    assert model.iteration(100, 1, 10**6, HOST, NETWORK, 1) == pytest.approx(0.1)
    assert model.iteration(7999, 1, 10**5, HOST, NETWORK, 4) == pytest.approx(0.7999 + 3.5e-3)


def test_rows_fill_the_time_or_the_memory():
    assert model.rows_within(1.0, 1000, 1, HOST, NETWORK, 1) == 10**6
    assert model.rows_within(10.0, 1000, 1, HOST, NETWORK, 1) == 4 * 10**6
    assert model.rows_within(3.5e-3 + 0.7999, 7999, 1, HOST, NETWORK, 4) in (10**5, 10**5 - 1)
    assert model.rows_within(1e-3, 7999, 1, HOST, NETWORK, 4) == 0


@pytest.mark.parametrize(("d", "r", "m"), [(100, 1, 10**6), (1000, 3, 10**7), (5000, 5, 10**9), (20_000, 2, 10**8)])
def test_the_hosts_for_a_second_are_the_fewest(d, r, m):
    def enough(hosts):
        each = -(-m // hosts)
        fits = model.row_bytes(d, each) <= HOST.memory
        return fits and model.iteration(d, r, each, HOST, NETWORK, hosts) <= 1.0

    hosts = model.hosts_within(1.0, d, r, m, HOST, NETWORK)
    assert enough(hosts)
    assert not any(enough(fewer) for fewer in range(1, hosts))


def test_a_sum_that_takes_longer_needs_no_hosts():
    assert model.hosts_within(1e-3, 10**6, 5, 10**9, HOST, NETWORK) is None


@pytest.mark.parametrize("hosts", [1, 4, 100])
def test_the_largest_problem_fits_and_the_next_does_not(hosts):
    d = model.largest_within(1.0, 5, 8, HOST, NETWORK, hosts)
    # Rows are whole: one for each host more or less.
    assert model.iteration(d, 5, 8 * d * 5 // hosts, HOST, NETWORK, hosts) <= 1.0
    assert model.iteration(d + 1, 5, -(-8 * (d + 1) * 5 // hosts), HOST, NETWORK, hosts) > 1.0
    if hosts == 1:
        assert d == int((16e9 / (16 * 40)) ** 0.5)


def made(seconds, label="d=500 r=5 n=2 m=60000", measured=measure.ALONE, of=", all cores"):
    return [Row(measured, label + of, name, "ms", 1e3 * each) for name, each in seconds.items()]


def rows():
    """A machine that reads 48 GB/s and calls at half of that; processes that read 12 GB/s each, or 6 of four."""
    larger, sums = "d=1000 r=5 n=2 m=120000", {"all-reduce of 64 numbers": 1e-4}
    sums["all-reduce of 1,048,576 numbers"] = 1e-4 + 8 * (2**20 - 64) / 1e9
    found = made({"one read of the rows": 0.01, "oracle call": 0.02, "iteration": 0.021})
    found += made({"one read of the rows": 0.04, "oracle call": 0.08, "iteration": 0.1}, larger)
    found += [Row(measure.MEMORY, "d=500 r=5 n=2 m=60000, all cores", "gnpolyak", "GB", 100.0)]
    for processes_, read in ((1, 0.04), (2, 0.04), (4, 0.08)):
        told = {"one read of the rows": read, "iteration": max(read, 0.05)}
        told |= {} if processes_ == 1 else sums | {"all-reduce of 2,501 numbers": 2e-4}
        of = f" each, {processes_} process{'es' if processes_ > 1 else ''}"
        found += made(told, measured=measure.TOGETHER, of=of)
    skipped = Row(measure.TOGETHER, f"{larger} each, 8 processes", "gnpolyak", "ms", note="skipped")
    return [*found, skipped]


def test_the_figures_of_a_run_are_read_back():
    one, between = host(rows(), measure.CORES), network(rows())
    assert one.speed == pytest.approx(24e9)
    assert one.memory == pytest.approx(80e9)
    assert between.latency == pytest.approx(1e-4)
    assert between.bandwidth == pytest.approx(1e9)
    assert host(rows(), measure.GPU) is None
    assert [case.processes for case in cases(rows(), measure.TOGETHER)] == [1, 2, 4]
    assert cases(rows(), measure.TOGETHER)[1].sum == pytest.approx(2e-4)


def test_processes_go_at_their_own_speed_until_the_memory_is_slower():
    alone, two, four = cases(rows(), measure.TOGETHER)
    wire = 8 * 2501 / 1e9
    assert predicted(two, alone, network(rows())) == pytest.approx(0.05 + 1e-4 + wire)
    assert predicted(four, alone, network(rows())) == pytest.approx(0.08 + 2e-4 + 1.5 * wire)


def test_the_page_says_what_the_rows_say(tmp_path):
    save(tmp_path / "scaling.json", "the command", rows())
    (tmp_path / "scaling.md").write_text((DOCS / "bench" / "scaling.md").read_text())
    text = page(tmp_path)
    # The smaller size's calls at 24 GB/s: an iteration of 20 ms against 21, and of 80 against 100.
    assert "| d=500, m=60,000 | 480 MB | 10 ms (48 GB/s) | 20 ms | 50% | 21 ms | 20 ms | -5% |" in text
    assert "| d=1,000, m=120,000 | 1.92 GB | 40 ms (48 GB/s) | 80 ms | 50% | 100 ms | 80 ms | -20% |" in text
    assert "| d=500, m=60,000 | 4 | 80 ms (24 GB/s in all) | 80 ms | 80.2 ms | +0% | 0.25% |" in text
    # At r = 5 and m = 8dr, 640·d² bytes are to be read in a second.
    assert f"| 1 | {int((24e9 / 640) ** 0.5):,} |" in text
    assert "$" not in text


def test_the_page_on_hosts_is_what_the_committed_figures_say():
    assert (DOCS / "howto" / "scaling.md").read_text(encoding="utf-8") == page(DOCS / "bench")


def test_the_suite_has_two_sizes_that_differ_by_four_in_bytes():
    for spec in SUITES["scaling"]:
        for sizes in (spec.sizes, getattr(spec, "gpu_sizes", spec.sizes)):
            small, large = (model.row_bytes(size.d, size.rows) for size in sizes)
            assert small >= 4e8
            assert large >= 4 * small


def test_a_process_that_fails_is_told_and_one_that_hangs_is_ended(monkeypatch):
    task = {"size": [4, 1, 20], "calls": 1, "rounds": 1, "lengths": []}
    monkeypatch.setattr(processes, "_MODULE", "gnpolyak_that_is_not_there")
    with pytest.raises(processes.FailedError, match="No module named gnpolyak_that_is_not_there"):
        processes.asked_together(task, 2, 60.0)
    monkeypatch.setattr(processes, "_MODULE", "timeit")
    monkeypatch.setattr(processes.json, "dumps", lambda task: "while True: pass")
    with pytest.raises(processes.FailedError, match="not done in the time"):
        processes.asked(task, 1.0)
    spec = Alone((Size(d=4, r=1, m=20),), calls=1, rounds=1, seconds=0.0)
    assert [row.note for row in measure.alone(spec)] == ["failed: not done in the time they had"]


def test_a_core_is_taken_before_the_other_half_of_one(monkeypatch, tmp_path):
    for core, pair in {0: "0-1", 1: "0-1", 2: "2,6", 6: "2,6"}.items():
        place = tmp_path / f"cpu{core}" / "topology"
        place.mkdir(parents=True)
        (place / "thread_siblings_list").write_text(pair + "\n")
    monkeypatch.setattr(processes, "_SYSTEM", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 6, 9}, raising=False)
    assert processes.spread_cores() == [0, 2, 9, 1, 6]


@pytest.mark.slow
def test_two_processes_measure_together():
    spec = Together((Size(d=20, r=2, m=500),), processes=(1, 2, 10_000), calls=2, rounds=2)
    found = measure.together(spec)
    json.dumps([row.median for row in found])
    told = {(row.case.split(", ")[-1], row.contestant): row.median for row in found}
    assert told["1 process", "iteration"] > 0
    assert told["2 processes", "iteration"] > 0
    assert told["2 processes", "all-reduce of 41 numbers"] > 0
    assert told["10,000 processes", "gnpolyak"] is None


@pytest.mark.slow
def test_one_process_measures_alone():
    rows = measure.alone(Alone((Size(d=20, r=2, m=500), Size(d=30, r=2, m=500)), calls=2, rounds=2))
    found = {row.contestant: row for row in rows}
    assert len(list(groupby(rows, key=lambda row: row.measure))) == 2
    assert found["iteration"].against == "one read of the rows"
    assert found["oracle call"].median > 0
    assert found["gnpolyak"].median > 0
    assert "oracle: " in found["iteration"].note
