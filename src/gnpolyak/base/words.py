"""Numbers in sentences."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """A number and its noun, such as ``1 call`` and ``1,200 calls``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
