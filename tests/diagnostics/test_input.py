"""Input that no diagnostic can use is explained."""

import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak import diagnostics


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: diagnostics.spectrum(gnp.SymmetricCP(2), np.ones((1000, 5))), "1,000,000 × 5,000"),
        (lambda x: diagnostics.spectrum("c", x), "type str"),
        (lambda x: diagnostics.spectrum(gnp.SymmetricCP(2), np.ones(3)), "one matrix X"),
        (lambda x: diagnostics.jacobian_rank(gnp.SymmetricCP(2), x, seed=-1), "seed=-1"),
        (lambda x: diagnostics.sharpness(gnp.SymmetricCP(2), x), "a Composite"),
        (lambda x: diagnostics.sharpness(square(), x, samples=1), "samples=1"),
        (lambda x: diagnostics.sharpness(square(), x, radii=[-0.1]), "radii="),
        (lambda x: diagnostics.sharpness(constant(), x), "not constant"),
        (lambda x: diagnostics.check_adjoint(square(), np.ones(9)), "model of shape"),
        (lambda x: diagnostics.Rate(0.0, 1.0), "mu=0.0"),
        (lambda x: diagnostics.Rate(2.0, 1.0), "mu <= lipschitz"),
        (lambda x: diagnostics.Rate(1.0, 1.0).calls(0.0, 1.0), "distance=0.0"),
        (lambda x: diagnostics.Rate.restarts(1.0, -1.0), "tolerance=-1.0"),
        (lambda x: diagnostics.contraction([]), "shape"),
    ],
)
def test_bad_input_is_explained(call, expected):
    with pytest.raises(gnp.InputError, match="Do: ") as error:
        call(np.ones((4, 2)))
    assert expected in str(error.value)


def square():
    return gnp.composite(lambda x: x**2, gnp.L1(np.ones((4, 2))))


def constant():
    return gnp.composite(lambda x: 0 * x + 1, gnp.L1(np.ones((4, 2))))
