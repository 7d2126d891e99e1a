"""``gnpolyak info``."""

from __future__ import annotations

import json
from collections.abc import Mapping

import click

from gnpolyak import native
from gnpolyak.base import environment
from gnpolyak.cli import cache


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--clear-cache", is_flag=True, help="Remove the compiled programs that were kept, first.")
def info(as_json: bool, clear_cache: bool) -> None:
    """Say which oracle is in use and why, with threads, devices and versions, and where compiled programs are kept.

    GNPOLYAK_NATIVE=0 switches the compiled oracle off; GNPOLYAK_NUM_THREADS limits its threads. GNPOLYAK_CACHE=off
    keeps no compiled programs between two commands, and GNPOLYAK_CACHE=FOLDER keeps them there.
    """
    if clear_cache:
        cache.clear()
    report = {
        **native.describe(),
        "devices": environment.devices(),
        "versions": environment.versions(),
        "cache": cache.describe() if as_json else cache.told(),
    }
    click.echo(json.dumps(report, ensure_ascii=False) if as_json else _text(report))


def _text(report: Mapping[str, object]) -> str:
    def words(value: object) -> str:
        if isinstance(value, dict):
            return ", ".join(f"{name} {version}" for name, version in value.items())
        return ", ".join(value) if isinstance(value, list) else str(value)

    return "\n".join(f"{name:<10}{words(value)}" for name, value in report.items())
