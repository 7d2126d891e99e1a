"""The layers of the design, held by a walk over the imports."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "gnpolyak"

# One layer a folder: each may import from rows above its own, and from itself.
LAYERS = [
    {"base"},
    {"problem"},
    {"oracles"},
    {"steps", "starts"},
    {"solve"},
    {"fit", "instances", "diagnostics", "testing"},
    {"paper", "bench", "estimators"},
    {"cli"},
]
LEVEL = {name: level for level, row in enumerate(LAYERS) for name in row}
# Inside the folders that are the mathematics, the same again: h and c, then A of c, then all of them.
INSIDE = {
    "problem": [
        {"capabilities", "box"},
        {"penalties", "maps"},
        {"sensing"},
        {"oracles"},
        {"streams"},
        {"composite"},
        {"sharding"},
    ],
    "oracles": [
        {"reductions", "programs"},
        {"base"},
        {"parts", "watched"},
        {"model"},
        {"streamed"},
        {"choice"},
    ],
    "steps": [
        {"status", "cut_kernel", "factors"},
        {"linear", "cuts", "targets", "weights"},
        {"metrics", "weighted", "method"},
        {"boxed"},
        {"methods"},
        {"graduated", "least_absolute"},
        {"named", "arguments"},
        {"iteration"},
    ],
}
# These stand on the public face, and on what knows nothing of optimisation.
ON_TOP = {"paper", "bench", "cli", "estimators"}


def modules():
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def place(path):
    return [part.removesuffix(".py") for part in path.relative_to(PACKAGE).parts]


def imported(path):
    """The dotted names, below the package, that a module imports from; [] for the public face."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "gnpolyak":
            parts = node.module.split(".")[1:]
            names = [[*parts, alias.name] for alias in node.names]
            yield from (name if name[0] in LEVEL else [] for name in names)
        elif isinstance(node, ast.Import):
            yield from ([] for alias in node.names if alias.name.split(".")[0] == "gnpolyak")


def level(rows, name):
    return next(place for place, row in enumerate(rows) if name in row)


def violations(*rules):
    """What the rules say of each module, under its path."""
    return [f"{path.relative_to(PACKAGE)}: {said}" for path in modules() for rule in rules for said in rule(path)]


def one_way(path):
    here, *inner = place(path)
    for name in imported(path):
        if not name:
            if here not in ON_TOP:
                yield "only what stands on top uses the public face as a whole"
        elif name[0] != here:
            if LEVEL[name[0]] >= LEVEL[here]:
                yield f"{here} must not import {name[0]}"
        elif here in INSIDE and inner[0] != "__init__" and name[1] != inner[0]:
            rows = INSIDE[here]
            if level(rows, name[1]) >= level(rows, inner[0]):
                yield f"{here}.{inner[0]} must not import {name[1]}"


def on_the_public_face(path):
    here = place(path)[0]
    if here in {"paper", "bench", "estimators"}:
        for name in imported(path):
            if name and name[0] not in {"base", here}:
                yield f"{here} must not import {name[0]}"


def private_names(path):
    for name in imported(path):
        if name and name[-1].startswith("_") and not name[-1].startswith("__"):
            yield f"imports the private {'.'.join(name)}"


def prints(path):
    calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    if any(isinstance(call, ast.Name) and call.id == "print" for call in calls):
        yield "prints"


def test_imports_point_one_way():
    assert violations(one_way) == []


def test_the_top_stands_on_the_public_face():
    assert violations(on_the_public_face) == []


def test_no_module_imports_anothers_private_name():
    assert violations(private_names) == []


def test_library_code_does_not_print():
    assert violations(prints) == []


def test_every_folder_has_a_layer_and_says_what_belongs_there():
    folders = {place(path)[0] for path in modules()}
    assert folders == set(LEVEL)
    for folder in PACKAGE.rglob("*/"):
        if any(folder.glob("*.py")):
            assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text())), folder


@pytest.mark.parametrize("folder", INSIDE)
def test_every_part_of_the_mathematics_has_a_layer(folder):
    parts = {place(path)[1] for path in modules() if place(path)[0] == folder} - {"__init__"}
    assert parts == set.union(*INSIDE[folder])


def test_there_is_one_loop_over_iterates():
    """`step` is called by the two runners, compiled and on the host; the conformance suite takes one."""
    callers = [path for path in modules() if re.search(r"= step\(", path.read_text()) and path.name != "iteration.py"]
    assert {path.name for path in callers if "testing" not in path.parts} == {"compiled.py", "host.py"}


@pytest.mark.parametrize("folder", ["src", "tests", "examples"])
def test_files_can_be_read_in_one_sitting(folder):
    long = {path.name for path in (ROOT / folder).rglob("*.py") if len(path.read_text().splitlines()) > 300}
    assert not long
