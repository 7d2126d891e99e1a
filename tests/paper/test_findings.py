"""The constants of theory: their settings as data, their file, and the probes that measure them."""

import csv
import os
import signal
from pathlib import Path

import pytest

import gnpolyak as gnp
from gnpolyak.paper import constants, findings, work
from gnpolyak.paper.archive import Archive
from gnpolyak.paper.findings import At, Finding
from gnpolyak.paper.run import solved
from paper.made import ignore


def one_probe(monkeypatch, measure):
    monkeypatch.setattr(constants, "probes", lambda scale: (constants.Probe("one", measure),))


def test_probes_are_kept_and_not_measured_again(tmp_path, monkeypatch):
    measured = []
    one_probe(monkeypatch, lambda: measured.append(1) or iter([Finding("a number", At(d=3), 2 / 3)]))
    for scale in ("quick", "quick", "paper"):
        archive = Archive(tmp_path, (), scale)
        work.probe(archive, ignore)
    assert len(measured) == 2, "once for each scale"
    kept = archive.evidence().findings
    assert kept == [Finding("a number", At(d=3), 0.666667)]
    assert Archive(tmp_path, (), "quick").evidence().findings == kept


def test_ctrl_c_in_a_probe_keeps_nothing_of_it(tmp_path, monkeypatch):
    def measure():
        case = gnp.instances.tensor_sensing(d=10, r=2)
        press = lambda res: os.kill(os.getpid(), signal.SIGINT)  # noqa: E731
        res = solved(case.problem, case.x0, "polyak", target=case.target, tol=0.0, callback=press)
        yield Finding("calls", At(d=10), float(res.calls))

    one_probe(monkeypatch, measure)
    with pytest.raises(KeyboardInterrupt):
        work.probe(Archive(tmp_path, (), "quick"), ignore)
    assert not (tmp_path / "theory.csv").exists()


HEADER = ",".join(findings.COLUMNS) + "\n"


@pytest.mark.parametrize(
    "content",
    [
        "a,b\n1,2\n",
        ",".join(findings.COLUMNS[:7]) + "\n",
        "\x00",
        HEADER + "quick,rank,a number,z=3,7" + 9 * ",x" + "\n",
    ],
    ids=["other columns", "too few columns", "not text", "a setting that is none"],
)
def test_files_that_are_not_findings_are_refused(tmp_path, content):
    (tmp_path / "theory.csv").write_text(content)
    with pytest.raises(gnp.InputError, match="move the file away"):
        findings.load(tmp_path / "theory.csv")


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (At(d=100, r=5, n=2, p_fail=0.2, kappa=5.0), "d=100 r=5 n=2 p_fail=0.2 κ=5"),
        (At("Polyak", p_fail=0.0), "Polyak p_fail=0"),
        (At("GNP", variable="X in other units"), "GNP in X in other units"),
    ],
)
def test_a_setting_is_written_and_read_back(at, text):
    assert str(at) == text
    assert At.read(text) == at


def test_settings_that_are_committed_are_read_in_full():
    committed = Path(__file__).parents[2] / "docs" / "reproduction" / "theory.csv"
    with committed.open(encoding="utf-8", newline="") as file:
        texts = [row["setting"] for row in csv.DictReader(file)]
    assert [str(record.finding.at) for record in findings.load(committed)] == texts
    assert At(d=1000, r=5) in {record.finding.at for record in findings.load(committed)}
