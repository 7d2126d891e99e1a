"""NAME.html: an answer on one page, which loads nothing from anywhere."""

from __future__ import annotations

import base64
import html
import io
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import gnpolyak as gnp
from gnpolyak.base.files import replacing
from gnpolyak.cli.solve.answer import Answer

MARK = '<meta name="generator" content="gnpolyak solve">'
"""By which a page of an earlier solve is known, and may be replaced."""
# Pixels of a picture of a matrix, each way.
_MOST_PIXELS = 500

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">{mark}
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}}
img{{max-width:100%}}dt{{font-weight:600}}dd{{margin:0 0 .6rem}}figure{{margin:1.5rem 0}}
figcaption{{color:#555}}</style>
</head><body><h1>{title}</h1><dl>{rows}</dl>{figures}<p>Made by gnpolyak {version}.</p></body></html>
"""


def write(answer: Answer, name: str, path: Path) -> None:
    """Write the page, whole or not at all."""
    with replacing(path) as draft:
        draft.write_text(page(answer, name), encoding="utf-8")


def page(answer: Answer, name: str) -> str:
    """The page as text."""
    facts = {
        "Read": answer.understood.description,
        "Found": answer.found,
        "How good": answer.quality,
        "Outliers": answer.wrong,
        "What the status means": answer.result.status.advice,
    }
    rows = "".join(f"<dt>{term}</dt><dd>{html.escape(text)}</dd>" for term, text in facts.items())
    figures = "".join(_shown(figure, caption) for figure, caption in _figures(answer))
    return _PAGE.format(
        mark=MARK, title=html.escape(f"What is in {name}"), rows=rows, figures=figures, version=gnp.__version__
    )


def _shown(figure: Figure, caption: str) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    alt = html.escape(caption)
    return f'<figure><img alt="{alt}" src="data:image/png;base64,{data}"><figcaption>{alt}</figcaption></figure>'


def _figures(answer: Answer) -> list[tuple[Figure, str]]:
    found = [(_convergence(answer), "The best value above the smallest, by oracle calls.")]
    if answer.understood.built.data.ndim == 2:
        found.insert(0, (_matrices(answer), "The data, what explains them, and the data that are wrong."))
    return [*found, (_histogram(answer), "Sizes of the residuals, of good data and of wrong ones.")]


def _convergence(answer: Answer) -> Figure:
    figure, ax = _axes()
    answer.result.plot(ax)
    return figure


def _histogram(answer: Answer) -> Figure:
    figure, ax = _axes()
    sizes, bad = np.abs(answer.residuals).ravel(), answer.marked.ravel()
    # Exact fits leave zeros, which have no logarithm: they stand at the rounding of the largest.
    least = max(float(sizes.max(initial=0.0)), np.finfo(float).tiny) * 1e-17
    logs = np.log10(np.maximum(sizes, least))
    bins = np.linspace(logs.min() - 0.5, logs.max() + 0.5, 60).tolist()
    ax.hist([logs[~bad], logs[bad]], bins=bins, stacked=True, color=["#0072B2", "#D55E00"], label=["good", "wrong"])
    ax.set(xlabel="log10 of the residual's size", ylabel="data", yscale="log")
    ax.legend()
    return figure


def _matrices(answer: Answer) -> Figure:
    built = answer.understood.built
    model, bad = np.full(built.data.size, np.nan), np.zeros(built.data.size)
    places = slice(None) if built.places is None else built.places
    bad[places] = answer.marked.ravel()
    model[places] = built.data.ravel()[places] - answer.residuals.ravel()
    whole = answer.arrays.get("M", model.reshape(built.data.shape))
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    limit = float(np.nanquantile(np.abs(whole), 0.99)) or 1.0
    parts = {"data": built.data, "low rank": whole, "wrong": bad.reshape(built.data.shape)}
    for ax, (title, part) in zip(figure.subplots(1, 3), parts.items(), strict=True):
        cmap, low, high = ("Greys", 0.0, 1.0) if title == "wrong" else ("RdBu", -limit, limit)
        ax.imshow(_thinned(part), aspect="auto", interpolation="nearest", cmap=cmap, vmin=low, vmax=high)
        # What is not there shows as grey, not as a zero.
        ax.set(title=title, xticks=[], yticks=[], facecolor="0.8")
    return figure


def _thinned(matrix: np.ndarray) -> np.ndarray:
    steps = [-(-side // _MOST_PIXELS) for side in matrix.shape]
    return matrix[:: steps[0], :: steps[1]]


def _axes() -> tuple[Figure, Any]:
    figure = Figure(figsize=(6.5, 3.6), layout="constrained")
    return figure, figure.subplots()
