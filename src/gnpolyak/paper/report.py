"""One page that a person opens: the claims, the figures to explore, and what they were made with.

Everything is inside the file, and its content security policy forbids it to load anything else.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template

from gnpolyak.paper import payload
from gnpolyak.paper.pictures import Line, Panel, Picture
from gnpolyak.paper.verdicts import VERDICTS, Claim, counted

SCRIPTS = ("scales.js", "chart.js", "legend.js", "report.js")
# The class of a verdict's badge, and its sign for those who do not see the colour.
BADGES = dict(zip(VERDICTS, (("good", "✓"), ("fair", "◐"), ("poor", "✕"), ("none", "–")), strict=True))


def page(
    pictures: Sequence[Picture],
    claims: Sequence[Claim],
    machine: Mapping[str, str],
    *,
    heading: str,
    command: str,
    notes: Sequence[tuple[str, str]] = (),
) -> str:
    """The whole page as HTML.

    Parameters
    ----------
    pictures : sequence of Picture
        Drawn by the page's own script, from data inside the page.
    claims : sequence of Claim
        Rows of the table of claims, in this order.
    machine : mapping
        What the measurements were made on and with, as names and texts.
    heading, command : str
        The title, and what makes the page again.
    notes : sequence of pairs
        Errata: a short title and a text each.
    """
    _check(claims)
    style, script = _asset("report.css"), "\n".join(_asset(name) for name in SCRIPTS)
    return Template(_asset("report.html")).substitute(
        policy=_policy(style, script),
        heading=escape(heading),
        summary=_summary(claims),
        links=_links(pictures, notes),
        claims=_claims(claims),
        figures=_figures(pictures),
        notes=_notes(notes),
        machine=_facts(machine.items()),
        command=escape(command),
        data=payload.embedded(pictures),
        style=style,
        script=script,
    )


def _check(claims: Sequence[Claim]) -> None:
    for claim in claims:
        if claim.verdict not in BADGES:
            raise ValueError(
                f"The claim {claim.statement!r} has the verdict {claim.verdict!r}, and the page has no badge for it. "
                f"A verdict is one of {', '.join(VERDICTS)}: use one of these."
            )


def _asset(name: str) -> str:
    return (files("gnpolyak.paper") / "page" / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Nothing may be loaded, and only this style and this script may act; the icon is inside the page."""
    return (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; img-src data:; base-uri 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _summary(claims: Sequence[Claim]) -> str:
    if not claims:
        return ""
    found = [(BADGES[verdict][0], n, words) for verdict, n, words in counted(claims)]
    words = ", ".join(f'<span class="{kind}">{n} {words}</span>' for kind, n, words in found)
    bar = "".join(f'<li class="{kind}"></li>' * n for kind, n, _ in found)
    start = "Of one claim" if len(claims) == 1 else f"Of {len(claims)} claims"
    return f'<p class="summary">{start}, {words}.</p>\n<ul class="tally" aria-hidden="true">{bar}</ul>'


def _links(pictures: Sequence[Picture], notes: Sequence[tuple[str, str]]) -> str:
    places = [("claims", "Claims")]
    places += [(f"figure-{k + 1}", _short(picture.name)) for k, picture in enumerate(pictures)]
    places += [("notes", "Errata")] if notes else []
    places += [("machine", "Machine"), ("again", "Command")]
    return "".join(f'<a href="#{place}">{escape(name)}</a>' for place, name in places)


def _short(name: str) -> str:
    return "ScaledSM" if name == "scaledsm" else name.capitalize()


def _claims(claims: Sequence[Claim]) -> str:
    if not claims:
        return '<p class="prose">No claim was measured.</p>'
    heads = "".join(
        f'<th scope="col">{name}</th>' for name in ("The paper says", "Where", "Measured", "Verdict", "Why")
    )
    rows = "\n".join(_claim(k, claim) for k, claim in enumerate(claims))
    return f'<table class="claims">\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>'


def _claim(k: int, claim: Claim) -> str:
    kind, sign = BADGES[claim.verdict]
    badge = f'<span class="badge {kind}"><span aria-hidden="true">{sign}</span>{escape(claim.verdict)}</span>'
    return (
        f'<tr id="claim-{k + 1}"><td class="statement">{escape(claim.statement)}</td>'
        f'<td class="place" data-name="Where">{escape(claim.place)}</td>'
        f'<td class="measured" data-name="Measured">{escape(claim.measured)}</td>'
        f'<td class="verdict">{badge}</td><td data-name="Why">{escape(claim.reason)}</td></tr>'
    )


def _figures(pictures: Sequence[Picture]) -> str:
    places = iter(range(sum(len(picture.panels) for picture in pictures)))
    return "\n".join(
        f'<article class="figure" id="figure-{k + 1}">\n<h3>{escape(picture.title)}</h3>\n'
        f'<p class="caption">{escape(picture.caption)}</p>\n'
        + "\n".join(_panel(panel, next(places)) for panel in picture.panels)
        + f"\n{_facts(picture.settings)}\n</article>"
        for k, picture in enumerate(pictures)
    )


def _panel(panel: Panel, place: int) -> str:
    return (
        f'<div class="panel"><h4>{escape(panel.title)}</h4><div class="chart" id="chart-{place}"></div>'
        f'<details class="ends"><summary>Where every curve ends, in numbers</summary>{_ends(panel)}</details></div>'
    )


def _ends(panel: Panel) -> str:
    """What can be read off the charts, for those who cannot see them."""
    names = ("calls", "seconds", "error at the end")
    heads = f'<th scope="col">method</th><th scope="col">{escape(panel.symbol)}</th>'
    heads += "".join(f'<th scope="col" class="right">{name}</th>' for name in names)
    rows = "".join(_end(line) for line in panel.lines)
    return (
        f'<div class="scroll"><table class="numbers"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _end(line: Line) -> str:
    ends = [f"{series[-1]:,.4g}" if len(series) else "–" for series in (line.seconds.x, line.calls.median)]
    calls = f"{line.calls.x[-1]:,.0f}" if len(line.calls.x) else "–"
    cells = "".join(f"<td>{text}</td>" for text in (calls, *ends))
    return f'<tr><th scope="row">{escape(line.method)}</th><th scope="row">{line.value:.6g}</th>{cells}</tr>'


def _notes(notes: Sequence[tuple[str, str]]) -> str:
    if not notes:
        return ""
    parts = "\n".join(
        f'<article class="note"><h3>{escape(title)}</h3><p>{escape(text)}</p></article>' for title, text in notes
    )
    return f'<section id="notes">\n<h2>Errata</h2>\n{parts}\n</section>'


def _facts(pairs: Iterable[tuple[str, str]]) -> str:
    parts = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in pairs)
    return f'<dl class="facts">{parts}</dl>' if parts else ""
