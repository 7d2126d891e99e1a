"""The options of a problem class, read off the signature and the numpydoc of its generator."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import click

_LEFT_OUT = {"dtype"}
# What a default of None may be replaced with, by the first word of the annotation.
_ANNOTATED = {"int": int, "float": float, "str": str, "bool": bool}


class Numbers(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Numbers with commas between them, such as 30,30,30: a tuple."""

    name = "NUMBER,..."

    def __init__(self, kind: type) -> None:
        self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        try:
            return tuple(self.kind(part) for part in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r} is not {self.kind.__name__}s with commas between them, such as 30,30,30", param, ctx)


def summary(generator: Callable[..., Any]) -> str:
    """The first line of a generator's docstring."""
    return (inspect.getdoc(generator) or "").partition("\n")[0]


def settings(generator: Callable[..., Any]) -> list[str]:
    """The names of the arguments that the command line offers."""
    return [name for name in inspect.signature(generator).parameters if name not in _LEFT_OUT]


def options(generator: Callable[..., Any]) -> list[click.Parameter]:
    """An option for each argument of a generator."""
    parameters = inspect.signature(generator).parameters
    described = dict(_described(inspect.getdoc(generator) or ""))
    return [_option(parameters[name], described.get(name, "")) for name in settings(generator)]


def _option(parameter: inspect.Parameter, text: str) -> click.Option:
    flag = "--" + parameter.name.replace("_", "-")
    default = parameter.default
    if isinstance(default, bool):
        flag += f"/--no-{flag[2:]}"
    shown: Any = ",".join(map(str, default)) if isinstance(default, tuple) else default is not None
    return click.Option([flag, parameter.name], type=_kind(parameter), default=default, show_default=shown, help=text)


def _kind(parameter: inspect.Parameter) -> Any:
    default = parameter.default
    if isinstance(default, tuple):
        return Numbers(type(default[0]) if default else int)
    if default is None:
        words = re.findall(r"\w+", str(parameter.annotation))
        return next((_ANNOTATED[word] for word in words if word in _ANNOTATED), str)
    return type(default)


def _described(doc: str) -> Iterator[tuple[str, str]]:
    """The names in the section on parameters, each with the first sentence that is said of it."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", doc, re.M | re.S)
    entries = re.findall(r"^(\w[\w, ]*?) ?:[^\n]*\n((?:[ \t]+[^\n]*\n?|\n)+)", section[1] if section else "", re.M)
    for heading, body in entries:
        names = [name.strip() for name in heading.split(",")]
        sentence = re.split(r"(?<=\.)\s", " ".join(body.split()))[0]
        yield from zip(names, _shared(sentence, len(names)), strict=True)


def _shared(sentence: str, count: int) -> list[str]:
    """A sentence for each of several names: "Dimension, rank and order." is a list of three."""
    parts = re.split(r", and |, | and ", sentence.rstrip("."))
    if count == 1 or len(parts) != count:
        return [sentence] * count
    return [part[:1].upper() + part[1:] + "." for part in parts]
