"""From a file to a problem: which class it is of, said or guessed, and an example of each class."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import gnpolyak as gnp
from gnpolyak.base.files import replacing
from gnpolyak.cli.solve import classes  # noqa: F401  # fills the table
from gnpolyak.cli.solve.kinds import KINDS, Built
from gnpolyak.cli.solve.reading import Content, read


@dataclass(frozen=True)
class Understood:
    """What a file was taken for."""

    kind: str
    built: Built
    description: str
    """What was read and what it is taken for, in a line."""

    @property
    def problem(self) -> gnp.Composite:
        return self.built.problem


def from_file(path: Path, kind: str | None = None) -> Understood:
    """The problem in a file.

    Parameters
    ----------
    path : Path
        A .npy, .npz, .csv or .parquet file, which is read without being trusted.
    kind : str, optional
        The problem class, one of `KINDS`; guessed where it is not given.

    Raises
    ------
    InputError
        In one line, when the file cannot be read or is not what the class needs.
    """
    content = read(path)
    chosen = _guessed(content) if kind is None else kind
    if chosen not in KINDS:
        raise gnp.InputError(
            given=f"kind={chosen!r}",
            needed=f"one of {', '.join(KINDS)}",
            missing="a known kind",
            advice="leave the kind out to have it guessed",
        )
    entry = KINDS[chosen]
    named = content.named if entry.fits(set(content.named)) else _alone(content, chosen)
    guessed = "" if kind else ", a guess that --kind can correct"
    return Understood(chosen, entry.build(named), f"{path.name}: {content}; taken for {chosen}{guessed}")


def _guessed(content: Content) -> str:
    """By the names of the arrays where there are some, by the shape and by NaN where there is one without."""
    fitting = [kind for kind, entry in KINDS.items() if entry.fits(set(content.named))]
    if content.named and content.alone is None and not fitting:
        raise _unknown(content)
    if fitting and fitting[0] not in {"robust_pca", "matrix_completion"}:
        return fitting[0]
    if "rows" in content.named and "matrix_completion" in fitting:
        return "matrix_completion"
    if content.alone is None or content.alone.ndim != 2:
        raise _unknown(content)
    incomplete = content.alone.dtype.kind in "fc" and bool(np.isnan(content.alone).any())
    return "matrix_completion" if incomplete else "robust_pca"


def _alone(content: Content, kind: str) -> dict[str, np.ndarray]:
    """The one array under the one name that the class needs."""
    single = next((names for names in KINDS[kind].names if len(names) == 1), None)
    if content.alone is None or single is None:
        raise gnp.InputError(
            given=f"a file with {content}",
            needed=f"for {kind}: {KINDS[kind].holds}",
            missing="arrays of these names",
            advice=f"save them by name with numpy.savez; gnpolyak solve --example {kind} writes such a file",
        )
    return {next(iter(single)): content.alone}


def _unknown(content: Content) -> gnp.InputError:
    return gnp.InputError(
        given=f"a file with {content}",
        needed="arrays whose names or shapes say what they are",
        missing="a problem class",
        advice=f"name it with --kind, one of {', '.join(KINDS)}",
    )


def example(kind: str, path: Path) -> None:
    """Write a small file of a problem class, from its instances."""
    arrays = KINDS[kind].example()
    with replacing(path) as draft, draft.open("wb") as file:
        if path.suffix == ".npy" and len(arrays) == 1:
            np.save(file, next(iter(arrays.values())), allow_pickle=False)
        else:
            np.savez(file, allow_pickle=False, **arrays)
