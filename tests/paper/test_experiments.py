"""The paper's figures: what is specified, run, kept, gathered and claimed."""

import dataclasses
import gzip
import os
import signal
import subprocess
import sys
import time

import click
import jax
import numpy as np
import pytest
from click.testing import CliRunner

import gnpolyak as gnp
from gnpolyak.cli import reproduce as command
from gnpolyak.cli.main import main
from gnpolyak.paper import claims, constants, evidence, gather, publish, rows, specs, work
from gnpolyak.paper.authors import remembering
from gnpolyak.paper.run import run
from gnpolyak.paper.tables import markdown, panel

FIGURES = {(scale, variant): specs.figures(scale, variant) for scale in specs.SCALES for variant in specs.VARIANTS}


def named(name, scale="quick", variant="paper"):
    return next(figure for figure in FIGURES[scale, variant] if figure.name == name)


def curves(name, scale="paper", variant="paper", **wanted):
    found = [curve for curve in named(name, scale, variant).curves() if curve.seed == 0]
    return [curve for curve in found if all(getattr(curve.setting, key) == value for key, value in wanted.items())]


# --- specs ------------------------------------------------------------------------------------------------------------


def test_the_specs_are_the_papers():
    """Typed from the paper's Section 5, not from the specs."""
    kappas = [1, 2, 5, 10, 50, 100]
    expected = {
        "conditioning": ({"GNP", "Polyak"}, kappas, {"d": 1000, "r": 5, "n": 2, "m": 40_000}),
        "scaledsm": ({"GNP", "ScaledSM"}, kappas, {"d": 1000, "r": 5, "n": 2, "m": 40_000}),
        "restarts": ({"RGNP", "RPolyak", "Level (ours)"}, [0, 0.1, 0.2, 0.3, 0.4], {"d": 100, "kappa": 5, "m": 4_000}),
        "rank": ({"GNP", "Polyak"}, [2, 5, 10, 20], {"d": 100, "n": 3, "kappa": 3, "p_fail": 0}),
    }
    for name, (methods, values, setting) in expected.items():
        found = curves(name)
        assert {curve.contender.label for curve in found} == methods
        assert sorted({curve.value for curve in found}) == values
        assert found == curves(name, **setting)
    assert [curve.setting.m for curve in curves("rank")[::2]] == [8 * 3 * 100 * r for r in (2, 5, 10, 20)]


def test_the_two_rows_of_the_figure_on_order():
    top, bottom = curves("order", d=1000, kappa=1), curves("order", d=100, kappa=3)
    assert len(top) + len(bottom) == len(curves("order"))
    assert [curve.setting.m for curve in top[::2]] == [8 * n * 1000 * 5 for n in (2, 3, 4, 5, 6)]
    assert {curve.max_seconds for curve in top} == {100.0}
    assert {(curve.max_seconds, curve.max_calls) for curve in bottom} == {(None, 10_000)}


def test_restarts_have_the_papers_loops():
    loops = {curve.contender.label: (curve.contender.inner, curve.contender.outer) for curve in curves("restarts")}
    assert (loops["RGNP"], loops["RPolyak"]) == ((200, 50), (1000, 10))


def test_the_authors_variant():
    ours, theirs = curves("restarts")[0], curves("restarts", variant="authors")[0]
    assert theirs.setting.m == ours.setting.m // 2
    assert (ours.setting.corruption, theirs.setting.corruption) == (1.0, 0.001)
    case = gnp.instances.tensor_sensing(**vars(theirs.setting), seed=0)
    assert np.linalg.norm(case.x0 - case.truth) == pytest.approx(0.1, rel=1e-9)
    low = gnp.instances.tensor_sensing(**vars(curves("order", "quick", "authors")[0].setting), seed=0)
    assert np.linalg.norm(low.x0 - low.truth) == pytest.approx(0.01, rel=1e-9)
    loops = {c.contender.label: c.contender for c in curves("restarts", variant="authors")}
    assert (loops["RPolyak"].inner, loops["RPolyak"].outer, loops["RPolyak"].fraction) == (1200, 13, 1.0)
    assert loops["RGNP"].fraction == 1.0
    assert {curve.max_calls for curve in curves("conditioning", variant="authors")} == {1000}


def test_no_two_curves_have_the_same_identity():
    for figures in FIGURES.values():
        keys = [rows.identity(curve) for figure in figures for curve in figure.curves()]
        assert len(set(keys)) == len(keys)


# --- rows -------------------------------------------------------------------------------------------------------------


def trace(method="GNP", value=1.0, seed=0, best=(1.0, 0.1, 0.01), panel="conditioning", **facts):
    best = np.asarray(best, float)
    known = dict.fromkeys((*rows.IDENTITY, *rows.PROVENANCE), "x")
    known |= {"figure": panel, "panel": panel, "method": method, "value": f"{value:g}", "seed": str(seed)}
    known |= {"max_calls": "100", "target": "300"} | facts
    count = np.arange(1, len(best) + 1)
    return rows.Trace(known, count, 0.5 * count, best, best)


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


def test_a_run_records_the_solve_and_where_it_came_from():
    curve = next(c for c in named("conditioning").curves() if c.value == 10 and c.contender.label == "GNP")
    found = run(curve)
    case = gnp.instances.tensor_sensing(**vars(curve.setting), seed=0)
    res = gnp.minimize(case.problem, case.x0, "gnp", target=case.target, tol=1e-13, max_calls=5000)
    assert np.array_equal(found.gap, res.history.value - case.target)
    assert found.call[-1] == res.calls
    assert found.identity == rows.identity(curve)
    facts = found.facts
    assert facts["dtype"] == "float64"
    assert facts["status"] == "target_reached"
    assert f"gnpolyak {gnp.__version__}" in facts["versions"]
    assert "jax " in facts["versions"]
    assert all(facts[name] for name in rows.PROVENANCE)


def test_the_authors_method_keeps_what_its_memory_has_in_the_null_space():
    case = gnp.instances.tensor_sensing(d=12, r=2, kappa=5.0)
    problem, (x, _), method = remembering(case.problem, case.x0, None)
    gauge = x @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    with jax.enable_x64(True):
        found = [
            method.metric.direction(problem.cast(np.dtype(float)), problem.evaluate((x, memory)), 1.0)
            for memory in (np.zeros_like(x), gauge)
        ]
    assert all(float(one.residual) < 1e-9 for one in found)
    assert np.allclose(np.asarray(found[1].s[0]) - np.asarray(found[0].s[0]), gauge)


def test_the_warm_start_does_no_harm_to_matrices():
    """The last direction Z is orthogonal to the null space {XΩ} at X − γZ too, because ZᵀZ is symmetric and Ω skew."""
    case = gnp.instances.tensor_sensing(d=30, r=3, kappa=5.0)
    problem, x0, method = remembering(case.problem, case.x0, None)
    res = gnp.minimize(problem, x0, method, target=case.target)
    plain = gnp.minimize(case.problem, case.x0, "gnp", target=case.target)
    assert res.success
    assert np.any(res.x[1] != 0)
    assert np.allclose(res.x[0], plain.x, atol=1e-8)


# --- keeping, going on ------------------------------------------------------------------------------------------------


def small(figure, **changes):
    """The figure with two values only."""
    panels = tuple(dataclasses.replace(p, values=p.values[:2], **changes) for p in figure.panels)
    return dataclasses.replace(figure, panels=panels)


def without_times(folder):
    return {
        path.name: [
            (
                {k: t.facts[k] for k in (*rows.IDENTITY, "target", "status")},
                t.call.tolist(),
                t.gap.tolist(),
                t.best.tolist(),
            )
            for t in rows.load(path)
        ]
        for path in sorted(folder.glob("*.csv.gz"))
    }


def ignore(*_):
    pass


def test_only_what_is_missing_is_run(tmp_path, monkeypatch):
    figure = small(named("scaledsm"))
    work.complete(tmp_path, [figure], None, 1, ignore)
    first = without_times(tmp_path)
    kept = rows.load(work.path(tmp_path, figure))
    rows.save(work.path(tmp_path, figure), [kept[3], kept[0]])
    ran = []
    monkeypatch.setattr(work, "run", lambda curve, **options: ran.append(curve.name) or run(curve, **options))
    work.complete(tmp_path, [figure], None, 1, ignore)
    assert len(ran) == 2
    assert without_times(tmp_path) == first
    work.complete(tmp_path, [figure], None, 1, ignore)
    assert len(ran) == 2
    # Rows of other settings do not count as done, and are left where they are.
    changed = small(named("scaledsm"), max_calls=100)
    assert len(work.missing(tmp_path, changed, None)) == 4


def test_processes_beside_each_other_give_the_same_rows(tmp_path):
    figure = small(named("scaledsm"))
    for name, jobs in (("one", 1), ("two", 2)):
        (tmp_path / name).mkdir()
        work.complete(tmp_path / name, [figure], None, jobs, ignore)
    assert without_times(tmp_path / "one") == without_times(tmp_path / "two")
    assert {t.facts["jobs"] for t in rows.load(work.path(tmp_path / "two", figure))} == {"2"}


# A shell that runs the suite in the background has it ignore SIGINT, and all its children with it.
COMMAND = """import signal; signal.signal(signal.SIGINT, signal.default_int_handler)
from gnpolyak.cli.main import main; main()"""


def started(folder, *what):
    words = [sys.executable, "-c", COMMAND, "reproduce", *what, "--out", str(folder)]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for_curves(process, path, count, seconds=120):
    """Until so many curves are kept; False if the process ended first."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit and process.poll() is None:
        if len(rows.load(path)) >= count:
            return True
        time.sleep(0.02)
    return False


def kill_and_go_on(folder, what, path, count):
    process = started(folder, *what)
    assert wait_for_curves(process, path, count), "it ended before it could be killed"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (folder / "report.html").exists()
    again = started(folder, *what)
    assert again.wait(timeout=300) == 0


def test_a_killed_run_goes_on_to_the_same_rows(tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    result = CliRunner().invoke(main, ["reproduce", "conditioning", "--out", str(whole)])
    assert result.exit_code == 0, result.output
    kill_and_go_on(broken, ["conditioning"], broken / "conditioning.csv.gz", 5)
    assert without_times(whole) == without_times(broken)
    # A draft that the kill caught may be left behind, hidden.
    names = [{path.name for path in folder.iterdir() if path.name[0] != "."} for folder in (whole, broken)]
    assert names[0] == names[1]


@pytest.mark.slow
def test_the_whole_quick_run_killed_half_way(tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    began = time.monotonic()
    assert started(whole, "all").wait() == 0
    assert time.monotonic() - began < 180
    kill_and_go_on(broken, ["all"], broken / "order.csv.gz", 10)
    assert without_times(whole) == without_times(broken)
    strip = lambda kept: [{k: row[k] for k in ("quantity", "setting", "value")} for row in kept]  # noqa: E731
    assert strip(constants.load(whole / "theory.csv")) == strip(constants.load(broken / "theory.csv"))


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_keeps_what_is_done(tmp_path, jobs):
    process = started(tmp_path, "conditioning", "restarts", "--jobs", jobs)
    assert wait_for_curves(process, tmp_path / "conditioning.csv.gz", 2)
    process.send_signal(signal.SIGINT)
    try:
        assert process.wait(timeout=60) == 130
    finally:
        process.kill()
        process.wait()
    kept = rows.load(tmp_path / "conditioning.csv.gz")
    assert 2 <= len(kept) <= 12
    assert "interrupted" not in {one.facts["status"] for one in kept}


# --- the command ------------------------------------------------------------------------------------------------------


def test_reproduce_writes_rows_figures_and_report(tmp_path):
    result = CliRunner().invoke(
        main, ["reproduce", "scaledsm", "--seeds", "2", "--out", str(tmp_path / "deep" / "out")]
    )
    assert result.exit_code == 0, result.output
    names = {path.name for path in (tmp_path / "deep" / "out").iterdir()}
    assert names == {"scaledsm.csv.gz", "scaledsm.png", "scaledsm.svg", "report.html"}
    assert "[24/24]" in result.output
    assert "left" in result.output
    assert "not measured" in result.output
    page = (tmp_path / "deep" / "out" / "report.html").read_text(encoding="utf-8")
    assert "gnpolyak reproduce scaledsm --scale quick --variant paper --seeds 2 --out" in page


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["nonsense"], "nonsense"),
        (["--scale", "huge"], "huge"),
        (["--seeds", "0"], "seeds"),
        (["--jobs", "8", "--scale", "paper", "order"], "fewer jobs"),
    ],
)
def test_bad_usage_exits_2_before_any_work(tmp_path, options, expected):
    result = CliRunner().invoke(main, ["reproduce", *options, "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert expected in result.output
    assert not list(tmp_path.glob("*.csv*"))


def test_rows_that_cannot_be_read_are_named(tmp_path):
    (tmp_path / "rank.csv.gz").write_bytes(b"garbage")
    result = CliRunner().invoke(main, ["reproduce", "scaledsm", "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert not (tmp_path / "scaledsm.csv.gz").exists()
    assert "rank.csv.gz" in result.output
    assert (tmp_path / "rank.csv.gz").read_bytes() == b"garbage"


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = CliRunner().invoke(main, ["reproduce", "scaledsm", "--out", str(tmp_path / "file" / "out")])
    assert result.exit_code == 1
    assert "cannot use" in result.output


def test_the_largest_instances_may_run_two_at_a_time():
    todo = list(named("order", "paper").curves())
    assert 5.4e9 < command._memory(todo, 1) < 6e9, "what one was seen to take, and little more"
    assert command._memory(todo, 2) == 2 * command._memory(todo, 1) < 16e9
    command._require_memory(todo, 2)
    with pytest.raises(click.UsageError, match="fewer jobs"):
        command._require_memory(todo, 3)


# --- gathering --------------------------------------------------------------------------------------------------------


def test_a_line_is_the_median_over_the_seeds_with_its_band():
    figure = small(named("conditioning"))
    traces = [trace(seed=seed, best=10.0 ** -(np.arange(20.0) + seed)) for seed in range(3)]
    line = gather.picture(figure, traces).panels[0].lines[0]
    assert (line.method, line.value, line.seeds) == ("GNP", 1.0, 3)
    assert np.allclose(line.calls.median, 10.0 ** -(line.calls.x - 1 + 1))
    assert np.allclose(line.calls.low, line.calls.median / 10)
    assert np.allclose(line.calls.high, line.calls.median * 10)
    assert line.calls.x[0] == 1
    assert line.calls.x[-1] == 20
    assert np.all(np.diff(line.seconds.x) > 0)


def test_a_seed_that_ended_keeps_its_last_value():
    traces = [trace(seed=0, best=(1.0, 1e-3)), trace(seed=1, best=10.0 ** -np.arange(1.0, 9.0))]
    line = gather.picture(small(named("conditioning")), traces).panels[0].lines[0]
    assert line.calls.high[-1] == 1e-3
    assert line.calls.low[-1] == 1e-8


# --- theory -----------------------------------------------------------------------------------------------------------


def one_probe(monkeypatch, measure):
    monkeypatch.setattr(constants, "probes", lambda scale: (constants.Probe("one", measure),))


def test_probes_are_kept_and_not_measured_again(tmp_path, monkeypatch):
    path, measured = tmp_path / "theory.csv", []
    one_probe(monkeypatch, lambda: measured.append(1) or iter([("a number", "d=3", 7.0)]))
    for scale in ("quick", "quick", "paper"):
        constants.complete(path, scale, ignore)
    assert len(measured) == 2, "once for each scale"
    assert constants.findings(path, "quick") == [evidence.Finding("a number", "d=3", 7.0)]


def test_ctrl_c_in_a_probe_keeps_nothing_of_it(tmp_path, monkeypatch):
    def measure():
        case = gnp.instances.tensor_sensing(d=10, r=2)
        press = lambda res: os.kill(os.getpid(), signal.SIGINT)  # noqa: E731
        res = constants._solved(case.problem, case.x0, "polyak", target=case.target, tol=0.0, callback=press)
        yield "calls", "d=10", float(res.calls)

    one_probe(monkeypatch, measure)
    with pytest.raises(KeyboardInterrupt):
        constants.complete(tmp_path / "theory.csv", "quick", ignore)
    assert not (tmp_path / "theory.csv").exists()


@pytest.mark.parametrize("content", ["a,b\n1,2\n", ",".join(constants.COLUMNS) + "\n", "\x00"])
def test_files_that_are_not_findings_are_refused(tmp_path, content):
    (tmp_path / "theory.csv").write_text(content)
    with pytest.raises(gnp.InputError, match="move the file away"):
        constants.load(tmp_path / "theory.csv")


# --- claims -----------------------------------------------------------------------------------------------------------


def geometric(calls, **options):
    """A trace that reaches 1e-8 of its first error after so many calls."""
    return trace(best=10.0 ** (-8 * np.arange(calls) / (calls - 1)), **options)


def judge(statement, traces, findings=()):
    by_figure = {}
    for one in traces:
        by_figure.setdefault(one.facts["figure"], []).append(one)
    found = claims.judged(evidence.Evidence(by_figure, findings))
    return next(claim for claim in found if statement in claim.statement)


def test_claims_without_rows_say_what_to_run():
    found = claims.judged(evidence.Evidence({}))
    assert {claim.verdict for claim in found} == {"not measured"}
    assert all("gnpolyak reproduce" in claim.reason for claim in found)


@pytest.mark.parametrize(("counts", "verdict"), [((50, 52, 55), "holds"), ((50, 52, 60), "does not hold as printed")])
def test_independence_of_the_conditioning(counts, verdict):
    traces = [geometric(n, value=kappa) for n, kappa in zip(counts, (1, 10, 100), strict=True)]
    assert judge("does not depend on the conditioning", traces).verdict == verdict


@pytest.mark.parametrize(("power", "verdict"), [(1.8, "holds"), (1.2, "does not hold as printed")])
def test_growth_of_polyak(power, verdict):
    traces = [geometric(round(60 * k**power), method="Polyak", value=k) for k in (1, 2, 5, 10)]
    traces.append(trace(method="Polyak", value=100, best=np.ones(5000)))
    claim = judge("Polyak slows down", traces)
    assert claim.verdict == verdict
    assert "never" in claim.measured
    assert f"κ^{power:.1f}" in claim.measured


@pytest.mark.parametrize(("scaled", "verdict"), [(60, "holds"), (40, "holds with a condition")])
def test_comparison_with_scaledsm(scaled, verdict):
    traces = [geometric(50, panel="scaledsm"), geometric(scaled, method="ScaledSM", panel="scaledsm")]
    assert judge("compares with ScaledSM", traces).verdict == verdict


def restarted(rpolyak_end):
    ends = {"RGNP": 1e-9, "RPolyak": rpolyak_end}
    return [
        trace(method=m, value=p, best=(1.0, 1e-9 if p == 0 else end), panel="restarts", inner=inner, outer="10")
        for (m, end), inner in zip(ends.items(), ("200", "1000"), strict=True)
        for p in (0.0, 0.1)
    ]


@pytest.mark.parametrize(("end", "verdict"), [(1e-9, "holds"), (1e-2, "does not hold as printed")])
def test_both_restarted_methods(end, verdict):
    assert judge("both reach", restarted(end)).verdict == verdict


def test_a_part_of_a_figure_is_no_evidence(tmp_path):
    """Interrupted after κ = 1 and 2, a figure must neither crash the report nor pass for the whole."""
    figure = named("conditioning")
    work.complete(tmp_path, [small(figure)], None, 1, ignore)
    found = publish.evidence(tmp_path, FIGURES["quick", "paper"], "quick", None)
    judged = publish.publish(tmp_path, [figure], found, heading="h", command="c", with_errata=True)
    assert "Only 4 of 12 curves are done." in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert {claim.verdict for claim in judged} == {"not measured"}
    assert "4 of 12 curves of conditioning" in judged[0].reason


def panels(ours, theirs, panel, figure, values=(2, 3), **options):
    """Traces of GNP and Polyak that take so many calls at each value."""
    return [
        geometric(calls, method=method, value=value, panel=panel, figure=figure, **options)
        for method, counts in (("GNP", ours), ("Polyak", theirs))
        for value, calls in zip(values, counts, strict=True)
    ]


OUTCOMES = {"holds": (60, 60), "holds with a condition": (60, 40), "does not hold as printed": (40, 40)}


@pytest.mark.parametrize(("verdict", "theirs"), OUTCOMES.items())
def test_claims_about_cases_can_hold_hold_in_part_and_fail(verdict, theirs):
    rank = judge("at every rank", panels((50, 50), theirs, "rank", "rank"))
    assert rank.verdict == verdict
    both = panels((50, 50), theirs, "top", "order") + panels((50, 50), theirs, "bottom", "order")
    assert judge("at every order", both).verdict == verdict
    assert judge("in time too", panels((50, 50), theirs, "conditioning", "conditioning")).verdict == verdict
    if verdict == "holds with a condition":
        assert "calls at r = 3" in rank.reason
        assert "r = 2" not in rank.reason.split(". ")[0]


@pytest.mark.parametrize(("verdict", "ill"), [("holds", (900, 900)), ("does not hold as printed", (60, 60))])
def test_the_advantage_grows_with_the_conditioning(verdict, ill):
    traces = panels((50, 50), (100, 100), "top", "order") + panels((50, 50), ill, "bottom", "order")
    assert judge("larger when κ > 1", traces).verdict == verdict


@pytest.mark.parametrize(
    ("calls", "verdict"),
    [(900, "holds"), (1100, "holds with a condition")],
)
def test_inner_loops(calls, verdict):
    counts = {"GNP": 100, "Polyak": calls}
    findings = [
        evidence.Finding("calls to 1e-8 with h* known", f"{m} p_fail={p:g}", c)
        for m, c in counts.items()
        for p in (0, 0.1)
    ]
    claim = judge("inner loops", restarted(1e-2), findings)
    assert claim.verdict == verdict
    assert "T = 1,000" in claim.measured


@pytest.mark.parametrize(
    ("other", "verdict"), [(23, "holds"), (30, "holds with a condition"), (90, "does not hold as printed")]
)
def test_invariance(other, verdict):
    quantity = "calls to 1e-8 under a rescaling of the variable"
    found = [evidence.Finding(quantity, "GNP in X", 22), evidence.Finding(quantity, "GNP in U", other)]
    assert judge("invariant", [], found).verdict == verdict


@pytest.mark.parametrize(("seen", "verdict"), [(0.6, "holds"), (0.99, "does not hold as printed")])
def test_theorem_one(seen, verdict):
    numbers = {
        "observed contraction per call": seen,
        "bound on the contraction per call": 0.97,
        "calls to 1e-8": 50,
        "T of Theorem 1 for 1e-8": 800,
    }
    found = [evidence.Finding(quantity, "κ=1", value) for quantity, value in numbers.items()]
    assert judge("leaves at most", [], found).verdict == verdict


@pytest.mark.parametrize(("rank", "verdict"), [(12.0, "does not hold as printed"), (6.0, "holds")])
def test_the_rank_lemma(rank, verdict):
    finding = evidence.Finding("rank of the Jacobian, n = 2", "d=5 r=3", rank)
    assert judge("rank r(r+1)/2", [], [finding]).verdict == verdict


def test_a_median_with_runs_that_never_arrive():
    traces = [geometric(50, seed=0), trace(seed=1, best=np.ones(9)), trace(seed=2, best=np.ones(9))]
    assert evidence.Panel(traces).calls("GNP", 1.0) == np.inf
    assert evidence.Panel(traces[:1]).calls("GNP", 1.0) == 50


def test_tables_show_medians_ranges_and_what_did_not_arrive():
    slow = [geometric(100, method="Polyak", seed=0), trace(method="Polyak", seed=1, best=np.ones(500))]
    of = evidence.Panel([geometric(50, seed=0), geometric(40, seed=1), *slow])
    text = panel(of, "κ", ["GNP", "Polyak"], relative=True)
    assert "| 50 (40 – 50) | > 500 (100 – > 500) |" in text
    assert "> 12.5 (2 – > 12.5)" in text
    assert markdown(["a"], [["x|y"]]).endswith("| x\\|y |")
