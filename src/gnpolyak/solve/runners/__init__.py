"""Two ways to run the steps of a stage: one after the other on the host, or in compiled chunks."""

from gnpolyak.solve.runners.compiled import LONGEST_STEP, CompiledRunner
from gnpolyak.solve.runners.host import HostRunner

Runner = HostRunner | CompiledRunner

__all__ = ["LONGEST_STEP", "CompiledRunner", "HostRunner", "Runner"]
