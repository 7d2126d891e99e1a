import json
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

import gnpolyak as gnp
from gnpolyak.cli.main import main

FIELDS = {"status", "success", "calls", "value", "gap", "relative_gap", "recovery_error", "seconds"}


def invoke(*args):
    return CliRunner().invoke(main, [str(arg) for arg in args])


def test_run_prints_json_and_exits_0():
    result = invoke("run", "--d", 30, "--r", 2, "--kappa", 50, "--json")
    assert result.exit_code == 0
    report = json.loads(result.output)
    assert set(report) == FIELDS
    assert report["status"] == "target_reached"
    assert report["relative_gap"] <= 1e-10
    assert report["recovery_error"] < 1e-9
    assert 10 < report["calls"] < 60


@pytest.mark.parametrize(
    "options",
    [
        ("--lower-bound", 0),
        ("--strategy", "level"),
        ("--strategy", "restart", "--inner", 150, "--outer", 40),
        ("--target", "known", "--method", "scaledsm"),
    ],
)
def test_run_with_outliers(options):
    result = invoke("run", "--d", 30, "--r", 2, "--kappa", 3, "--p-fail", 0.1, "--seed", 2, "--json", *options)
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["recovery_error"] < 1e-8


def test_run_that_does_not_get_there_exits_1():
    result = invoke("run", "--d", 20, "--r", 2, "--method", "polyak", "--max-calls", 5, "--json")
    assert result.exit_code == 1
    assert json.loads(result.output)["status"] == "call_limit"


def test_summary_names_the_status_and_advises():
    result = invoke("run", "--d", 20, "--r", 2, "--method", "polyak", "--max-calls", 5)
    assert result.exit_code == 1
    assert "call_limit" in result.output
    assert "raise max_calls" in result.output


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--p-fail", 0.7), "[0, 1/2)"),
        (("--r", 200), "between 1 and 100"),
        (("--kappa", 0.1), "kappa=0.1"),
        (("--method", "adam"), "adam"),
        (("--target", "soon"), "soon"),
        (("--target", 0, "--lower-bound", 0), "together with"),
        (("--n", 3, "--method", "scaledsm", "--d", 6, "--r", 2), "offers 'right_gram'"),
        (("--nonsense",), "nonsense"),
    ],
)
def test_bad_usage_exits_2(options, expected):
    result = invoke("run", *options)
    assert result.exit_code == 2
    assert expected in result.output


def test_demo_draws_its_figure(tmp_path):
    """In a terminal of 40 columns, where no figure may lose its digits."""
    figure = tmp_path / "demo.png"
    result = CliRunner().invoke(main, ["demo", "--figure", str(figure)], env={"COLUMNS": "40"})
    assert result.exit_code == 0
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["demo.png"]
    assert "What this shows" in result.output
    assert max(map(len, result.output.splitlines())) <= 40
    assert len(re.findall(r"\d\.\de-\d\d", result.output)) == 3


@pytest.mark.parametrize(
    ("name", "expected"), [("missing/demo.png", "does not exist"), ("demo.xyz", "cannot write .xyz")]
)
def test_demo_checks_its_figure_before_the_work(tmp_path, name, expected):
    result = invoke("demo", "--figure", tmp_path / name)
    assert result.exit_code == 2
    assert expected in result.output
    assert "Oracle calls" not in result.output


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ((), "gnpolyak run --kappa 100"),
        (("run",), "gnpolyak run --n 3 --kappa 3"),
        (("run",), gnp.instances.DEFAULT_MEASUREMENTS),
        (("demo",), "κ = 1, 10 and 100"),
        (("bench",), "pip install 'gnpolyak[bench]'"),
        (("info",), "GNPOLYAK_NATIVE=0"),
    ],
)
def test_help_shows_what_to_type(command, expected):
    result = invoke(*command, "--help")
    assert result.exit_code == 0
    assert expected in " ".join(result.output.split())


def test_every_command_of_the_group_is_in_its_help():
    listed = invoke("--help").output
    assert set(main.commands) == {"demo", "run", "solve", "reproduce", "check", "bench", "info"}
    assert all(f"  gnpolyak {name} " in listed for name in main.commands)


@pytest.mark.parametrize("package", ["click", "rich", "matplotlib"])
def test_missing_extra_is_explained(package):
    code = f"import sys; sys.modules[{package!r}] = None; import gnpolyak.cli.main"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr.strip() == f"The command line needs {package}: pip install 'gnpolyak[cli]'"
