"""Only what is missing is run, in one process or in several, and never more than the memory allows."""

import pytest

import gnpolyak as gnp
from gnpolyak.paper import catalogue, rows, work
from gnpolyak.paper.archive import Archive
from gnpolyak.paper.run import run
from paper.made import run_missing, small, without_times


def test_only_what_is_missing_is_run(tmp_path, monkeypatch):
    figure, path = small("scaledsm"), tmp_path / "scaledsm.csv.gz"
    run_missing(tmp_path, figure)
    first = without_times(tmp_path)
    kept = rows.load(path)
    rows.save(path, [kept[3], kept[0]])
    ran = []
    monkeypatch.setattr(work, "run", lambda curve, **options: ran.append(curve.name) or run(curve, **options))
    run_missing(tmp_path, figure)
    assert len(ran) == 2
    assert without_times(tmp_path) == first
    run_missing(tmp_path, figure)
    assert len(ran) == 2
    # Rows of other settings do not count as done, and are left where they are.
    changed = small("scaledsm", max_calls=100)
    assert len(Archive(tmp_path, [changed], "quick").missing(changed)) == 4


def test_processes_beside_each_other_give_the_same_rows(tmp_path):
    for name, jobs in (("one", 1), ("two", 2)):
        (tmp_path / name).mkdir()
        run_missing(tmp_path / name, small("scaledsm"), jobs)
    assert without_times(tmp_path / "one") == without_times(tmp_path / "two")
    assert {t.facts["jobs"] for t in rows.load(tmp_path / "two" / "scaledsm.csv.gz")} == {"2"}


def test_the_largest_instances_may_run_two_at_a_time():
    todo = list(catalogue.figure("order").curves())
    assert 5.4e9 < work.memory(todo, 1) < 6e9, "what one was seen to take, and little more"
    assert work.memory(todo, 2) == 2 * work.memory(todo, 1) < 16e9
    work.require_memory(todo, 2)
    with pytest.raises(gnp.InputError, match="fewer jobs"):
        work.require_memory(todo, 3)
