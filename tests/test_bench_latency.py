"""How soon a small model is answered: the benchmark runs, and what it says of a process that has answered is true."""

from gnpolyak.bench import latency
from gnpolyak.bench.specs import Lambdas


def test_memory_is_told_for_each_kind_of_model():
    rows = latency.memory(Lambdas(count=3))
    assert [row.case for row in rows] == [
        "3 fresh lambdas of one code",
        "3 different models",
        "3 different models and lengths",
    ]
    assert all(row.unit == "MB" and row.median < 100 for row in rows)


def test_a_fresh_lambda_compiles_nothing(compilations):
    latency._solve(77, 1.0, 0)
    with compilations() as seen:
        latency._solve(77, 1.0, 1)
    assert not seen.names
