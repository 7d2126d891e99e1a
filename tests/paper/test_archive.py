"""A folder's rows are read once, and what is told of them does not depend on when."""

import dataclasses

import numpy as np

from gnpolyak.paper import catalogue, rows
from gnpolyak.paper.archive import Archive
from gnpolyak.paper.publish import publish
from paper.made import run_missing, small


def test_a_part_of_a_figure_is_no_evidence(tmp_path):
    """Interrupted after κ = 1 and 2, a figure must neither crash the report nor pass for the whole."""
    run_missing(tmp_path, small("conditioning"))
    archive = Archive(tmp_path, catalogue.figures("quick"), "quick")
    judged = publish(archive, heading="h", command="c", with_errata=True)
    assert "Only 4 of 12 curves are done." in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert {claim.verdict for claim in judged} == {"not measured"}
    assert "4 of 12 curves of conditioning" in judged[0].reason


def test_what_was_just_kept_is_what_the_file_gives_back(tmp_path):
    figure = small("scaledsm")
    kept = run_missing(tmp_path, figure).evidence().traces["scaledsm"]
    read = Archive(tmp_path, [figure], "quick").evidence().traces["scaledsm"]
    for one, other in zip(kept, read, strict=True):
        for field in dataclasses.fields(rows.Trace):
            assert np.array_equal(getattr(one, field.name), getattr(other, field.name)), field.name


def test_every_file_is_read_once(tmp_path, monkeypatch):
    figure, read, load = small("scaledsm"), [], rows.load
    monkeypatch.setattr(rows, "load", lambda path: read.append(path.name) or load(path))
    publish(run_missing(tmp_path, figure), heading="h", command="c", with_errata=True)
    assert read == ["scaledsm.csv.gz"]
