"""Pictures of convergence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gnpolyak.base.errors import InputError
from gnpolyak.base.files import replacing

# Okabe and Ito's colours, told apart with any colour vision; each method also has its own line style.
STYLES = {
    "gnp": {"color": "#0072B2", "linestyle": "-", "label": "GNP"},
    "scaledsm": {"color": "#E69F00", "linestyle": "--", "label": "ScaledSM"},
    "polyak": {"color": "#D55E00", "linestyle": "-.", "label": "Polyak"},
}


def gap(values: np.ndarray, label: str, ax: Any = None) -> Any:
    """Draw one curve of gaps against oracle calls on a logarithmic scale; returns the axes."""
    if ax is None:
        _, ax = _pyplot().subplots(layout="constrained")
    if not hasattr(ax, "semilogy"):
        raise InputError(
            given=f"ax of type {type(ax).__name__}",
            needed="the axes of a matplotlib figure",
            missing="something to draw on",
            advice="leave ax out for a new figure, or pass one of pyplot.subplots()",
        )
    ax.semilogy(np.arange(1, len(values) + 1), values, linewidth=1.8, color=STYLES["gnp"]["color"], label=label)
    ax.set(xlabel="oracle calls", ylabel="best value above the target")
    ax.grid(alpha=0.3)
    ax.legend()
    return ax


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise InputError(
            given="a plot where matplotlib cannot be imported",
            needed="matplotlib, which draws it",
            missing=f"it: {error}",
            advice="pip install 'gnpolyak[cli]', or matplotlib itself; res.history has the numbers",
        ) from error
    return pyplot


def convergence(panels: Mapping[str, Mapping[str, np.ndarray]], path: Path) -> None:
    """Draw the relative gap against oracle calls, one panel a title and one curve a method, into a file.

    Parameters
    ----------
    panels : mapping
        Title → method name → relative gap at each oracle call.
    path : Path
        The file to write; its suffix chooses the format.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.4 * len(panels), 3.4), layout="constrained")
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for ax, (title, curves) in zip(axes, panels.items(), strict=True):
        for method, gap in curves.items():
            ax.plot(np.arange(1, len(gap) + 1), gap, linewidth=1.8, **STYLES[method])
        ax.set(title=title, xlabel="oracle calls", xscale="log", yscale="log")
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("relative gap  (f − h*) / (f₀ − h*)")
    axes[0].legend()
    with replacing(path) as draft:
        figure.savefig(draft, dpi=150)
