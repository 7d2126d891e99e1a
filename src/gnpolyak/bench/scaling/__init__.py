"""Weak scaling: what a call costs on paper, what it costs measured, and what follows for many hosts."""

from gnpolyak.bench.scaling.measure import alone, together

__all__ = ["alone", "together"]
