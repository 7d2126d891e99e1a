"""NAME.html: an answer on one page, which loads nothing from anywhere."""

from __future__ import annotations

import base64
import html
import io
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import gnpolyak as gnp
from gnpolyak.base.files import replacing
from gnpolyak.cli.solve.answer import Answer
from gnpolyak.cli.solve.kinds import KINDS
from gnpolyak.cli.solve.pictures import axes, histogram

MARK = '<meta name="generator" content="gnpolyak solve">'
"""By which a page of an earlier solve is known, and may be replaced."""

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">{mark}
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}}
h1,dd,td{{overflow-wrap:anywhere}}h1{{line-height:1.2}}dt{{font-weight:600}}dd{{margin:0 0 .6rem}}
.pictures{{display:flex;flex-wrap:wrap;gap:1rem 2rem;align-items:flex-end}}figure{{margin:0;flex:1 1 22rem}}
figure.wide{{flex-basis:100%}}img{{max-width:100%}}figcaption,footer{{color:#555}}
table{{border-collapse:collapse;margin:1.5rem 0}}td{{padding:.2rem 1rem .2rem 0;border-top:1px solid #ddd}}
</style></head><body><h1>{title}</h1><dl>{rows}</dl><div class="pictures">{figures}</div>
<table>{table}</table><footer>Made by gnpolyak {version}.</footer></body></html>
"""


def write(answer: Answer, name: str, path: Path) -> None:
    """Write the page, whole or not at all."""
    with replacing(path) as draft:
        draft.write_text(page(answer, name), encoding="utf-8", errors="replace")


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
    table = "".join(f"<tr><td>{name}</td><td>{html.escape(text)}</td></tr>" for name, text in _table(answer).items())
    figures = "".join(_shown(*each, wide=not place) for place, each in enumerate(_figures(answer)))
    title = html.escape(f"What is in {name}")
    return _PAGE.format(mark=MARK, title=title, rows=rows, figures=figures, table=table, version=gnp.__version__)


def _table(answer: Answer) -> dict[str, str]:
    """The figures of the solve."""
    res, sizes = answer.result, np.abs(answer.residuals)
    good = sizes[~answer.marked]
    return {
        "Problem": res.problem,
        "Method": res.method,
        "Status": res.status.name.lower().replace("_", " "),
        "Sum of errors": f"{res.value:.8g}",
        "Oracle calls": f"{res.calls:,}",
        "Seconds": f"{res.seconds:.3g}",
        "Numbers in the data": f"{sizes.size:,}",
        "Of these wrong": "not to be told" if res.outliers is None else f"{int(answer.marked.sum()):,}",
        "Median residual of good data": f"{np.median(good):.3g}" if good.size else "none",
        "Largest residual of good data": f"{good.max():.3g}" if good.size else "none",
        "Noise": "none found" if res.noise is None else f"{res.noise:.3g}",
    } | {f"Shape of {html.escape(name)}": _shape(part) for name, part in answer.parts.items()}


def _shape(part: np.ndarray) -> str:
    return " × ".join(map(str, part.shape)) or "a number"


def _shown(figure: Figure, caption: str, *, wide: bool) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    alt, kind = html.escape(caption), ' class="wide"' if wide else ""
    return f'<figure{kind}><img alt="{alt}" src="data:image/png;base64,{data}"><figcaption>{alt}</figcaption></figure>'


def _figures(answer: Answer) -> list[tuple[Figure, str]]:
    return [KINDS[answer.understood.kind].picture(answer), histogram(answer), _convergence(answer)]


def _convergence(answer: Answer) -> tuple[Figure, str]:
    figure, ax = axes()
    answer.result.plot(ax)
    return figure, "The best value above the smallest, by oracle calls."
