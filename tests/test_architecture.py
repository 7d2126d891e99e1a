"""The layers of the design, held by a walk over the imports."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "gnpolyak"

# Each module may import from rows above its own, and from its own row within one folder.
LAYERS = [
    {"_version", "errors", "trees", "io"},
    {"arrays", "krylov", "plots", "native"},
    {"facts"},
    {"penalties", "maps", "sensing"},
    {"problem"},
    {"starts"},
    {"metrics", "result", "cuts"},
    {"methods", "targets", "outliers"},
    {"iteration", "arguments"},
    {"progress"},
    {"solve"},
    {"instances"},
    {"diagnostics"},
    {"experiments"},
    {"options"},
    {"bench", "check", "info"},
    {"cli"},
]
LEVEL = {name: level for level, row in enumerate(LAYERS) for name in row}
# A measurement is always of a map's image, and the oracle of both together may be fused with the penalty.
ALLOWED = {("sensing", "maps"), ("sensing", "penalties")}


def modules():
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def top(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "gnpolyak":
            parts = node.module.split(".")
            names = [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
            yield from names
        elif isinstance(node, ast.Import):
            yield from ("*" for alias in node.names if alias.name.split(".")[0] == "gnpolyak")


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path):
    here = top(path)
    for name in imported(path):
        if name == "*":
            assert here in {"cli", "bench", "experiments"}, "only what stands on top uses the public face as a whole"
        else:
            lower = LEVEL[name] < LEVEL[here]
            assert lower or name == here or (here, name) in ALLOWED, f"{here} must not import {name}"


def test_every_module_has_a_layer():
    assert {top(path) for path in modules()} == set(LEVEL)


def test_there_is_one_loop_over_iterates():
    """`step` is called in one place of the package: solve.py."""
    callers = [path.name for path in modules() if "step(problem" in path.read_text() and path.name != "iteration.py"]
    assert callers == ["solve.py"]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_library_code_does_not_print(path):
    calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    assert not [call for call in calls if isinstance(call, ast.Name) and call.id == "print"]
