"""The options by which commands describe one of the paper's instances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

_INSTANCE = (
    click.option("--d", type=int, default=100, show_default=True, help="Dimension."),
    click.option("--r", type=int, default=5, show_default=True, help="Rank."),
    click.option("--n", type=int, default=2, show_default=True, help="Order of the tensor; 2 is a matrix."),
    click.option("--kappa", type=float, default=10.0, show_default=True, help="Condition number of the true factor."),
    click.option("--p-fail", type=float, default=0.0, show_default=True, help="Share of corrupted measurements."),
    click.option("--m", type=int, default=None, help="Measurements.  [default: 8dr for n=2, else 8ndr]"),
    click.option(
        "--radius", type=float, default=0.1, show_default=True, help="Distance of the start from the truth, relative."
    ),
    click.option("--seed", type=int, default=0, show_default=True, help="Seed of the instance."),
)
INSTANCE = ("d", "r", "n", "kappa", "p_fail", "m", "radius", "seed")
"""The names of these options, which are those of `instances.tensor_sensing`."""


def instance(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of an instance."""
    for option in reversed(_INSTANCE):
        command = option(command)
    return command
