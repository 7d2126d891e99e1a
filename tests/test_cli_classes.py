"""`gnpolyak run CLASS`: the options are the generator's, whatever class it is."""

import json
import re

import pytest
from click.testing import CliRunner

import gnpolyak as gnp
from gnpolyak.cli import classes
from gnpolyak.cli.main import main


def invoke(*args):
    return CliRunner().invoke(main, ["run", *(str(arg) for arg in args)])


def words(text):
    return " ".join(text.split())


@pytest.fixture
def seen(monkeypatch):
    """A class of one's own, and what its generator was called with; it makes nothing."""
    calls = []

    def shapes(sides: tuple = (3, 4), m: int | None = None, scale: float = 1.5, plain: bool = False, kind: str = "a"):
        """Shapes of all kinds: a formula.

        Parameters
        ----------
        sides : tuple
            The sides. More of them.
        m, scale : int and float
            Number of data and their size.

        Returns
        -------
        Instance
        """
        calls.append({"sides": sides, "m": m, "scale": scale, "plain": plain, "kind": kind})
        raise gnp.InputError(given="a", needed="b", missing="c", advice="d")

    monkeypatch.setitem(gnp.instances.INSTANCES, "shapes", shapes)
    return calls


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ((), {"sides": (3, 4), "m": None, "scale": 1.5, "plain": False, "kind": "a"}),
        (("--sides", "5,6,7", "--m", 9), {"sides": (5, 6, 7), "m": 9}),
        (("--scale", "2e-3", "--plain", "--kind", "b"), {"scale": 2e-3, "plain": True, "kind": "b"}),
    ],
)
def test_options_become_arguments(seen, args, expected):
    result = invoke("shapes", *args)
    assert result.exit_code == 2
    assert "Given: a. Needed: b." in result.output
    assert expected.items() <= seen[0].items()


@pytest.mark.parametrize(("option", "value"), [("--sides", "5,six"), ("--m", "1.5"), ("--scale", "wide")])
def test_values_of_another_type_exit_2(seen, option, value):
    result = invoke("shapes", option, value)
    assert result.exit_code == 2
    assert value in result.output
    assert not seen


def test_help_of_a_class_is_its_docstring(seen):
    shown = words(invoke("shapes", "--help").output)
    assert "Shapes of all kinds: a formula." in shown
    assert re.search(r"--sides NUMBER,\.\.\. The sides\. \[default: \(?3,4\)?\]", shown), shown
    assert "--m INTEGER Number of data. " in shown
    assert "Their size." in shown
    assert "More of them" not in shown


def test_help_lists_every_class_with_its_line(seen):
    shown = words(invoke("--help").output)
    assert "shapes Shapes of all kinds" in shown
    assert all(f" {name} " in shown for name in gnp.instances.INSTANCES)


@pytest.mark.parametrize("name", sorted(gnp.instances.INSTANCES))
def test_every_class_has_a_line_and_says_something_of_each_option(name):
    result = invoke(name, "--help")
    assert result.exit_code == 0
    assert classes.summary(gnp.instances.INSTANCES[name]) in words(result.output).replace("- ", "-")
    options = {option.name: option for option in classes.options(gnp.instances.INSTANCES[name])}
    assert {"p_fail", "seed"} <= set(options)
    assert all(option.help for option in options.values())


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("nonsense",), "no problem class 'nonsense'; there are"),
        (("--kappa", 3, "regression"), "put the options of a class after it"),
        (("regression", "--kappa", 0.5), "kappa=0.5"),
        (("regression", "--rank", 2, "--start", "data"), "rank=2"),
        (("bundle_adjustment", "--start", "data", "--cameras", 2, "--points", 6), "no x0"),
        (("synchronisation", "--rank", "some"), "some"),
    ],
)
def test_bad_usage_exits_2(args, expected):
    result = invoke(*args)
    assert result.exit_code == 2
    assert expected in words(result.output)


@pytest.mark.parametrize("start", ["near", "data"])
def test_a_class_is_solved(start):
    result = invoke("regression", "--d", 4, "--m", 60, "--kappa", 10, "--start", start, "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.output)
    assert report["status"] == "certified"
    assert report["recovery_error"] < 1e-10


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("robust_pca", "--r", 2, "--start", "data"), 2),
        (("robust_pca", "--r", 2, "--start", "data", "--rank", "auto"), "auto"),
        (("tucker", "--ranks", "2,3,2", "--shape", "6,6,6", "--start", "data"), (2, 3, 2)),
        (("regression", "--start", "data"), "auto"),
    ],
)
def test_the_rank_is_the_truths_where_a_start_takes_one(args, expected, monkeypatch):
    asked = []

    def minimize(problem, x0, *, rank, **more):
        asked.append(rank)
        raise gnp.InputError(given="a", needed="b", missing="c", advice="d")

    monkeypatch.setattr(gnp, "minimize", minimize)
    invoke(*args)
    assert asked == [expected]
