"""From a file to a problem: which class it is of, said or guessed, and an example of each class."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import gnpolyak as gnp
from gnpolyak.base.files import replacing
from gnpolyak.cli.solve.classes import KINDS
from gnpolyak.cli.solve.kinds import Arrays, Built
from gnpolyak.cli.solve.opening import require_room, shown
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
        The problem class, one of `KINDS`. Where it is not given, the file may say it in an array `kind`; else it is
        guessed.

    Raises
    ------
    InputError
        In one line, when the file cannot be read or is not what the class needs.
    """
    content = read(path)
    said = kind or content.kind
    chosen = said or _guessed(content)
    if chosen not in KINDS:
        raise gnp.InputError(
            given=f"kind={ascii(chosen)[:60]}",
            needed=f"one of {', '.join(KINDS)}",
            missing="a known kind",
            advice="leave the kind out to have it guessed",
        )
    entry = KINDS[chosen]
    named = content.named if entry.fits(set(content.named)) else _alone(content, chosen)
    built = entry.build(named)
    require_room(path, built.room, "a solve takes")
    guessed = "" if said else ", a guess that --kind can correct"
    return Understood(chosen, built, f"{shown(path.name)[1:-1]}: {content}; taken for {chosen}{guessed}")


def _guessed(content: Content) -> str:
    """By the names of the arrays where there are some, by the shape and by NaN where there is one without."""
    fitting = [kind for kind, entry in KINDS.items() if entry.fits(set(content.named))]
    alone = content.alone
    if alone is not None and alone.ndim >= 3 and "robust_pca" not in fitting:
        return "tensor_decomposition"
    if fitting and not {"robust_pca", "matrix_completion"} & set(fitting):
        return _of_same_names(fitting, content.named)
    if "rows" in content.named and "matrix_completion" in fitting:
        return "matrix_completion"
    if alone is None or alone.ndim not in {2, 3}:
        raise _unknown(content)
    incomplete = alone.dtype.kind in "fc" and bool(np.isnan(alone).any())
    return "matrix_completion" if incomplete else "robust_pca"


def _of_same_names(fitting: list[str], arrays: Arrays) -> str:
    """The first of the kinds that a file may be of; for too few equations, the one that can do with them."""
    wide = "A" in arrays and arrays["A"].ndim == 2 and arrays["A"].shape[0] < arrays["A"].shape[1]
    return "sparse_recovery" if wide and "sparse_recovery" in fitting else fitting[0]


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
    """Write a small file of a problem class, from its instances; it names the class where its arrays do not tell."""
    arrays = KINDS[kind].example()
    if _guessed(Content(path, next(iter(arrays.values())) if len(arrays) == 1 else None, arrays)) != kind:
        arrays = arrays | {"kind": np.asarray(kind)}
    with replacing(path) as draft, draft.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
