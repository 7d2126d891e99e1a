"""Run the gallery: its pictures and figures into docs/gallery, and the page docs/gallery.md that shows them.

python examples/gallery/build.py           # every script again, then the page
python examples/gallery/build.py wall      # one script, then the page
python examples/gallery/build.py --page    # the page alone, from the figures that are there
"""

import ast
import importlib.util
import json
import sys
from pathlib import Path

from showing import write

HERE = Path(__file__).parent
DOCS = HERE.parent.parent / "docs"
FIGURES = DOCS / "gallery" / "figures.json"
NAMES = ("photograph", "video", "wall", "qubits", "cameras", "curve")
# The function of every script that the page shows: the whole of its solve.
SOLVE = "fit"
# What of each script the page shows: the whole of the solve.
SOLVES = {
    "photograph": "fit",
    "video": "separate",
    "wall": "restore",
    "qubits": "fit",
    "cameras": "synchronise",
    "curve": "fit",
}

HEAD = """\
# Gallery

Each picture is drawn by a short script, which also runs what people commonly use for the same data. An error is the
distance from the truth, relative to its size. `python examples/gallery/build.py` makes all of this again, and `python
examples/gallery/NAME.py` one picture; both need `pip install '.[cli,examples]'`. The photographs come with
scikit-image. Below each picture is the part of its script that solves.
"""


def load(name):
    spec = importlib.util.spec_from_file_location(f"gallery_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(name, out):
    """The errors of a script's methods, whose picture is written to `out`."""
    script = load(name)
    errors, shown = script.work()
    write(script.draw(errors, shown), out)
    return {method: float(error) for method, error in errors.items()}


def page(figures):
    """The page, from the scripts and their figures alone."""
    return "\n".join([HEAD, *(_entry(name, figures[name]) for name in NAMES)])


def _entry(name, errors):
    source = (HERE / f"{name}.py").read_text()
    title, text = ast.get_docstring(ast.parse(source)).split("\n\n", 1)
    solve = next(part for part in ast.parse(source).body if getattr(part, "name", None) == SOLVE)
    rows = "\n".join(f"| {method} | {error:.1e} |" for method, error in errors.items())
    return f"""\
## {title.rstrip(".")}

![{title}](gallery/{name}.png)

{text}

| | error |
|---|---|
{rows}

```python
{ast.get_source_segment(source, solve)}
```

[examples/gallery/{name}.py](../examples/gallery/{name}.py)
"""


def main():
    wanted = [] if sys.argv[1:] == ["--page"] else sys.argv[1:] or NAMES
    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    for name in wanted:
        figures[name] = run(name, DOCS / "gallery" / f"{name}.png")
        print(name, figures[name])
    FIGURES.write_text(json.dumps({name: figures[name] for name in NAMES if name in figures}, indent=2) + "\n")
    (DOCS / "gallery.md").write_text(page(figures))


if __name__ == "__main__":
    main()
