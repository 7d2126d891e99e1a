"""Traces, figures and folders that the tests of the paper's part are made from."""

import dataclasses

import numpy as np

from gnpolyak.paper import catalogue, rows
from gnpolyak.paper.archive import Archive
from gnpolyak.paper.work import complete


def curves(name, scale="paper", variant="paper", **wanted):
    found = [curve for curve in catalogue.figure(name, scale, variant).curves() if curve.seed == 0]
    return [curve for curve in found if all(getattr(curve.setting, key) == value for key, value in wanted.items())]


def trace(method="GNP", value=1.0, seed=0, best=(1.0, 0.1, 0.01), panel="conditioning", **facts):
    best = np.asarray(best, float)
    known = dict.fromkeys((*rows.IDENTITY, *rows.PROVENANCE), "x")
    known |= {"figure": panel, "panel": panel, "method": method, "value": f"{value:g}", "seed": str(seed)}
    known |= {"max_calls": "100", "target": "300"} | facts
    count = np.arange(1, len(best) + 1)
    return rows.Trace(known, count, 0.5 * count, best, best)


def geometric(calls, **options):
    """A trace that reaches 1e-8 of its first error after so many calls."""
    return trace(best=10.0 ** (-8 * np.arange(calls) / (calls - 1)), **options)


def small(name, **changes):
    """A quick figure with two values only."""
    figure = catalogue.figure(name, "quick")
    sweeps = tuple(dataclasses.replace(sweep, values=sweep.values[:2], **changes) for sweep in figure.sweeps)
    return dataclasses.replace(figure, sweeps=sweeps)


def without_times(folder):
    """The rows of every file of a folder, less what depends on the machine."""
    return {path.name: [timeless(one) for one in rows.load(path)] for path in sorted(folder.glob("*.csv.gz"))}


def timeless(one):
    facts = {name: one.facts[name] for name in (*rows.IDENTITY, "target", "status")}
    return facts, one.call.tolist(), one.gap.tolist(), one.best.tolist()


def ignore(*_):
    pass


def run_missing(folder, figure, jobs=1):
    """Run what a folder has not yet of a figure; the archive afterwards."""
    archive = Archive(folder, [figure], "quick")
    complete(archive, archive.missing(figure), jobs, ignore)
    return archive
