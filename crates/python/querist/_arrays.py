"""Conversion of arrays of other libraries to numpy, without importing them."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["is_array", "matrix", "to_numpy"]


def to_numpy(values: Any) -> Any:
    """Converts tensors, columns and tables to numpy; returns anything else unchanged.

    Tensors are detached and copied to the CPU. Types without a counterpart in numpy, such as bfloat16, become float32.
    """
    if hasattr(values, "detach") and hasattr(values, "cpu"):
        values = values.detach().cpu()
        if hasattr(values, "is_sparse") and values.is_sparse:
            values = values.to_dense()
        try:
            return values.numpy()
        except TypeError:
            return values.float().numpy()
    library = type(values).__module__.partition(".")[0]
    if library == "cupy":
        return values.get()
    if library in ("pandas", "polars", "pyarrow", "datasets"):
        return _from_columns(values)
    if hasattr(values, "__array__") and not isinstance(values, np.ndarray):
        array = np.asarray(values)
        # The bfloat16 of JAX is not a number to numpy, but it converts.
        return array.astype(np.float32) if array.dtype.kind == "V" and "float" in array.dtype.name else array
    return values


def _from_columns(values: Any) -> Any:
    values = tables_collected(values)
    if hasattr(values, "column_names") and hasattr(values, "num_rows"):
        return stacked([values.column(index) for index in range(len(values.column_names))], arrow_column)
    if hasattr(values, "combine_chunks") or type(values).__module__.startswith("pyarrow"):
        return arrow_column(values)
    if hasattr(values, "get_columns"):
        return stacked(values.get_columns(), lambda column: column.to_numpy())
    if getattr(values, "ndim", 0) == 1 and hasattr(values, "to_numpy"):
        return vectors(values.to_numpy())
    return values.to_numpy() if hasattr(values, "to_numpy") else values


def tables_collected(values: Any) -> Any:
    """Reads a Hugging Face ``Dataset``, a pyarrow ``Dataset`` or a polars ``LazyFrame``; returns anything else unchanged."""
    if not tables_are_lazy(values):
        return values
    if hasattr(values, "with_format"):
        return values.with_format("arrow")[:]
    return values.to_table() if hasattr(values, "scanner") else values.collect()


def tables_are_lazy(values: Any) -> bool:
    """Returns whether a value is a table that is not in memory."""
    pairs = (("with_format", "features"), ("collect_schema", "lazy"), ("to_table", "scanner"))
    return any(hasattr(values, one) and hasattr(values, other) for one, other in pairs) and not hasattr(values, "height")


def stacked(columns: list[Any], convert: Any) -> Any:
    arrays = [convert(column) for column in columns]
    if len(arrays) == 1:
        return arrays[0]
    return np.stack(arrays, axis=1)


def arrow_column(column: Any) -> np.ndarray:
    """Converts an Arrow array to numpy: to two dimensions if it holds lists."""
    column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    if hasattr(column, "num_chunks"):
        # A column without chunks, or with more than one buffer can hold.
        return np.concatenate([arrow_column(chunk) for chunk in column.chunks]) if column.num_chunks else np.empty(0)
    if "list" in str(column.type):
        found = column.flatten().to_numpy(zero_copy_only=False)
        if column.null_count or len(column) == 0 or len(found) % len(column):
            return vectors(column.to_numpy(zero_copy_only=False))
        table = found.reshape(len(column), -1)
        sizes = column.value_lengths().to_numpy(zero_copy_only=False)
        return table if (sizes == table.shape[1]).all() else vectors(column.to_numpy(zero_copy_only=False))
    found = column.to_numpy(zero_copy_only=False)
    return np.asarray(found)


def vectors(values: Any) -> np.ndarray:
    """Stacks an array of equally long vectors."""
    array: np.ndarray = np.asarray(values)
    if array.dtype.kind == "O" and array.ndim == 1 and len(array) and isinstance(array[0], (np.ndarray, list, tuple)):
        stacked_rows: np.ndarray = np.stack([np.asarray(row) for row in array])
        return stacked_rows
    return array


def is_array(values: Any) -> bool:
    """Returns whether a value is an array, a tensor or a table of numbers, and not an estimator."""
    if hasattr(values, "predict_proba") or hasattr(values, "decision_function"):
        return False
    if isinstance(values, (list, tuple, np.ndarray)) or tables_are_lazy(values):
        return True
    return any(
        hasattr(values, name)
        for name in ("__array__", "detach", "__arrow_c_array__", "__arrow_c_stream__", "__dlpack__", "to_numpy")
    )


def matrix(values: Any, name: str) -> np.ndarray:
    """Returns a table of real numbers as float32 or float64, a row for each item; a single dimension becomes a column."""
    try:
        array = np.asarray(to_numpy(values))
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"{name}: need a table of numbers, not dtype object") from None
    if array.dtype.kind not in "biuf" or array.ndim not in (1, 2):
        raise TypeError(f"{name}: need a table of numbers, not dtype {array.dtype} in {array.ndim} dimensions")
    if array.size == 0:
        raise ValueError(f"{name}: has no rows")
    if array.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        small = array.dtype.kind == "f" and array.dtype.itemsize < 4
        array = array.astype(np.float32 if small else np.float64)
    array = array.reshape(len(array), -1)
    return array if array.flags.aligned else array.copy()
