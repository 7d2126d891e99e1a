"""Every oracle answers what dense algebra says: whatever it asks, wherever its rows are, on NumPy as under JAX."""

import dataclasses

import jax
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base.streams import reading
from gnpolyak.oracles import ModelOracle, PartsOracle, host_oracle, oracle_for
from gnpolyak.oracles.model import PlainModelOracle
from gnpolyak.oracles.streamed import StreamedOracle
from gnpolyak.oracles.watched import HaltedError, Watched
from oracles import cases
from passes import needs_library

TABLES = [pytest.param(parts, id=name) for name, parts in cases.of_tables()]
FIRST = [each for each in TABLES if each.id.endswith("-0")]


def check(make, problem, x, reference=None):
    with jax.enable_x64(True):
        problem = problem.cast(np.dtype(float))
        return gnp.testing.check_oracle(make(problem, x), x, problem if reference is None else reference)


@pytest.mark.parametrize("parts", TABLES)
def test_on_the_host(parts):
    check(host_oracle, cases.around(*parts), parts[1])


@pytest.mark.parametrize("parts", FIRST)
def test_in_a_compiled_program(parts):
    check(oracle_for, cases.around(*parts), parts[1])


@pytest.mark.parametrize("make", [host_oracle, oracle_for])
@pytest.mark.parametrize("name", cases.PENALTIES)
def test_penalties(make, name):
    check(make, *cases.PENALTIES[name]())


@needs_library
@pytest.mark.parametrize("case", [cases.power, cases.bilinear, cases.entries, cases.whitened])
@pytest.mark.parametrize("make", [host_oracle, oracle_for])
def test_the_fused_passes(case, make):
    problem, x = case()
    with jax.enable_x64(True):
        oracle = make(problem, x)
        assert isinstance(oracle, PartsOracle)
        assert oracle.problem.kernel(x) is not None
        gnp.testing.check_oracle(oracle, x, problem)


@pytest.mark.parametrize("case", [cases.power, cases.bilinear, cases.entries, cases.whitened])
def test_the_parts_where_there_is_no_fused_pass(case, monkeypatch):
    monkeypatch.setattr(gnp.Composite, "kernel", lambda problem, x: None)
    check(host_oracle, *case())


@pytest.mark.parametrize("forms", [True, False])
@pytest.mark.parametrize("penalty", [gnp.L1, cases.weighted, gnp.L2])
def test_a_users_model(forms, penalty):
    problem, x = cases.model(penalty)
    errors = check(lambda problem, x: ModelOracle(problem, x, forms), problem, x)
    assert ("matrix" in errors) is forms


def test_a_users_model_with_a_closed_form():
    x = np.array([0.5, -1.5, 2.0])
    problem = cases.around(cases.Squares(), x)
    oracle = host_oracle(problem, x)
    assert isinstance(oracle, ModelOracle)
    assert oracle.preconditioned
    assert check(host_oracle, problem, x)["damped metric"] < 1e-12


@pytest.mark.parametrize("penalty", [gnp.L1, cases.weighted])
def test_a_model_in_plain_numpy(penalty):
    reference, x = cases.model(penalty)
    t = cases.TIMES

    def slope(p):
        inner = np.exp(-p["b"] * t[:, None])
        return np.column_stack([inner.sum(axis=1), -p["a"] * t[:, None] * inner])

    c = gnp.NumpyMap(lambda p: p["a"] * np.exp(-p["b"] * t[:, None]).sum(axis=1), jacobian=slope)
    problem = dataclasses.replace(reference, map=c).settled(x)
    oracle = host_oracle(problem, x)
    assert isinstance(oracle, PlainModelOracle)
    check(host_oracle, problem, x, reference)


def streamed(problem, tmp_path):
    """The problem with its rows in files."""

    def filed(name):
        np.save(tmp_path / f"{name}.npy", np.asarray(getattr(problem.sensing, name)))
        return np.load(tmp_path / f"{name}.npy", mmap_mode="r")

    sensing = type(problem.sensing)(*map(filed, ("p", "q")))
    return gnp.composite(problem.map, problem.penalty, sensing=sensing)


@pytest.mark.parametrize("penalty", [gnp.L1, cases.weighted, gnp.L2])
@pytest.mark.parametrize("case", [cases.power, cases.bilinear])
def test_rows_in_a_file(case, penalty, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "BLOCK_BYTES", 1024)
    reference, x = case(penalty)
    problem = streamed(reference, tmp_path)
    assert isinstance(host_oracle(problem, x), StreamedOracle)
    check(host_oracle, problem, x, reference)


def test_rows_in_a_file_of_a_users_model(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "BLOCK_BYTES", 1024)
    x, a = np.array([0.3, -0.4, 0.9]), cases.rows(60, 3)
    reference = cases.around(gnp.AutodiffMap(jax.numpy.tanh), x, gnp.LinearSensing(a))
    np.save(tmp_path / "a.npy", a)
    sensing = gnp.LinearSensing(np.load(tmp_path / "a.npy", mmap_mode="r"))
    problem = gnp.composite(reference.map, reference.penalty, sensing=sensing)
    assert isinstance(host_oracle(problem, x), StreamedOracle)
    check(host_oracle, problem, x, reference)


def test_one_that_is_watched():
    for problem, x in (cases.power(), cases.model()):
        check(lambda problem, x: Watched(host_oracle(problem, x), lambda seconds: False), problem, x)


def test_one_that_is_to_end_begins_nothing():
    problem, x = cases.power()
    watched = Watched(host_oracle(problem, x), lambda seconds: True)
    for work in (watched.evaluate, watched.residuals, watched.holding(x > 0).evaluate):
        with pytest.raises(HaltedError):
            work(x)
    with watched.unwatched():
        assert np.isfinite(watched.evaluate(x).value)


class Wrong(PartsOracle):
    """Answers with one mistake."""

    mistake = ""

    def evaluate(self, x):
        point = super().evaluate(x)
        return point._replace(subgradient=point.subgradient * 1.001) if self.mistake == "subgradient" else point

    def actions(self, x, kept=None):
        products = super().actions(x, kept)
        if self.mistake != "energy":
            return products
        return dataclasses.replace(products, together=lambda z, w: (*products.product(z, w), 1.0))

    def residuals(self, x):
        value, r, kept = super().residuals(x)
        return value, -r if self.mistake == "residuals" else r, kept

    def metrics(self, x, damping=0.0):
        return super().metrics(x, 0.0 if self.mistake == "several" else damping)

    def holding(self, free):
        return self if self.mistake == "held" else super().holding(free)

    def curvature(self, x, s):
        return super().curvature(x, s) * (0.5 if self.mistake == "curvature" else 1.0)


@pytest.mark.parametrize("mistake", ["subgradient", "energy", "residuals", "several", "held", "curvature"])
def test_a_mistake_is_found(mistake):
    x = cases.rows(4, 2)
    problem = cases.around(gnp.SymmetricCP(2), x)
    oracle = Wrong(problem.using(np), np, x)
    gnp.testing.check_oracle(oracle, x, problem)
    oracle.mistake = mistake
    with pytest.raises(AssertionError, match=mistake):
        gnp.testing.check_oracle(oracle, x, problem)
