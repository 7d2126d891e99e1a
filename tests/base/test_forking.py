"""A process that was forked after JAX had computed is told so, where it used to wait forever."""

import os
import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

BEFORE = """
import os, numpy as np, jax.numpy as jnp, gnpolyak as gnp
child = os.fork()
problem = gnp.composite(lambda x: x - jnp.arange(3.0), gnp.L1(np.zeros(3)))
assert gnp.minimize(problem, np.ones(3)).success
if child:
    assert os.waitpid(child, 0)[1] == 0
"""


def in_a_fork(work):
    """What the work raises in a forked child, as text; the child does nothing else."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            work()
            told = "nothing"
        except BaseException as error:
            told = f"{type(error).__name__}: {error}"
        os.write(writer, told.encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as file:
        return file.read()


@pytest.mark.filterwarnings("ignore:os.fork")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_solve_in_a_fork_is_refused_and_the_parent_goes_on():
    problem = gnp.composite(lambda x: x - jnp.arange(3.0), gnp.L1(np.zeros(3)))
    assert gnp.minimize(problem, np.ones(3)).success
    works = (
        lambda: gnp.minimize(problem, np.ones(3)),
        lambda: gnp.L1(np.zeros(3)),
        lambda: gnp.diagnostics.check_taylor(problem, np.ones(3)),
    )
    for work in works:
        told = in_a_fork(work)
        assert told.startswith("InputError: Given: a process forked")
        assert "spawn" in told
    assert gnp.minimize(problem, np.zeros(3)).success


@pytest.mark.slow
def test_a_fork_before_anything_is_computed_is_as_good_as_any_process():
    subprocess.run([sys.executable, "-c", BEFORE], check=True, timeout=120)
