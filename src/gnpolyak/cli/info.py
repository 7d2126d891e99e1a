"""``gnpolyak info``."""

from __future__ import annotations

import json
from collections.abc import Mapping

import click

from gnpolyak import native
from gnpolyak.base import environment


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def info(as_json: bool) -> None:
    """Say which oracle is in use and why, with threads, devices and versions.

    GNPOLYAK_NATIVE=0 switches the compiled oracle off; GNPOLYAK_NUM_THREADS limits its threads.
    """
    report = {
        **native.describe(),
        "devices": environment.devices(),
        "versions": environment.versions(),
    }
    click.echo(json.dumps(report, ensure_ascii=False) if as_json else _text(report))


def _text(report: Mapping[str, object]) -> str:
    def words(value: object) -> str:
        if isinstance(value, dict):
            return ", ".join(f"{name} {version}" for name, version in value.items())
        return ", ".join(value) if isinstance(value, list) else str(value)

    return "\n".join(f"{name:<10}{words(value)}" for name, value in report.items())
