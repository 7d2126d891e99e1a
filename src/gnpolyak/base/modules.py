"""Modules: frozen dataclasses that JAX sees as pytrees.

`equinox.Module` is the model, with one difference: a method is a plain Python method. Equinox makes a pytree of every
bound method, which takes 25 to 50 µs each time one is looked up. A step on the host looks up dozens of them, and has no
more than some hundred microseconds to spend. To import equinox takes a third of the time that JAX takes.
"""

from __future__ import annotations

import abc
import dataclasses
from typing import Any, ClassVar, Self, dataclass_transform

import jax
import numpy as np


def field(*, static: bool = False, converter: Any = None, **kwargs: Any) -> Any:
    """A field of a module; a static one is part of its structure, and a converter is applied to what it is given."""
    told = {"static": static} | ({} if converter is None else {"converter": converter})
    return dataclasses.field(metadata=told, **kwargs)


class _Meta(abc.ABCMeta):
    """Makes a dataclass and a pytree of every class, and seals every object once it is made."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__call__(*args, **kwargs)
        for name, convert in cls._converters:  # type: ignore[attr-defined]
            made.__dict__[name] = convert(getattr(made, name))
        made.__dict__["_sealed"] = True
        return made


@dataclass_transform(field_specifiers=(dataclasses.field, field))
class Module(metaclass=_Meta):
    """A frozen dataclass whose fields are pytrees; ``field(static=True)`` marks those that are not."""

    _generated_init: ClassVar[bool]
    _converters: ClassVar[list[tuple[str, Any]]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # A class with a constructor of its own keeps it, and so do those that derive from it.
        generated = "__init__" not in cls.__dict__ and getattr(cls, "_generated_init", True)
        cls._generated_init = generated
        dataclasses.dataclass(init=generated, eq=False, repr=False)(cls)
        fields = dataclasses.fields(cls)  # type: ignore[arg-type]
        cls._converters = [(each.name, each.metadata["converter"]) for each in fields if "converter" in each.metadata]
        static = tuple(each.name for each in fields if each.metadata.get("static", False))
        dynamic = tuple(each.name for each in fields if each.name not in static)
        _register(cls, dynamic, static)

    def __setattr__(self, name: str, value: Any) -> None:
        if "_sealed" in self.__dict__:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        self.__dict__[name] = value

    def _with(self, **changes: Any) -> Self:
        """The same module with other values in some fields, which no constructor looks at."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__ | changes)
        return made

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        structure: Any
        (ours, structure), (theirs, other_structure) = jax.tree.flatten(self), jax.tree.flatten(other)
        return bool(structure == other_structure) and all(map(_same, ours, theirs))

    def __hash__(self) -> int:
        return hash(tuple(jax.tree.leaves(self)))

    def __repr__(self) -> str:
        told = (each for each in dataclasses.fields(self) if each.repr)  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(f'{each.name}={_shown(getattr(self, each.name))}' for each in told)})"


def _same(a: Any, b: Any) -> bool:
    arrays = isinstance(a, (jax.Array, np.ndarray)) or isinstance(b, (jax.Array, np.ndarray))
    return bool(np.array_equal(a, b) and a.dtype == b.dtype) if arrays else bool(a == b)


def _shown(value: Any) -> str:
    is_array = isinstance(value, (jax.Array, np.ndarray)) and value.ndim > 0
    return f"{value.dtype}{list(value.shape)}" if is_array else repr(value)


def _register(cls: Any, dynamic: tuple[str, ...], static: tuple[str, ...]) -> None:
    keys = tuple(jax.tree_util.GetAttrKey(name) for name in dynamic)

    def flatten(module: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return tuple([getattr(module, name) for name in dynamic]), tuple([getattr(module, name) for name in static])

    def flatten_with_keys(module: Any) -> tuple[Any, tuple[Any, ...]]:
        leaves, aux = flatten(module)
        return tuple(zip(keys, leaves, strict=True)), aux

    def unflatten(aux: tuple[Any, ...], leaves: Any) -> Any:
        made = object.__new__(cls)
        made.__dict__.update(zip(static, aux, strict=True))
        made.__dict__.update(zip(dynamic, leaves, strict=True))
        made.__dict__["_sealed"] = True
        return made

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
