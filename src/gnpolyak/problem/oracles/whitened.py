"""The fused oracle of measurements before which a change of variable stands."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gnpolyak.base.namespace import Array
from gnpolyak.problem.maps import Map, SymmetricCP
from gnpolyak.problem.oracles.products import Products
from gnpolyak.problem.oracles.table import KERNELS, Kernel
from gnpolyak.problem.penalties import L1, Penalty, Spread
from gnpolyak.problem.sensing import Whitened


class Behind(Kernel):
    """The kernel of the measurements themselves, at x of y; its subgradient is taken back to y."""

    over_xp: ClassVar[bool] = True

    def serves(self, c: Any, sensing: Any, penalty: Any, x: Array) -> bool:
        own = self._own(c, sensing, penalty)
        return (c.xp is not np or own.runs_on_numpy) and own.serves(c, sensing.rows, penalty, x)

    def evaluate(self, c: Any, sensing: Any, penalty: Any, x: Array) -> tuple[Array, Array]:
        value, g = self._own(c, sensing, penalty).evaluate(c, sensing.rows, penalty, sensing.back(x))
        return value, sensing.back(g)

    def measure(self, c: Any, sensing: Any, penalty: Any, x: Array) -> tuple[Array, Any]:
        return self._own(c, sensing, penalty).measure(c, sensing.rows, penalty, sensing.back(x))

    def linearised(self, c: Any, sensing: Any, penalty: Any, x: Array, kept: Any = None) -> Products:
        own = self._own(c, sensing, penalty).linearised(c, sensing.rows, penalty, sensing.back(x), kept)

        def product(z: Array, w: Array) -> tuple[Array, Array]:
            pushed, pulled = own.product(sensing.back(z), w)
            return pushed, sensing.back(pulled)

        def together(z: Array, w: Array) -> tuple[Array, Array, Array]:
            pushed, pulled, energy = own.weighed(sensing.back(z), w)
            return pushed, sensing.back(pulled), energy

        return Products(lambda z: own.push(sensing.back(z)), lambda v: sensing.back(own.pull(v)), product, together)

    def _own(self, c: Any, sensing: Any, penalty: Any) -> Kernel:
        rows = type(sensing.rows)
        return KERNELS.get((Map, rows, Penalty)) or KERNELS[type(c), rows, type(penalty)]


KERNELS.register(SymmetricCP, Whitened, L1)(Behind())
KERNELS.register(SymmetricCP, Whitened, Spread)(Behind())
