"""Help that fits its terminal: examples are broken where they are too long, and click's least width is not kept to."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterator
from typing import Any

import click

# Below that click writes as if there were more.
_LEAST = 52


class _Formatter(click.HelpFormatter):
    """Breaks the lines of an example, which click leaves as they are, between the command and its comment.

    In a narrow terminal the names of options have a third of it, and longer ones a line of their own.
    """

    def write_dl(self, rows: Any, col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl(rows, min(col_max, self.width // 3), col_spacing)

    def write_text(self, text: str) -> None:
        room = self.width - self.current_indent
        blocks = text.split("\n\n")
        super().write_text("\n\n".join(_broken(block, room) if block.startswith("\b") else block for block in blocks))


class Fitting(click.Context):
    """The context of a command whose help fits."""

    formatter_class = _Formatter


def width() -> dict[str, Any]:
    """What to tell click of a narrow terminal; nothing of any other."""
    columns = shutil.get_terminal_size().columns
    return {"terminal_width": columns} if columns < _LEAST else {}


def _broken(block: str, room: int) -> str:
    return "\n".join(part for line in block.splitlines() for part in _parts(line, room))


def _parts(line: str, room: int) -> Iterator[str]:
    if len(line) <= room:
        yield line
        return
    for depth, part in enumerate(re.split(r"(?<=\S) {2,}(?=\S)", line, maxsplit=1)):
        indent = " " * (len(line) - len(line.lstrip()) + 4 * depth)
        broken = textwrap.TextWrapper(room, indent, f"{indent}  ", break_on_hyphens=False)
        yield from broken.wrap(part.strip())
