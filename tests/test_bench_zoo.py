"""The race of the zoo on small problems: no peer is weakened, and the rows say what the page needs."""

import time

import jax
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base import arrays
from gnpolyak.bench import docs, measure, peers
from gnpolyak.bench.rows import load, save
from gnpolyak.bench.specs import SUITES, Contest, Observed, Passes
from gnpolyak.bench.zoo import contests, race
from gnpolyak.bench.zoo.watch import EnoughError, Watch, image, watched

EASY = {
    "regression": {"d": 4, "m": 60},
    "robust_pca": {"d1": 100, "d2": 80, "r": 2},
    "matrix_completion": {"d1": 50, "d2": 40, "r": 2, "observed": 0.7},
    "bilinear_sensing": {"d1": 10, "d2": 12, "r": 2},
    "blind_deconvolution": {"d": 10},
    "tensor_sensing": {"d": 10, "r": 2, "kappa": 1.0},
    "phase_retrieval": {"d": 10, "m": 150},
    "tensor_decomposition": {"shape": (10, 9, 8), "r": 2},
    "tucker": {"shape": (10, 9, 8), "ranks": (2, 2, 2)},
    "synchronisation": {"n": 12, "observed": 0.6},
    "bundle_adjustment": {"cameras": 5, "points": 20, "seed": 1},
    "sparse_recovery": {"d": 10, "m": 120},
    "quantum_tomography": {"qubits": 2, "r": 1},
}
# These are of least squares, and reach the truth where no datum is ruined.
NOT_ROBUST = {
    "ALS, NumPy",
    "ALS (HOOI), NumPy",
    "alternating projections, NumPy",
    "projected least squares, NumPy",
}


def tries():
    """Every peer on the first class that has it, and on the others where there is time."""
    known = set()
    for name in EASY:
        for peer, call in contests.CONTESTS[name].items():
            yield pytest.param(name, peer, marks=[pytest.mark.slow] if call in known else [])
            known.add(call)


def easy(name, p_fail=0.05):
    return gnp.instances.INSTANCES[name](**EASY[name], p_fail=p_fail)


def named(rows):
    return {row.contestant: row for row in rows}


def test_every_class_of_the_library_has_peers_and_a_place_in_the_suite():
    assert set(gnp.instances.INSTANCES) == set(contests.CONTESTS) == set(EASY)
    assert set(gnp.instances.INSTANCES) == {spec.name for spec in SUITES["zoo"] if isinstance(spec, Contest)}


@pytest.mark.parametrize(("name", "peer"), list(tries()))
def test_every_peer_reaches_the_truth_of_an_easy_instance(name, peer):
    case = easy(name, 0.0 if peer in NOT_ROBUST else 0.05)
    try:
        end = watched(contests.CONTESTS[name][peer], case, 20.0)
    except peers.SkipError as reason:
        pytest.skip(str(reason))
    assert end.reached, end.errors[-1]


def test_the_clock_stands_while_an_iterate_is_judged():
    def slow(x):
        time.sleep(0.05)
        return 1.0

    watch = Watch(slow)
    watch.start()
    for _ in range(4):
        watch(None)
    assert watch.seconds < 0.05


def test_a_watch_ends_a_run_that_arrives_rests_or_takes_too_long():
    arriving = Watch(lambda x: x)
    arriving(1e-7)
    with pytest.raises(EnoughError):
        arriving(1e-9)
    assert arriving.reached

    resting = Watch(lambda x: x)
    with pytest.raises(EnoughError):
        [resting(0.5) for _ in range(1000)]
    assert not resting.reached
    assert len(resting.errors) < 200

    with pytest.raises(EnoughError):
        Watch(lambda x: x, most=-1.0)(0.5)


def test_a_run_that_gains_slowly_is_let_go_on():
    watch = Watch(lambda x: x)
    for k in range(1000):
        watch(0.99**k)
    assert len(watch.errors) == 1000


def test_an_image_is_judged_like_its_variable():
    case = easy("robust_pca")
    u, v = case.x0
    found = watched(lambda case, watch: watch(lambda: u @ v.T), case, 1.0)
    np.testing.assert_allclose(found.errors[-1], case.recovery_error(case.x0), rtol=1e-10)
    np.testing.assert_allclose(image(case), case.truth[0] @ case.truth[1].T, rtol=1e-12)


def test_a_contest_says_who_arrived_when_and_how_far_the_others_came(monkeypatch, tmp_path):
    def beginner(case, watch):
        watch(case.x0)

    def absent(case, watch):
        peers.require("a_package_that_is_not_there")

    taken = {"reweighted": contests.CONTESTS["robust_pca"]["reweighted ALS, NumPy"], "stays": beginner, "gone": absent}
    monkeypatch.setattr(race, "CONTESTS", {"robust_pca": taken})
    settings = tuple(EASY["robust_pca"].items())
    rows = named(found := measure.run(Contest("robust_pca", settings, rounds=2)))
    assert rows["gnpolyak"].median > 0
    assert rows["gnpolyak"].error < 1e-10
    assert rows["reweighted"].against == "gnpolyak"
    assert rows["reweighted"].error <= 1e-8
    assert rows["stays"].median is None
    assert rows["stays"].note.startswith("never: error 1.")
    assert rows["gone"].note.startswith("skipped: ")
    assert {row.case for row in found} == {"d1=100 d2=80 r=2 κ=1 p_fail=0.1"}
    save(tmp_path / "zoo.json", "gnpolyak bench --suite zoo", found)
    assert load(tmp_path / "zoo.json")[1] == found
    for name in ("before.md", "after.md"):
        (tmp_path / name).write_text("")
    page = docs.page(tmp_path)
    assert "### Robust_pca: time to a recovery error of 1e-08" in page
    assert all(row.note in page for row in found)


def test_passes_are_compared_with_xla():
    rows = measure.run(Passes("matrix_completion", (("d1", 30), ("d2", 20), ("r", 2)), calls=2, rounds=2))
    if not gnp.native.status().available:
        assert all(row.note.startswith("skipped: ") for row in rows)
        return
    assert [(row.measure, row.contestant) for row in rows] == [
        ("value and subgradient", "fused C++"),
        ("value and subgradient", "plain XLA"),
        ("product with the Jacobian and its adjoint", "fused C++"),
        ("product with the Jacobian and its adjoint", "plain XLA"),
    ]
    assert all(row.against == "fused C++" for row in rows[1::2])


@pytest.mark.parametrize("name", ["matrix_completion", "bilinear_sensing", "tensor_sensing"])
def test_the_problem_for_xla_is_the_same_and_no_kernel_serves_it(name):
    case = easy(name)
    other = peers.unfused(case.problem)
    with arrays.computing_in(np.dtype(np.float64)):
        x = arrays.as_variable(case.x0)
        ours, theirs = case.problem.evaluate(x), other.evaluate(x)
        assert other.kernel(x) is None
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9), ours.subgradient, theirs.subgradient
    )
    np.testing.assert_allclose(ours.value, theirs.value, rtol=1e-12)


def test_growth_with_the_entries_has_a_row_for_each_and_an_exponent():
    rows = measure.run(Observed((300, 200), r=2, shares=(0.02, 0.9), calls=20, rounds=3))
    assert [row.case for row in rows] == ["1,200 entries", "54,000 entries", "fitted exponent"]
    assert 0 < rows[-1].median < 2
