"""The passes on NumPy arrays in several threads, and in forked processes: bit for bit what one thread gives."""

import os
import threading
import time
import warnings

import numpy as np
import pytest

from gnpolyak.problem.oracles import native
from gnpolyak.problem.oracles.native import direct
from problem.direct_cases import bilinear_case, entries_case, leaves, power_case, same

pytestmark = pytest.mark.skipif(not direct.available(), reason="no library with functions for NumPy arrays")

# Everything at once, of sizes that are worth more than one thread.
POWER, BILINEAR, ENTRIES = power_case(4000, 60, 5), bilinear_case(3000, 60, 45, 5), entries_case(200, 150, 5, 20000)
SWEEP = direct.numpy_sweep(ENTRIES[0].sweep)


def everything():
    p, q, b, x, z, w = POWER
    slopes = direct.power_forms(p, q, x, 3)[1]
    found = [direct.power_l1(p, q, b, x, 3), slopes, direct.power_product(p, q, slopes, z, w)]
    p, q, b, w, x, z = BILINEAR
    slopes = direct.bilinear_forms(p, q, x)[1]
    found += [direct.bilinear_l1(p, q, b, x), slopes, direct.bilinear_product(p, q, slopes, z, w)]
    _, b, w, x, z = ENTRIES
    found += [direct.entries_l1(SWEEP, b, x), direct.entries_values(SWEEP, x, len(b))]
    return leaves((found, direct.entries_product(SWEEP, x, z, w)))


@pytest.fixture
def expected():
    """With one thread."""
    native.set_num_threads(1)
    alone = everything()
    native.set_num_threads(None)
    yield alone
    native.set_num_threads(None)


@pytest.mark.parametrize("threads", [1, 2, 7, None])
def test_the_number_of_threads_does_not_change_a_bit(threads, expected):
    native.set_num_threads(threads)
    for _ in range(20):
        same(everything(), expected)


def test_several_python_threads_at_once(expected):
    found = [[] for _ in range(6)]

    def work(mine):
        for _ in range(10):
            mine.append(everything())

    workers = [threading.Thread(target=work, args=(mine,)) for mine in found]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=60)
    assert [len(mine) for mine in found] == [10] * 6
    for mine in found:
        for each in mine:
            same(each, expected)


def as_expected(expected):
    return all(np.array_equal(a, b) for a, b in zip(everything(), expected, strict=True))


def exit_code(child, seconds=60):
    """That of a child, which is ended if it takes too long."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return None


def forked(work):
    """The exit code of a child that calls `work`, and says 0 where that is true."""
    with warnings.catch_warnings():
        # JAX and Python warn of forks beside threads; the child calls neither JAX nor the parent's threads.
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        code = 2
        try:
            code = 0 if work() else 1
        finally:
            os._exit(code)
    return exit_code(child)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_in_a_forked_child_and_in_its_child(expected):
    everything()
    assert forked(lambda: as_expected(expected)) == 0
    assert forked(lambda: as_expected(expected) and forked(lambda: as_expected(expected)) == 0) == 0
    assert as_expected(expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forked_while_another_thread_is_in_a_pass(expected):
    stop = threading.Event()

    def work():
        while not stop.is_set():
            everything()

    other = threading.Thread(target=work)
    other.start()
    try:
        assert [forked(lambda: as_expected(expected)) for _ in range(5)] == [0] * 5
    finally:
        stop.set()
        other.join()
