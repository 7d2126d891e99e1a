"""The group of all commands, and the one-line message where the packages they need are missing."""

from __future__ import annotations

import io
import sys
from typing import Any

try:
    import click
    import matplotlib  # noqa: F401  # asked for here, so that the demo does not fail after its work
    import rich  # noqa: F401  # the same
except ImportError as error:
    sys.exit(f"The command line needs {error.name}: pip install 'gnpolyak[cli]'")

import gnpolyak as gnp
from gnpolyak.cli.bench import bench
from gnpolyak.cli.check import check
from gnpolyak.cli.demo import demo
from gnpolyak.cli.info import info
from gnpolyak.cli.reproduce import reproduce
from gnpolyak.cli.run import run
from gnpolyak.cli.solve.command import solve


class _Commands(click.Group):
    """All commands; a sign that a terminal cannot show is a question mark, not the end."""

    def main(self, *args: Any, **extra: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")
        return super().main(*args, **extra)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(gnp.__version__, prog_name="gnpolyak")
def main() -> None:
    """Minimise sharp, nonsmooth, ill-conditioned h(c(x)) with the Gauss–Newton–Polyak method.

    \b
    Start here:
      gnpolyak demo                     GNP, ScaledSM and Polyak as the conditioning worsens
      gnpolyak run --kappa 100          one solve, with its figures
      gnpolyak run --p-fail 0.2 --start data --strategy level     outliers, from the data alone
      gnpolyak run robust_pca --start data     another problem class
      gnpolyak solve data.csv           a file of your own: rank, outliers and missing entries found
      gnpolyak reproduce                the paper's figures again, and which of its claims hold
      gnpolyak check                    the paper's assumptions and bounds, beside a run
      gnpolyak bench                    this library and its peers, timed side by side
      gnpolyak info                     versions, devices, and which oracle is in use
    """


for command in (demo, run, solve, reproduce, check, bench, info):
    main.add_command(command)


if __name__ == "__main__":
    main()
