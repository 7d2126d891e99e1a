"""Compile the fused oracle into this source tree: ``python -m gnpolyak.problem.oracles.native``."""

from __future__ import annotations

import sys

from gnpolyak.problem.oracles.native.build import HERE, NOTE, build

if __name__ == "__main__":
    sys.exit(0 if build() else (HERE / NOTE).read_text(encoding="utf-8"))
