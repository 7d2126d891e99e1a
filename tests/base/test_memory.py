"""Memory is asked for before it is taken."""

import pytest

import gnpolyak as gnp
from gnpolyak.base import memory
from gnpolyak.instances.base import INSTANCES

# Sizes that no machine holds; quantum_tomography asks for itself.
HUGE = {
    "tensor_sensing": {"d": 10**6},
    "robust_pca": {"d1": 10**8, "d2": 10**8},
    "matrix_completion": {"d1": 10**8, "d2": 10**8},
    "bilinear_sensing": {"d1": 10**7, "d2": 10**7},
    "blind_deconvolution": {"d": 10**7},
    "regression": {"d": 10**7, "m": 10**7},
    "sparse_recovery": {"d": 10**7, "m": 10**7},
    "tensor_decomposition": {"shape": (10**5,) * 3},
    "tucker": {"shape": (10**5,) * 3},
    "phase_retrieval": {"d": 10**7},
    "bundle_adjustment": {"cameras": 10**6, "points": 10**6},
    "synchronisation": {"n": 10**6},
}


def test_every_class_of_instances_asks():
    assert set(HUGE) | {"quantum_tomography"} == set(INSTANCES)


def test_codes_are_asked_for_too():
    with pytest.raises(gnp.InputError, match=r"of memory\. .*number of patterns"):
        gnp.instances.phase_retrieval(d=10**10, transform="fourier")


@pytest.mark.parametrize("name", HUGE)
def test_an_instance_that_cannot_fit_is_refused_at_once(name):
    with pytest.raises(gnp.InputError, match=r"of memory\. Needed: at most the .* that can be had here\. .*smaller"):
        INSTANCES[name](**HUGE[name])


def test_what_is_asked_for_is_what_is_taken():
    """Of the paper's instance, whose rows are by far the most: its own figure is what they take."""
    case = gnp.instances.tensor_sensing(d=50, r=2)
    rows = case.problem.sensing.p.nbytes + case.problem.sensing.q.nbytes
    assert rows == 2 * case.settings["m"] * 50 * 8


def test_bytes_in_words():
    assert [memory.in_words(n) for n in (999, 5_300_000, 10**20)] == [
        "999 bytes",
        "5 MB",
        "more than a thousand terabytes",
    ]


def test_there_is_some_memory():
    assert 2**20 < memory.available() < 2**60
