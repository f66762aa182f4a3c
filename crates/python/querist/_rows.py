"""Conversion of rows in any common form for the extension, without copying the pool or making it dense."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from querist._arrays import tables_collected, to_numpy

__all__ = ["Rows", "joined", "rows"]


class Rows(NamedTuple):
    """Rows in the form that the extension reads."""

    made: tuple[Any, ...]
    """``("matrix", array)``, ``("columns", rows, chunks of columns)`` or ``("csr", indptr, indices, values, features)``."""
    length: int
    features: int
    names: np.ndarray | None
    """The names of the features, or ``None`` without names."""


def rows(X: Any, name: str = "X", *, least: int = 1) -> Rows:
    """Converts rows of features from numpy, scipy, pandas, polars, pyarrow, tensors, or anything numpy understands.

    A column of lists of one length gives a feature for each element, and a column of categories one for each category.
    """
    made = _read(X, name)
    if made.features < 1:
        raise ValueError(f"{name}: found 0 feature(s) (shape=({made.length}, 0)) while a minimum of 1 is required.")
    if made.length < least:
        raise ValueError(
            f"{name}: found array with {made.length} sample(s) (shape=({made.length}, {made.features})) "
            f"while a minimum of {least} is required."
        )
    return made


def _read(X: Any, name: str) -> Rows:
    if X is None:
        raise ValueError(f"{name}: is None, need an array of two dimensions")
    X = tables_collected(X)
    library = type(X).__module__.partition(".")[0]
    if hasattr(X, "tocsr"):
        return _sparse(X, name)
    if library == "pandas" and hasattr(X, "iloc") and getattr(X, "ndim", 0) == 2:
        return _pandas(X, name)
    if library == "polars":
        return _polars(X, name)
    if library == "pyarrow":
        return _arrow(X, name)
    if isinstance(X, np.matrix):
        raise TypeError(f"{name}: np.matrix is not supported; convert to a numpy array with np.asarray")
    return _matrix(X, name)


def _matrix(X: Any, name: str) -> Rows:
    if isinstance(X, np.ma.MaskedArray):
        if np.ma.getmaskarray(X).any():
            raise ValueError(f"{name}: has masked values; fill them first")
        X = X.data
    try:
        array = np.asarray(X if isinstance(X, (np.ndarray, list, tuple)) else to_numpy(X))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if array.ndim != 2:
        raise ValueError(
            f"{name}: expected 2D array, got {array.ndim}D array instead (shape={array.shape}). Reshape your data either "
            "using array.reshape(-1, 1) if it has a single feature or array.reshape(1, -1) if it contains a single sample."
        )
    array = _real(array, name)
    return Rows(("matrix", array), array.shape[0], array.shape[1], None)


def _real(array: np.ndarray, name: str) -> np.ndarray:
    """Returns an array that the extension can read in place; a copy only if numpy itself would need one."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "c":
        raise ValueError(f"{name}: Complex data not supported")
    if kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name}: {error}") from None
    elif kind not in "biuf":
        raise (ValueError if kind in "US" else TypeError)(f"{name}: need real numbers, not dtype {array.dtype}")
    elif kind == "f" and size not in (4, 8):
        array = array.astype(np.float32 if size < 4 else np.float64)
    elif not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    whole_steps = all(stride % array.dtype.itemsize == 0 for stride in array.strides)
    # Fields of records may be unaligned in memory.
    return array if array.flags.aligned and whole_steps else array.copy()


def _sparse(X: Any, name: str) -> Rows:
    if getattr(X, "ndim", 2) != 2:
        raise ValueError(f"{name}: expected 2D array, got a sparse array of {X.ndim} dimensions")
    X = X if getattr(X, "format", None) == "csr" else X.tocsr()
    values = _real(np.asarray(X.data), name)
    indices = np.ascontiguousarray(X.indices)
    if indices.dtype not in (np.dtype(np.int32), np.dtype(np.int64)):
        indices = indices.astype(np.int64)
    if X.shape[1] > np.iinfo(np.uint32).max:
        raise ValueError(f"{name}: has {X.shape[1]} features, more than 2**32 - 1")
    ends = np.ascontiguousarray(X.indptr, dtype=np.int64)
    return Rows(("csr", ends, indices, values, int(X.shape[1])), int(X.shape[0]), int(X.shape[1]), None)


def _pandas(X: Any, name: str) -> Rows:
    columns: list[list[np.ndarray]] = []
    titles: list[Any] = []
    for index in range(X.shape[1]):
        column, title = X.iloc[:, index], X.columns[index]
        label = f"{name}, column {title!r}"
        if hasattr(column, "cat"):
            one_hot, found = _categories(column, label)
            columns.extend([part] for part in one_hot)
            titles.extend([title] if found is None else [f"{title}={one}" for one in found])
            continue
        titles.append(title)
        if isinstance(column.dtype, np.dtype):
            columns.append([_real(column.to_numpy(), label)])
        elif getattr(column.dtype, "kind", "O") in "biuf":
            columns.append([_real(column.to_numpy(dtype=np.float32, na_value=np.nan), label)])
        else:
            raise ValueError(f"{label}: need real numbers, not dtype {column.dtype}")
    return Rows(("columns", len(X), columns), len(X), len(columns), _names(titles))


def _categories(column: Any, label: str) -> tuple[list[np.ndarray], list[Any] | None]:
    """Returns a column of numbers, or a column of 0 and 1 for each category and the categories."""
    codes, categories = np.asarray(column.cat.codes), column.cat.categories
    if (codes < 0).any():
        raise ValueError(f"{label}: contains NaN, a row without a category, in row {int((codes < 0).argmax())}")
    values = np.asarray(categories)
    if values.dtype.kind in "biuf":
        return [_real(values[codes], label)], None
    return [(codes == code).astype(np.float32) for code in range(len(values))], list(categories)


def _vectors(values: np.ndarray, length: int, label: str) -> np.ndarray:
    """Returns the elements of lists, one after the other, as a row for each list."""
    if length == 0 or len(values) % length:
        raise ValueError(f"{label}: need lists of one length")
    return _real(values.reshape(length, -1), label)


def _names(columns: Any) -> np.ndarray | None:
    names = np.asarray(list(columns), dtype=object)
    strings = [isinstance(column, str) for column in names]
    if all(strings):
        return names if len(names) else None
    if any(strings):
        kinds = sorted({type(column).__name__ for column in names})
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your input has "
            f"{kinds} as feature name / column name types. If you want feature names to be stored and validated, you must "
            "convert them all to strings, by using X.columns = X.columns.astype(str) for example. Otherwise you can remove "
            "feature / column names from your input data, or convert them all to a non-string data type."
        )
    return None


def _polars(X: Any, name: str) -> Rows:
    if not hasattr(X, "get_columns"):
        raise TypeError(f"{name}: need a DataFrame of two dimensions, not a polars {type(X).__name__}")
    if any(str(column.dtype).startswith(("Array", "List")) for column in X.get_columns()):
        return _arrow(X.to_arrow(), name)
    columns = []
    for column in X.get_columns():
        label = f"{name}, column {column.name!r}"
        if not (column.dtype.is_numeric() or str(column.dtype) == "Boolean"):
            raise ValueError(f"{label}: need real numbers, not dtype {column.dtype}")
        columns.append([_real(part.to_numpy(), label) for part in column.get_chunks()])
    return Rows(("columns", X.height, columns), X.height, len(columns), _names(X.columns))


def _arrow(X: Any, name: str) -> Rows:
    if not hasattr(X, "column_names"):
        raise TypeError(f"{name}: need a Table or RecordBatch, not a pyarrow {type(X).__name__}")
    columns: list[list[np.ndarray]] = []
    titles: list[str] = []
    for index, title in enumerate(X.column_names):
        label, column = f"{name}, column {title!r}", X.column(index)
        kind = str(column.type)
        parts = column.chunks if hasattr(column, "chunks") else [column]
        if "list<" in kind:
            elements = _elements(parts, label)
            columns.extend([[part[:, j] for part in elements] for j in range(elements[0].shape[1] if elements else 0)])
            titles.extend(f"{title}[{j}]" for j in range(elements[0].shape[1] if elements else 0))
            continue
        if not kind.startswith(("int", "uint", "float", "double", "halffloat", "bool")):
            raise ValueError(f"{label}: need real numbers, not type {kind}")
        titles.append(title)
        columns.append([_real(part.to_numpy(zero_copy_only=False), label) for part in parts])
    return Rows(("columns", X.num_rows, columns), X.num_rows, len(columns), _names(titles))


def _elements(parts: list[Any], label: str) -> list[np.ndarray]:
    """Returns the elements of each chunk of lists, a row for each list."""
    found: list[np.ndarray] = []
    for part in parts:
        if len(part) == 0:
            continue
        if part.null_count:
            raise ValueError(f"{label}: contains NaN, a missing list")
        lengths = part.value_lengths().to_numpy(zero_copy_only=False)
        if (lengths != lengths[0]).any() or (found and found[0].shape[1] != lengths[0]):
            raise ValueError(f"{label}: need lists of one length, not of {lengths.min()} to {lengths.max()}")
        inner = part.flatten()
        if not str(inner.type).startswith(("int", "uint", "float", "double", "halffloat", "bool")):
            raise ValueError(f"{label}: need lists of real numbers, not type {part.type}")
        found.append(_vectors(inner.to_numpy(zero_copy_only=False), len(part), label))
    return found


def joined(before: tuple[Any, ...], after: tuple[Any, ...]) -> tuple[Any, ...]:
    """Appends rows to stored rows."""
    if before[0] != after[0]:
        raise ValueError("X: the rows so far were sparse or dense, and these are of the other kind")
    if before[0] == "matrix":
        return "matrix", np.concatenate([before[1], after[1]])
    _, ends, indices, values, features = before
    return (
        "csr",
        np.concatenate([ends, after[1][1:] + ends[-1]]),
        np.concatenate([indices, after[2]]),
        np.concatenate([values, after[3]]),
        features,
    )
