"""The examples and the code in the documents run as they stand, and show what they say."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", range(2))
def test_outlier_regression_recovers_what_scipy_does_not(seed):
    example = load("outlier_regression")
    t, y = example.make_data(seed)
    assert np.abs(example.fit(t, y).x - example.TRUTH).max() < 1e-8
    assert np.abs(example.fit_with_scipy(t, y).x - example.TRUTH).max() > 1e-2


def test_reparameterisation_is_first_order_for_gnp_alone():
    example = load("reparameterisation")
    gnp_long, gnp_short = example.difference("gnp", 1e-2), example.difference("gnp", 1e-3)
    assert gnp_short < 1e-3
    assert gnp_long / gnp_short == pytest.approx(10, rel=0.1)
    assert example.difference("polyak", 1e-3) > 0.1


@pytest.mark.parametrize("name", [path.stem for path in sorted((ROOT / "examples").glob("*.py"))])
def test_examples_print_their_result(name, capsys):
    load(name).main()
    assert capsys.readouterr().out


def code_blocks(document):
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_code_in_the_documents_runs(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = code_blocks(document)
    assert blocks
    namespace = {}
    for block in blocks:
        exec(compile(block, document, "exec"), namespace)
