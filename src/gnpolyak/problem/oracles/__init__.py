"""Faster ways to a value and a subgradient than one part of the problem after the other."""
