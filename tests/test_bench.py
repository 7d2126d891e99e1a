"""The benchmark on problems small enough to run in a moment: it measures what it says it measures."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.bench import docs, measure, peers, report
from gnpolyak.bench.clock import Sample, interleaved
from gnpolyak.bench.rows import Row, load, save
from gnpolyak.bench.specs import Growth, Iteration, Overhead, Race, Ranks, Size
from gnpolyak.solve import evaluation

TINY = Size(d=6, r=2, kappa=2.0)


def named(rows):
    return {row.contestant: row for row in rows}


def test_rounds_take_turns_and_the_first_does_not_count():
    order = []

    def contestant(name):
        def run():
            order.append(name)
            return float(len(order))

        return run

    samples = interleaved({"a": contestant("a"), "b": contestant("b")}, rounds=2)
    assert order == ["a", "b"] * 3
    assert samples["a"].seconds.tolist() == [3.0, 5.0]
    assert samples["b"].over(samples["a"]).seconds.tolist() == [4 / 3, 6 / 5]


def test_a_sample_states_its_spread():
    sample = Sample(np.array([1.0, 2.0, 3.0, 4.0, 100.0]))
    assert sample.median == 3.0
    assert sample.spread == (2.0, 4.0)


def test_an_iteration_is_compared_with_xla():
    rows = named(measure.run(Iteration(TINY, calls=3, rounds=2)))
    assert rows["gnpolyak"].median > 0
    assert rows["plain XLA"].against == "gnpolyak"
    assert rows["plain XLA"].ratio > 0


def test_a_missing_peer_is_skipped_with_a_reason(monkeypatch):
    def absent(package):
        raise peers.SkipError(f"{package} is not installed")

    monkeypatch.setattr(peers, "require", absent)
    rows = named(measure.run(Race(TINY, gap=1e-6, rounds=1)))
    assert rows["PyTorch recipe, CG"].median is None
    assert rows["PyTorch recipe, CG"].note == "skipped: torch is not installed"
    assert rows["gnp"].note.endswith("calls")


def test_a_race_of_tensors_skips_the_method_for_matrices(monkeypatch):
    monkeypatch.setattr(measure, "rivals", lambda case, gap: {})
    rows = named(measure.run(Race(Size(d=6, r=2, n=3, kappa=2.0), gap=1e-6, rounds=1)))
    assert rows["gnp"].median > 0
    assert rows["scaledsm"].median is None
    assert rows["scaledsm"].note.startswith("skipped: ")


def test_growth_fits_an_exponent():
    rows = measure.run(Growth("m", tuple(Size(d=40, m=m) for m in (500, 80_000)), calls=10, rounds=5))
    assert rows[-1].case == "fitted exponent"
    assert 0 < rows[-1].median < 2


def test_ranks_have_a_row_for_each_rank_order_and_oracle():
    rows = measure.run(Ranks(d=8, m=50, ranks=(1, 2), orders=(2, 3), calls=2, rounds=1))
    assert len({(row.case, row.contestant) for row in rows}) == len(rows) == 8


def test_a_first_solve_on_the_host_compiles_nothing():
    first, second, beside = measure.run(Overhead(TINY, rounds=3))
    assert first.note == "nothing compiled"
    assert 0 < beside.median < second.median


def test_a_first_solve_in_chunks_costs_more_than_a_second(monkeypatch):
    monkeypatch.setattr(evaluation, "FORCED", "compiled")
    first, second, _ = measure.run(Overhead(TINY, rounds=3))
    assert first.note.endswith("ms of it to compile")
    assert first.median > second.median


@pytest.mark.parametrize("runner", ["host", "compiled"])
def test_a_second_solve_of_the_same_shapes_compiles_nothing(compilations, monkeypatch, runner):
    monkeypatch.setattr(evaluation, "FORCED", runner)
    counts = []
    for seed in range(2):
        case = gnp.instances.tensor_sensing(d=7, r=2, kappa=2.0, seed=seed)
        with compilations() as compiled:
            gnp.minimize(case.problem, case.x0, target=case.target)
        counts.append(compiled.count)
    assert (counts[0] > 0) == (runner == "compiled")
    assert counts[1] == 0


def test_rows_survive_the_file(tmp_path):
    rows = measure.run(Overhead(TINY, rounds=1))
    save(tmp_path / "rows.json", "the command", rows)
    content, found = load(tmp_path / "rows.json")
    assert found == rows
    assert content["command"] == "the command"
    assert content["environment"]["versions"]["gnpolyak"] == gnp.__version__
    assert content["environment"]["oracle"] == gnp.native.describe()["oracle"]
    assert all(row.measure in report.table(rows) for row in rows)


@pytest.mark.parametrize("inner", ["cg", "lsmr"])
def test_the_recipe_takes_the_same_steps_as_the_library(inner):
    pytest.importorskip("torch", reason="the paper's recipe is written in PyTorch")
    case = gnp.instances.tensor_sensing(d=10, r=2, n=3, kappa=2.0)
    recipe = peers.recipe(case, inner)
    x = recipe.step(recipe.x0, *recipe.oracle(recipe.x0))
    ours = gnp.minimize(case.problem, case.x0, target=case.target, tol=0.0, max_calls=2)
    np.testing.assert_allclose(recipe.oracle(x)[0].item(), ours.history.value[1], rtol=1e-8)


def test_it_needs_none_of_the_command_lines_packages():
    absent = "".join(f"sys.modules[{name!r}] = None; " for name in ("click", "rich", "matplotlib"))
    code = f"import sys; {absent}import gnpolyak.bench.runner, gnpolyak.bench.docs"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr


def test_info_names_the_oracle():
    click_testing = pytest.importorskip("click.testing", reason="the command line is an extra")
    from gnpolyak.cli.main import main

    found = click_testing.CliRunner().invoke(main, ["info", "--json"])
    assert found.exit_code == 0, found.output
    assert json.loads(found.output)["oracle"] == gnp.native.describe()["oracle"]
    assert gnp.native.describe()["oracle"] in click_testing.CliRunner().invoke(main, ["info"]).output


def test_a_file_that_cannot_be_written_is_refused_before_measuring(tmp_path):
    click_testing = pytest.importorskip("click.testing", reason="the command line is an extra")
    from gnpolyak.cli.main import main

    found = click_testing.CliRunner().invoke(main, ["bench", "--json", str(tmp_path / "absent" / "rows.json")])
    assert found.exit_code == 2
    assert "does not exist" in found.output


def test_the_page_on_performance_is_what_the_committed_figures_say():
    page = Path(__file__).parent.parent / "docs" / "performance.md"
    assert page.read_text(encoding="utf-8") == docs.page(page.parent / "bench")


def test_a_table_wider_than_the_terminal_is_a_list():
    rows = [
        Row("iteration", "d=100 r=5 n=2 m=4000", name, "ms", 1.5, 1.4, 1.6, "gnpolyak", 2.0, 1.9, 2.1, note="compiles")
        for name in ("gnpolyak", "PyTorch recipe, LSMR")
    ]
    assert report.table(rows).splitlines()[0].startswith("measure")
    assert report.table(rows, 400) == report.table(rows)
    listed = report.table(rows, 40).splitlines()
    assert max(map(len, listed)) <= 40
    assert listed[0] == "iteration, d=100 r=5 n=2 m=4000"
    assert listed[1].startswith("  gnpolyak: 1.5 ms; 2× gnpolyak")
