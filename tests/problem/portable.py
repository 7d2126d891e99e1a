"""Makes parts from NumPy arrays, binds them to NumPy and calls everything; fails if JAX compiled anything meanwhile."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

import gnpolyak as gnp
from conftest import Compilations
from gnpolyak.problem.sensing.isotropy import alike
from problem.test_portable import measurements, numbers

FLOAT = np.dtype(np.float64)


def penalties():
    b = numbers(6, 2)
    yield gnp.L1(b), b + 1
    yield gnp.L1(b, weights=abs(b)), b + 1
    yield gnp.L1(b, weights=np.arange(12.0).reshape(6, 2)), b + 1
    yield gnp.L2(b), b + 1
    yield gnp.L2(b, weights=abs(b)), b + 1
    yield gnp.L21(b), b + 1
    yield gnp.L21(b, groups=np.arange(12).reshape(6, 2) % 3), b + 1
    yield gnp.Pinball(b, 0.3), b + 1
    yield gnp.Amplitude(abs(b)), b + 1j


def use_penalty(penalty, z):
    penalty.check(z.shape)
    penalty = penalty.cast(FLOAT).using(np)
    read, slope, unslope = penalty.read(z)
    slope(z), unslope(read), penalty.value(z), penalty.subgradient(z), penalty.scale()
    if penalty.offers:
        penalty.residuals(z)
    if penalty.rows is not None:
        penalty.rows.unweighted(penalty.rows(penalty.rows.adjoint(penalty.rows(z.ravel()))))


def use_sensing(sensing, c, x):
    sensing.check(x)
    sensing.check_image(c, x)
    sensing = sensing.cast(FLOAT).whitened().using(np)
    c = c.using(np)
    z, pull = sensing.measure(c, x)
    pull(z.real), sensing.push(c, x)(x)
    if sensing.on_images:
        sensing.adjoint(c(x), sensing.apply(c(x)))


def main():
    with Compilations() as seen:
        for case in penalties():
            use_penalty(*case)
        for case in measurements():
            use_sensing(*case)
        # Rows that are far from isotropic, so that there is a root to take.
        steep = numbers(400, 8) * np.logspace(0, 3, 8)
        assert type(gnp.PowerSensing(steep).whitened()) is gnp.problem.sensing.Whitened
        for penalty, _ in penalties():
            penalty.cast(np.dtype(np.float32))
        alike([[gnp.PowerSensing(steep).p]])
    if seen.names:
        sys.exit(f"compiled: {seen.names}")


if __name__ == "__main__":
    main()
