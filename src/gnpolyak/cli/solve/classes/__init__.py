"""The kinds of files there are: one entry a problem class.

The first kind whose names fit is the one that is guessed: of those that share a file, the commonest comes first.
"""

from gnpolyak.cli.solve.classes import bilinear, geometry, matrices, powers, quantum, tensors, vectors
from gnpolyak.cli.solve.kinds import KINDS

__all__ = ["KINDS", "bilinear", "geometry", "matrices", "powers", "quantum", "tensors", "vectors"]
