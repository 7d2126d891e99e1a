"""A penalty whose oracle goes wrong on demand, on the host, so that each program is compiled once for all faults."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import gnpolyak as gnp

VALUES = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf, "1e300": 1e300}
VECTORS = {
    **{name: (lambda v, number=number: np.full_like(v, number)) for name, number in VALUES.items()},
    "zero": np.zeros_like,
    "negated": np.negative,
    "random": lambda v: np.random.default_rng(v.size).standard_normal(v.shape),
}
FAULTS = [
    *(("value", name) for name in VALUES),
    *((kind, name) for kind in ("subgradient", "residuals") for name in VECTORS),
]


class Host:
    """What the oracle does: which answer goes wrong, how, when, and whether for good."""

    def __init__(self, b):
        self.b = b
        self.be_healthy()

    def be_healthy(self):
        self.fail(None, None, 0, False)

    def fail(self, kind, name, at, lasting):
        """Let the answers of that kind go wrong from the one at this place on, or only there."""
        self.kind, self.name, self.at, self.lasting = kind, name, at, lasting
        self.asked = dict.fromkeys(("value", "subgradient", "residuals"), 0)
        self.best = np.inf

    def answer(self, kind, z):
        r = self.b - z
        right = {"value": lambda: np.abs(r).sum(), "subgradient": lambda: -np.sign(r), "residuals": lambda: r}[kind]()
        if not z.any():
            # Measurements that are all zero are how the data are asked for.
            return right
        place = self.asked[kind]
        self.asked[kind] += 1
        sick = kind == self.kind and (place >= self.at if self.lasting else place == self.at)
        if not sick:
            self._note(kind, right)
            return right
        return np.asarray(VALUES[self.name]) if kind == "value" else VECTORS[self.name](right)

    def _note(self, kind, right):
        """The best value that was told before anything went wrong."""
        if kind == "value" and (self.kind is None or self.asked[self.kind] <= self.at):
            self.best = min(self.best, float(right))


class Faulty(gnp.L1):
    """L1 as its host answers."""

    host: Host = eqx.field(static=True)

    def __init__(self, host):
        super().__init__(host.b)
        self.host = host

    def scale(self):
        return jnp.sum(jnp.abs(self.b))

    def value(self, z):
        return self._ask("value", z, ())

    def subgradient(self, z):
        return self._ask("subgradient", z, z.shape)

    def residuals(self, z):
        return self._ask("residuals", z, z.shape)

    def _ask(self, kind, z, shape):
        # As pairs of halves: JAX calls the host from a thread of its own, where 64-bit numbers are not switched on.
        def answer(halves):
            whole = np.ascontiguousarray(halves).view(np.float64)[..., 0]
            return np.array(self.host.answer(kind, whole), np.float64).reshape(*shape, 1).view(np.uint32)

        told = jax.ShapeDtypeStruct((*shape, 2), jnp.uint32)
        return lax.bitcast_convert_type(
            jax.pure_callback(answer, told, lax.bitcast_convert_type(z, jnp.uint32)), z.dtype
        )
