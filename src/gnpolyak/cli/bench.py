"""``gnpolyak bench``."""

from __future__ import annotations

from pathlib import Path

import click

from gnpolyak.bench.runner import run_suite
from gnpolyak.bench.specs import SUITES
from gnpolyak.cli import options, terminal


@click.command()
@click.option("--suite", type=click.Choice(list(SUITES)), default="quick", show_default=True, help="What to measure.")
@click.option("--json", type=options.OutputFile(), default=None, help="Write the rows to this file.")
@click.option(
    "--figure",
    type=options.OutputFile(options.PICTURES),
    default=None,
    help="Draw the iterations' times into this file.",
)
def bench(suite: str, json: Path | None, figure: Path | None) -> None:
    """Measure the library against its one-read floor, XLA, PyTorch, optax and SciPy.

    Every figure is a median of interleaved repeats, and every ratio is taken round by round in one run. Peers that are
    not installed are skipped with a reason; pip install 'gnpolyak[bench]' brings them. `quick` takes about a minute,
    `full` about ten, `zoo` races every problem class from its data against what else is taken for it, in some minutes,
    `fit` holds curve_fit against SciPy's losses, `latency` measures the import, how soon each problem class and small
    models are answered in fresh processes, and what memory a thousand models take, in a quarter of an hour, `batch`
    holds many small problems at once against a loop, `scaling` measures processes that share a problem beside one
    alone, in about three minutes, `stream` solves 16 GB of rows from the disk (which has to have room for them) in half
    an hour, and `gpu` is for a machine where JAX and PyTorch see a GPU.
    """
    if json is not None and json == figure:
        raise click.UsageError(f"--json and --figure are the same file, {json}: name two")
    run_suite(suite, json, figure, click.echo, terminal.width())
