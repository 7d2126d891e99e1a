"""`gnpolyak check`."""

import json

import pytest
from click.testing import CliRunner

from gnpolyak.cli.main import main


def check(*options):
    return CliRunner().invoke(main, ["check", *(str(option) for option in options)])


def test_check_prints_verdicts_and_bounds_in_80_columns():
    result = check("--d", 20, "--r", 2, "--kappa", 3, "--p-fail", 0.1)
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert max(map(len, lines)) <= 80
    for name in ("smooth map", "constant rank", "sharpness", "regularity"):
        assert any(line.startswith(name) and "  holds  " in line for line in lines)
    assert "rank 39 of 40 variables" in result.output
    for name in ("μ_h", "L_h", "L_h/μ_h", "c₁", "contraction per call", "calls to a gap", "restarts"):
        assert any(line.startswith(name) for line in lines)


def test_check_prints_json():
    result = check("--d", 20, "--r", 2, "--n", 3, "--kappa", 3, "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.output)
    assert report["passed"]
    assert {entry["verdict"] for entry in report["assumptions"].values()} == {"holds"}
    assert report["condition"] == pytest.approx(report["lipschitz"] / report["mu"])
    assert report["calls"]["observed"] <= report["calls"]["bound"]
    assert report["contraction"]["observed"] <= report["contraction"]["bound"]
    assert report["restarts"] is None


def test_check_of_an_instance_with_too_few_measurements_exits_1():
    result = check("--d", 20, "--r", 2, "--m", 20, "--json")
    assert result.exit_code == 1
    report = json.loads(result.output)
    assert report["assumptions"]["sharpness"]["verdict"] == "does not hold"
    assert report["condition"] is None
    assert "no rate" in check("--d", 20, "--r", 2, "--m", 20).output


def test_check_says_when_the_start_is_too_far():
    result = check("--d", 20, "--r", 2, "--n", 3, "--kappa", 10, "--radius", 1.0)
    assert "start closer" in result.output
    assert "nan" not in result.output


@pytest.mark.parametrize(
    ("options", "expected"), [(("--kappa", 0.1), "kappa=0.1"), (("--r", 200), "between 1 and 100")]
)
def test_bad_usage_of_check_exits_2(options, expected):
    result = check(*options)
    assert result.exit_code == 2
    assert expected in result.output


def test_help_of_check_teaches():
    result = check("--help")
    assert "gnpolyak check --kappa 100" in result.output
    assert "check" in CliRunner().invoke(main, ["--help"]).output
