"""Measure the library against its floor and its peers: specs → run → rows → table, plot, JSON.

``gnpolyak bench``, or ``python -m gnpolyak.bench`` where only the library itself is installed.
"""
