"""Tables that are open: rows of the library and of its users under one roof."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Row = TypeVar("Row")


class Table(dict[Any, Row]):
    """Rows under keys, to which anybody may add.

    A dictionary with a decorator: ``@table.register(key)`` above a class or a function makes it a row. A key of
    several parts is given as several arguments, and kept as a tuple. The last row registered under a key is the one
    that counts, so that a notebook's cell may run twice.

    Parameters
    ----------
    name : str
        What the rows are, in the plural.
    classes
        First rows, under their own names.
    """

    def __init__(self, name: str, *classes: Any) -> None:
        super().__init__({each.__name__: each for each in classes})
        self.name = name

    def register(self, *key: Hashable) -> Callable[[Row], Row]:
        """A decorator that makes its object the row under `key`, and returns the object."""

        def add(row: Row) -> Row:
            self[key[0] if len(key) == 1 else key] = row
            return row

        return add

    def __repr__(self) -> str:
        lines = [f"  {_word(key)}: {_word(row)}" for key, row in self.items()]
        return "\n".join([f"{len(self)} {self.name}", *lines])


def _word(entry: Any) -> str:
    if isinstance(entry, tuple):
        return ", ".join(map(_word, entry))
    return entry if isinstance(entry, str) else getattr(entry, "__name__", type(entry).__name__)
