"""What a figure shows, between the rows it is computed from and the files it is drawn into."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Series:
    """The objective error over the seeds, at the same places for all of them."""

    x: np.ndarray
    """Oracle calls or seconds, increasing and positive."""
    median: np.ndarray
    low: np.ndarray
    """The smallest over the seeds; the same as the median for one seed."""
    high: np.ndarray
    """The largest over the seeds."""


@dataclass(frozen=True)
class Line:
    """One method at one value of the parameter that the panel varies."""

    method: str
    """How the legend calls it, such as "GNP"."""
    value: float
    """The parameter's value, such as κ = 10."""
    seeds: int
    calls: Series
    seconds: Series


@dataclass(frozen=True)
class Panel:
    """The lines of one setting."""

    title: str
    symbol: str
    """What varies from line to line: κ, n, p_fail or r."""
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Picture:
    """One figure of the paper."""

    name: str
    """The word of the command line, such as "conditioning"."""
    title: str
    caption: str
    settings: tuple[tuple[str, str], ...]
    """What was run, as pairs of words for a table."""
    panels: tuple[Panel, ...]
