"""Pictures that show what an answer is: one for each sort of problem class."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from gnpolyak.cli.solve.kinds import Solved

GOOD, WRONG = "#0072B2", "#D55E00"
"""Okabe and Ito's blue and vermilion, told apart with any colour vision."""
# Pixels of a picture of a matrix, each way.
_MOST_PIXELS = 500
# Vectors of up to so many entries are drawn entry by entry.
_MOST_STEMS = 80


def matrices(solved: Solved) -> tuple[Figure, str]:
    """A matrix of data, what explains it, and where it is wrong."""
    data = solved.built.data
    if data.ndim != 2:
        return one_by_one(solved)
    model, bad = np.full(data.size, np.nan), np.zeros(data.size)
    places = slice(None) if solved.built.places is None else solved.built.places
    bad[places] = solved.marked.ravel()
    model[places] = data.ravel()[places] - solved.residuals.ravel()
    whole = solved.parts.get("M", model.reshape(data.shape))
    caption = "The data, what explains them, and the data that are wrong."
    return _beside({"data": data, "low rank": whole, "wrong": bad.reshape(data.shape)}), caption


def slices(solved: Solved) -> tuple[Figure, str]:
    """The same for the middle slice of a tensor, along its two longest axes."""
    data = solved.built.data
    longest = sorted(np.argsort(data.shape)[-2:].tolist())
    middle = tuple(slice(None) if k in longest else side // 2 for k, side in enumerate(data.shape))
    parts = {"data": data, "low rank": data - solved.residuals, "wrong": solved.marked}
    caption = "The middle slice of the data, what explains it, and the data that are wrong."
    return _beside({name: part[middle] for name, part in parts.items()}), caption


def state(solved: Solved) -> tuple[Figure, str]:
    """The moduli of a density matrix."""
    figure = Figure(figsize=(4.8, 4.0), layout="constrained")
    ax = figure.subplots()
    shown = ax.imshow(_thinned(np.abs(solved.parts["rho"])), cmap="viridis", vmin=0.0, interpolation="nearest")
    figure.colorbar(shown, ax=ax)
    ax.locator_params(integer=True)
    ax.set(xlabel="column", ylabel="row")
    return figure, "The moduli of the entries of the state ρ."


def factor(solved: Solved) -> tuple[Figure, str]:
    """The matrix that was found, or its factor."""
    name = "M" if "M" in solved.parts else "X" if "X" in solved.parts else "U"
    matrix = solved.parts[name]
    figure = Figure(figsize=(6.5, 3.6), layout="constrained")
    ax = figure.subplots()
    limit = float(np.abs(matrix).max()) or 1.0
    shown = ax.imshow(_thinned(matrix), aspect="auto", cmap="RdBu", vmin=-limit, vmax=limit, interpolation="nearest")
    figure.colorbar(shown, ax=ax)
    ax.locator_params(integer=True)
    ax.set(xlabel="column", ylabel="row")
    return figure, f"{name}, as in the file of the answer."


def vectors(solved: Solved) -> tuple[Figure, str]:
    """The vectors that were found, entry by entry."""
    found = {name: array for name, array in solved.parts.items() if array.ndim == 1}
    figure = Figure(figsize=(6.5, 1.2 + 2.4 * len(found)), layout="constrained")
    for ax, (name, vector) in zip(figure.subplots(len(found), squeeze=False)[:, 0], found.items(), strict=True):
        heights = np.abs(vector) if np.iscomplexobj(vector) else vector
        _entries(ax, heights)
        ax.set(xlabel="entry", ylabel=f"|{name}|" if np.iscomplexobj(vector) else name)
    return figure, f"The solution {' and '.join(found)}, entry by entry."


def one_by_one(solved: Solved) -> tuple[Figure, str]:
    """The size of the residual of each row of the data: of each pair, or each observation."""
    rows = len(solved.residuals)
    sizes = np.linalg.norm(solved.residuals.reshape(rows, -1), axis=1)
    bad = solved.marked.reshape(rows, -1).any(axis=1)
    figure, ax = axes()
    ax.scatter(np.flatnonzero(~bad), _floored(sizes)[~bad], s=8, color=GOOD, label="good")
    ax.scatter(np.flatnonzero(bad), _floored(sizes)[bad], s=14, color=WRONG, marker="x", label="wrong")
    ax.set(xlabel=f"number in the list of {solved.built.one}", ylabel="size of the residual", yscale="log")
    ax.legend()
    return figure, f"How far the {solved.built.one} are from what was found."


def histogram(solved: Solved) -> tuple[Figure, str]:
    """How large the residuals of good and of wrong data are."""
    figure, ax = axes()
    logs, bad = np.log10(_floored(np.abs(solved.residuals).ravel())), solved.marked.ravel()
    bins = np.linspace(logs.min() - 0.5, logs.max() + 0.5, 60).tolist()
    ax.hist([logs[~bad], logs[bad]], bins=bins, stacked=True, color=[GOOD, WRONG], label=["good", "wrong"])
    ax.set(xlabel="log10 of the residual's size", ylabel="numbers", yscale="log")
    ax.legend()
    return figure, "Sizes of the residuals, of good data and of wrong ones."


def axes() -> tuple[Figure, Any]:
    """One panel."""
    figure = Figure(figsize=(6.5, 3.6), layout="constrained")
    return figure, figure.subplots()


def _beside(parts: dict[str, np.ndarray]) -> Figure:
    """Data, model and what is wrong, in the same colours."""
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    limit = float(np.nanquantile(np.abs(parts["low rank"]), 0.99)) or 1.0
    for ax, (title, part) in zip(figure.subplots(1, len(parts)), parts.items(), strict=True):
        cmap, low, high = ("Greys", 0.0, 1.0) if title == "wrong" else ("RdBu", -limit, limit)
        ax.imshow(_thinned(part), aspect="auto", interpolation="nearest", cmap=cmap, vmin=low, vmax=high)
        # What is not there shows as grey, not as a zero.
        ax.set(title=title, xticks=[], yticks=[], facecolor="0.8")
    return figure


def _entries(ax: Any, heights: np.ndarray) -> None:
    if len(heights) > _MOST_STEMS:
        ax.plot(heights, linewidth=0.8, color=GOOD)
    else:
        ax.stem(heights, linefmt=GOOD, markerfmt="o", basefmt="k-")


def _floored(sizes: np.ndarray) -> np.ndarray:
    """Exact fits leave zeros, which have no logarithm: they stand at the rounding of the largest."""
    sizes = np.nan_to_num(sizes, posinf=np.finfo(float).max)
    least = max(float(sizes.max(initial=0.0)), np.finfo(float).tiny) * 1e-17
    return np.asarray(np.maximum(sizes, max(least, np.finfo(float).tiny)))


def _thinned(matrix: np.ndarray) -> np.ndarray:
    steps = [-(-side // _MOST_PIXELS) for side in matrix.shape]
    return matrix[:: steps[0], :: steps[1]]
