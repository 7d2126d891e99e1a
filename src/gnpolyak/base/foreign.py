"""Arrays of other libraries: torch tensors by DLPack, pandas tables by their labels; neither is imported here.

Whoever hands one over has imported its library. What is not loaded need not be looked for, so that `import gnpolyak`
stays as quick as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from gnpolyak.base.errors import InputError
from gnpolyak.base.numbers import counted
from gnpolyak.base.trees import Tree


def is_torch(value: Any) -> bool:
    """Tell whether the value is a torch tensor."""
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    return tensor is not None and isinstance(value, tensor)


def is_pandas(value: Any) -> bool:
    """Tell whether the value is a pandas Series or DataFrame."""
    pandas = sys.modules.get("pandas")
    return hasattr(pandas, "DataFrame") and isinstance(value, (pandas.Series, pandas.DataFrame))  # type: ignore[union-attr]


def on_accelerator(value: Any) -> bool:
    """Tell whether the value is a tensor that NumPy cannot read where it is."""
    return is_torch(value) and value.device.type != "cpu"


def plain(value: Any, name: str) -> Any:
    """The value as a NumPy or JAX array where it is a tensor or a table, else as it is.

    Raises
    ------
    InputError
        For a tensor that carries gradients, is sparse, of a precision that NumPy has no name for, or on a device that
        JAX does not see; for a table with missing values or with columns that are no numbers.
    """
    if is_torch(value):
        return _of_tensor(value, name)
    return _of_table(value, name) if is_pandas(value) else value


def like(given: Tree, tree: Tree) -> Tree:
    """The arrays of `tree` as what stands in their places in `given`: tensors, labelled tables, or as they are."""
    templates, (leaves, structure) = jax.tree.leaves(given), jax.tree.flatten(tree)
    if len(templates) != len(leaves):
        # A list of numbers was one array.
        return tree
    return jax.tree.unflatten(structure, [_like(a, b) for a, b in zip(templates, leaves, strict=True)])


def shown_like(given: Tree, callback: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    """The callback, which is shown a result's x as `like` makes it."""
    if callback is None or not any(is_torch(leaf) or is_pandas(leaf) for leaf in jax.tree.leaves(given)):
        return callback
    return lambda res: callback(replace(res, x=like(given, res.x)))


def _like(template: Any, leaf: Any) -> Any:
    if is_torch(template):
        torch = sys.modules["torch"]
        return torch.from_dlpack(leaf if on_accelerator(template) else np.array(leaf))
    if is_pandas(template) and template.shape == np.shape(leaf):
        names = {"columns": template.columns} if template.ndim == 2 else {"name": template.name}
        return type(template)(np.array(leaf), index=template.index, **names)
    return leaf


def _of_tensor(tensor: Any, name: str) -> Any:
    _require_detached(tensor, name)
    if tensor.layout is not sys.modules["torch"].strided:
        raise InputError(
            given=f"{name} as a torch tensor of layout {tensor.layout}",
            needed="a dense tensor",
            missing="the entries in their places",
            advice=f"pass {name}.to_dense(); for LinearSensing, a scipy.sparse matrix stays sparse",
        )
    if str(tensor.dtype) in {"torch.bfloat16", "torch.float16", "torch.complex32"}:
        raise InputError(
            given=f"{name} with dtype {tensor.dtype}",
            needed="float32 or float64",
            missing="a precision that the linear algebra is done in",
            advice=f"pass {name}.double(), or {name}.float()",
        )
    tensor = tensor.resolve_conj().resolve_neg()
    if not on_accelerator(tensor):
        return np.from_dlpack(tensor)
    try:
        with jax.enable_x64(True):
            return jax.dlpack.from_dlpack(tensor.contiguous())
    except Exception as error:
        raise InputError(
            given=f"{name} on the device {tensor.device}",
            needed="memory that JAX can read",
            missing=f"that device: JAX sees {', '.join(map(str, jax.devices()))}",
            advice=f"pass {name}.cpu(), or install JAX for that device",
        ) from error


def _require_detached(tensor: Any, name: str) -> None:
    # To take the numbers alone would cut the user's graph without a word.
    if tensor.requires_grad:
        raise InputError(
            given=f"{name} as a torch tensor that requires a gradient",
            needed="numbers alone",
            missing="a derivative of the solution: none is handed back through a solve",
            advice=f"pass {name}.detach()",
        )


def _of_table(table: Any, name: str) -> np.ndarray:
    columns = [table.iloc[:, i] for i in range(table.shape[1])] if table.ndim == 2 else [table]
    types = [_number_type(column.dtype) for column in columns]
    strange = [
        f"{column.name!r} ({column.dtype})" for column, known in zip(columns, types, strict=True) if known is None
    ]
    if strange:
        raise InputError(
            given=f"{name} as a {type(table).__name__} whose {'columns' if table.ndim == 2 else 'values'} "
            f"{', '.join(strange[:5])}{' and more' if len(strange) > 5 else ''} are no numbers",
            needed="columns of numbers",
            missing="a numeric dtype",
            advice="drop those columns, encode them, or look at what pandas.to_numeric says of them",
        )
    if all(isinstance(column.dtype, np.dtype) for column in columns):
        return table.to_numpy()
    hidden = sum(int(column.isna().sum()) for column in columns)
    if hidden:
        raise InputError(
            given=f"{name} as a {type(table).__name__} with {counted(hidden, 'missing value')}",
            needed="a number in each entry",
            missing="those values",
            advice=f"drop them, {name}.dropna(); or measure only what was seen: sensing=Entries({name}.notna())",
        )
    dtype = np.result_type(*(known for known in types if known is not None))
    arrays = [column.to_numpy(dtype=dtype) for column in columns]
    return np.stack(arrays, axis=1) if table.ndim == 2 else arrays[0]


def _number_type(dtype: Any) -> np.dtype | None:
    """The NumPy type of a column's numbers, whichever way pandas stores them; None where they are none."""
    known = dtype if isinstance(dtype, np.dtype) else getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", None))
    return known if isinstance(known, np.dtype) and known.kind in "biufc" else None
