"""``python -m gnpolyak.bench``: the benchmark without the command line's extra."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gnpolyak.bench.runner import run_suite
from gnpolyak.bench.specs import SUITES


def main() -> None:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(prog="python -m gnpolyak.bench", description="Measure gnpolyak and its peers.")
    parser.add_argument("--suite", choices=list(SUITES), default="quick")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--figure", type=Path, help="draw the iterations' times into this file (needs matplotlib)")
    chosen = parser.parse_args()
    run_suite(chosen.suite, chosen.json, chosen.figure, _say)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    # A suite takes minutes, and may be read through a pipe.
    sys.stdout.flush()


if __name__ == "__main__":
    main()
