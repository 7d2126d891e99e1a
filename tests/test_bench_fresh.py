"""The first answer of a fresh process: the benchmark runs, and the import stays small beside JAX's."""

import statistics
import subprocess
import sys

import pytest

from gnpolyak.bench import fresh, latency
from gnpolyak.bench.specs import Fresh

# Needed by none of the solves of the README, and slow to load.
LEFT_OUT = ("scipy", "lineax", "matplotlib", "jax.experimental.pallas", "sklearn")
OWN = ("diagnostics", "instances", "testing", "estimators", "paper", "bench")


def test_the_import_leaves_out_what_a_solve_does_not_need():
    code = "import sys, gnpolyak; sys.stdout.write(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {*LEFT_OUT, *(f"gnpolyak.{name}" for name in OWN)} & set(loaded)


def test_modules_that_are_loaded_later_are_listed():
    code = "import gnpolyak as gnp; assert {'instances', *gnp.__all__} <= set(dir(gnp)); gnp.instances.robust_pca"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_import_is_small_beside_that_of_jax():
    fresh.imported("gnpolyak")  # which leaves bytecode
    taken = [(fresh.imported("jax"), fresh.imported("gnpolyak")) for _ in range(3)]
    jax, ours = (statistics.median(each) for each in zip(*taken, strict=True))
    # 0.6 to 0.7 on a quiet machine, half of it equinox; it was 1.1 with all of the above.
    assert ours / jax - 1 < 0.9


@pytest.mark.slow
def test_every_class_and_model_is_measured():
    rows = latency.first(Fresh(rounds=1, small=True, repeats=1))
    assert [row.contestant for row in rows[:2]] == ["jax", "gnpolyak"]
    answers = rows[2:]
    assert {row.measure for row in answers} == {latency.FIRST}
    assert {each.label for each in fresh.CLASSES.values()} < {row.case for row in answers}
    firsts = [row for row in answers if row.contestant == "the first"]
    assert len(firsts) == len(fresh.CLASSES) + 1
    assert all(row.ratio > 1 and row.note.endswith("programs compiled, 1 of 1 solved") for row in firsts)
