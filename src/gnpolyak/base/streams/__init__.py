"""Rows that are not in memory: where they come from, and how they are read in blocks, ahead of their use."""

from gnpolyak.base.streams.rows import Streamed, is_streamed, together

__all__ = ["Streamed", "is_streamed", "together"]
