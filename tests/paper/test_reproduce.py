"""``gnpolyak reproduce``: what it writes, and what it says of bad usage and bad folders."""

import pytest
from click.testing import CliRunner

from gnpolyak.cli import reproduce
from gnpolyak.cli.main import main
from gnpolyak.paper import catalogue


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


def test_the_help_fits_a_terminal_and_names_every_figure_and_size():
    text = CliRunner().invoke(main, ["reproduce", "--help"], terminal_width=80).output
    assert max(len(line) for line in text.splitlines()) <= 80
    described = " ".join(text.split("FIGURE is one or more of ")[1].split("; all of them")[0].split())
    assert all(name in described for name in reproduce.NAMES)
    for scale, sizes in catalogue.SIZES.items():
        [line] = [line for line in text.splitlines() if line.startswith(f"  --scale {scale} ")]
        assert f"d = {sizes.small} and {sizes.large}" in line
