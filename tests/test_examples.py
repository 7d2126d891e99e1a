"""The examples and the code in the documents run as they stand, and show what they say."""

import ast
import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


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


def read(document):
    return (ROOT / document).read_text(encoding="utf-8")


def code_blocks(document, fences="python"):
    return re.findall(rf"```(?:{fences})\n(.*?)```", read(document), flags=re.DOTALL)


def test_the_line_counts_of_the_guide_are_honest():
    """Lines that are not blank, of the classes and functions in the first block under each heading."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for heading, block in re.findall(r"## (Add [^\n]*)\n.*?```python\n(.*?)```", text, flags=re.DOTALL):
        parts = [node for node in ast.parse(block).body if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
        lines = [_lines(block, part) for part in parts]
        claimed = [int(number) for number in re.findall(r"\((\d+)", heading)]
        assert sum(claimed) == sum(lines), heading


def _lines(block, part):
    first = min([part.lineno, *(decorator.lineno for decorator in part.decorator_list)])
    return sum(bool(line.strip()) for line in block.splitlines()[first - 1 : part.end_lineno])


DOCUMENTS = ["README.md", "CONTRIBUTING.md", *(str(path.relative_to(ROOT)) for path in sorted(DOCS.rglob("*.md")))]


@pytest.mark.parametrize("document", [document for document in DOCUMENTS if code_blocks(document)])
def test_code_in_the_documents_runs(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for block in code_blocks(document):
        exec(compile(block, document, "exec"), namespace)


@pytest.mark.slow
@pytest.mark.parametrize("document", [document for document in DOCUMENTS if code_blocks(document, "py")])
def test_code_that_needs_more_than_the_test_tools_runs(document, tmp_path, monkeypatch):
    """Blocks marked ``py`` import what the test tools do not bring; they follow on the others of their document."""
    monkeypatch.chdir(tmp_path)
    namespace = {}
    try:
        for block in code_blocks(document, "python|py"):
            exec(compile(block, document, "exec"), namespace)
    except ImportError as error:
        pytest.skip(f"not installed: {error.name}")


def test_every_block_that_is_python_is_found():
    """A block under another name for the language would not be run."""
    fences = {fence for document in DOCUMENTS for fence in re.findall(r"^ *```(.+)$", read(document), flags=re.M)}
    assert fences <= {"python", "py", "sh", "yaml"}
