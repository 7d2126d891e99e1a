"""The group of all commands, and the one-line message where the packages they need are missing."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Any

try:
    import click
    import matplotlib  # noqa: F401  # asked for here, so that the demo does not fail after its work
    import rich  # noqa: F401  # the same
except ImportError as error:
    sys.exit(f"The command line needs {error.name}: pip install 'gnpolyak[cli]'")

import gnpolyak as gnp
from gnpolyak.base import memory
from gnpolyak.base.interrupts import uncaught
from gnpolyak.cli import cache, ending, fitting, terminal
from gnpolyak.cli.bench import bench
from gnpolyak.cli.check import check
from gnpolyak.cli.demo import demo
from gnpolyak.cli.info import info
from gnpolyak.cli.reproduce import reproduce
from gnpolyak.cli.run import run
from gnpolyak.cli.solve.command import solve

# Those that tell what they have when they are interrupted; what the others have is not worth telling.
_TELL = {"run", "solve"}
# Their times must not depend on what was compiled before.
_UNCACHED = {"bench"}
_OWN_PROCESS = object()
_NO_CACHE_HELP = "Neither use nor keep compiled programs; GNPOLYAK_CACHE=off says the same."


class _Commands(click.Group):
    """All commands, and what they do when they are asked to end or cannot write."""

    context_class = fitting.Fitting

    def __call__(self, *args: Any, **extra: Any) -> Any:
        """The command line of a process that has no other purpose."""
        ending.watch()
        return self.main(*args, obj=_OWN_PROCESS, **extra)

    def main(self, *args: Any, **extra: Any) -> Any:
        terminal.prepare()
        ending.begin()
        return super().main(*args, **(fitting.width() | extra))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            ending.leave()
        except OSError as error:
            terminal.fail(error)
        except MemoryError as error:
            # What a solve takes beside its data is not foretold.
            left = memory.in_words(memory.available())
            raise click.ClickException(f"Memory ran out ({left} are left): {error}. Take a smaller problem.") from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--no-cache", is_flag=True, help=_NO_CACHE_HELP)
@click.version_option(gnp.__version__, prog_name="gnpolyak")
@click.pass_context
def main(ctx: click.Context, no_cache: bool) -> None:
    """Minimise sharp, nonsmooth, ill-conditioned h(c(x)) with the Gauss–Newton–Polyak method.

    \b
    Start here:
      gnpolyak demo               three methods as the conditioning worsens
      gnpolyak run --kappa 100    one solve, with its figures
      gnpolyak run --p-fail 0.2 --start data    outliers, from the data alone
      gnpolyak run robust_pca --start data      another problem class
      gnpolyak solve data.csv     a file of your own: rank and outliers found
      gnpolyak reproduce          the paper's figures, and which claims hold
      gnpolyak check              the paper's assumptions, beside a run
      gnpolyak bench              this library and its peers, side by side
      gnpolyak info               versions, devices, and the oracle in use
    """
    ctx.with_resource(nullcontext() if ctx.invoked_subcommand in _TELL else uncaught())
    if ctx.obj is _OWN_PROCESS and not no_cache and ctx.invoked_subcommand not in _UNCACHED:
        cache.enable()


for command in (demo, run, solve, reproduce, check, bench, info):
    command.context_class = fitting.Fitting
    main.add_command(command)


if __name__ == "__main__":
    main()
