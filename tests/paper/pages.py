"""Pictures, claims and pages that the tests of figures and report are made from."""

from functools import cache

import numpy as np

from gnpolyak.paper import report
from gnpolyak.paper.pictures import Line, Panel, Picture, Series
from gnpolyak.paper.verdicts import VERDICTS, Claim

HOSTILE = "</script><img src=x onerror=window.hacked=1><!-- κ ≤ 3 & \"'$x$"


def line(method, value, calls, seeds=3, points=60):
    """Linear convergence that ends at 1e-12 after about so many calls, with seeds that differ."""
    x = np.unique(np.round(np.geomspace(1, calls, points)))
    runs = [20 * np.exp(-x / calls * (28 + k)) for k in range(seeds)]
    y = [np.median(runs, axis=0), np.min(runs, axis=0), np.max(runs, axis=0)]
    return Line(method, value, seeds, Series(x, *y), Series(0.004 + 0.0013 * x, *y))


def lines(methods, values=(1.0, 2.0, 5.0, 10.0), seeds=3):
    return tuple(
        line(m, v, calls=int((50 if k == 0 else 70) * (1 + v) ** k), seeds=seeds)
        for v in values
        for k, m in enumerate(methods)
    )


def picture(name, *panels):
    return Picture(name, f"The {name}", f"What {name} do.", (("d", "100"), ("m", "8dr")), panels)


PICTURES = (
    picture("conditioning", Panel("n = 2", "κ", lines(("GNP", "ScaledSM", "Polyak")))),
    picture("orders", Panel("κ = 1", "n", lines(("GNP", "Polyak"))), Panel("κ = 3", "n", lines(("GNP", "Polyak")))),
    picture("failures", Panel("κ = 5", "p_fail", lines(("RGNP", "RPolyak", "Level"), (0.0, 0.1, 0.2)))),
    picture("ranks", Panel("n = 3", "r", lines(("GNP", "Polyak"), (2.0, 5.0)))),
    picture("alone", Panel("one seed", "κ", lines(("GNP", "Bundle"), seeds=1))),
)

PANELS = [panel for each in PICTURES for panel in each.panels]

CLAIMS = tuple(
    Claim(f"κ < {k} & faster", "Section 5", f"{k} calls", verdict, "because ≤")
    for k, verdict in enumerate(("holds", "holds", *VERDICTS[1:3], "does not hold as printed"))
)

MACHINE = {"processor": "a fast one", "jax": "0.8"}


def made(pictures=PICTURES, claims=CLAIMS, machine=MACHINE, heading="Measured", command="make report", notes=()):
    return report.page(pictures, claims, machine, heading=heading, command=command, notes=notes)


usual = cache(made)


def hostile_page():
    panel = Panel(HOSTILE, HOSTILE, (line(HOSTILE, 1.0, 50),))
    claim = Claim(HOSTILE, HOSTILE, HOSTILE, "holds", HOSTILE)
    shown = Picture(HOSTILE, HOSTILE, HOSTILE, ((HOSTILE, HOSTILE),), (panel,))
    return made((shown,), (claim,), {HOSTILE: HOSTILE}, HOSTILE, HOSTILE, ((HOSTILE, HOSTILE),))


def exact(method):
    """A curve without a positive error."""
    x = np.arange(1.0, 4.0)
    return Line(method, 2.0, 1, *[Series(x, 0 * x, 0 * x, 0 * x)] * 2)
