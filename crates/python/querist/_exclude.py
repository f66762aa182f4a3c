"""Rows to exclude from draws: ids in an array, a table, a file or an earlier draw."""

from __future__ import annotations

import csv
import json
import os
from typing import Any

import numpy as np

from querist._arrays import arrow_column, tables_collected, to_numpy

__all__ = ["exclusions", "id_texts"]


def exclusions(exclude: Any, column: str | None = None) -> np.ndarray:
    """Returns the ids, indices or mask in an argument ``exclude``, as an array of one dimension.

    Tables and files hold them in the column ``column``, by default ``id``, or in their only column.
    """
    if exclude is None:
        return np.empty(0, np.int64)
    if isinstance(exclude, (str, os.PathLike)):
        found = _of_file(os.fspath(exclude), column)
    elif hasattr(exclude, "id") and hasattr(exclude, "inclusion"):
        found = np.asarray(exclude.id)
    elif hasattr(exclude, "rows") and hasattr(exclude, "probabilities"):
        found = np.asarray(exclude.rows)
    elif isinstance(exclude, (set, frozenset, range)):
        found = np.asarray(list(exclude))
    else:
        found = _of_table(exclude, column)
    if found.ndim != 1:
        raise ValueError(f"exclude: need one dimension, not {found.ndim}")
    return found


def id_texts(exclude: Any, column: str | None = None) -> list[str]:
    """Returns the texts of excluded ids."""
    found = exclusions(exclude, column)
    if found.dtype == bool:
        raise TypeError("exclude: need ids, not a mask")
    if found.dtype.kind == "f":
        if not (found == np.floor(found)).all():
            raise TypeError("exclude: need ids, not fractions or missing values")
        found = found.astype(np.int64)
    if found.dtype.kind not in "iuUO":
        raise TypeError(f"exclude: need integers or strings, not dtype {found.dtype}")
    if found.dtype.kind == "O" and not all(isinstance(one, (str, int, np.integer)) for one in found):
        raise TypeError("exclude: need integers or strings")
    return [str(one) for one in found.tolist()]


def _of_table(table: Any, column: str | None) -> np.ndarray:
    table = tables_collected(table)
    names = getattr(table, "columns", None) if hasattr(table, "shape") or hasattr(table, "height") else None
    is_arrow = hasattr(table, "column_names")
    if is_arrow:
        names = table.column_names
    if names is None or getattr(table, "ndim", 2) == 1:
        return np.asarray(to_numpy(table))
    listed = [str(name) for name in (names if not is_arrow else table.column_names)]
    chosen = _column(listed, column, "the table")
    if is_arrow:
        return arrow_column(table.column(listed.index(chosen)))
    return np.asarray(to_numpy(table[chosen] if chosen in list(names) else table[table.columns[listed.index(chosen)]]))


def _column(names: list[str], column: str | None, where: str) -> str:
    for wanted in [column] if column is not None else ["id", "row"]:
        if wanted in names:
            return wanted
    if column is None and len(names) == 1:
        return names[0]
    wanted = repr(column) if column is not None else "'id'"
    raise ValueError(f"exclude: {where} has no column {wanted} among {', '.join(names)}")


def _of_file(path: str, column: str | None) -> np.ndarray:
    if not os.path.exists(path):
        raise FileNotFoundError(f"exclude: there is no file {path!r}")
    ending = os.path.splitext(path)[1].lower()
    if ending == ".npy":
        return np.asarray(np.load(path, allow_pickle=False))
    if ending in (".parquet", ".arrow", ".feather"):
        try:
            import pyarrow.dataset
        except ImportError:
            raise TypeError(f"exclude: {path!r} needs pyarrow; install it, or pass the ids") from None
        kind = "parquet" if ending == ".parquet" else "ipc"
        return _of_table(pyarrow.dataset.dataset(path, format=kind).to_table(), column)
    if ending == ".csv":
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            chosen = _column(list(reader.fieldnames or []), column, path)
            return np.asarray([row[chosen] for row in reader], dtype=object)
    if ending in (".jsonl", ".ndjson"):
        with open(path, encoding="utf-8") as file:
            found = [json.loads(line) for line in file if line.strip()]
        if all(isinstance(one, dict) for one in found) and found:
            chosen = _column(list(found[0]), column, path)
            found = [one[chosen] for one in found]
        return np.asarray(found, dtype=object)
    if ending == ".txt":
        with open(path, encoding="utf-8") as file:
            return np.asarray([line.rstrip("\r\n") for line in file if line.strip()], dtype=object)
    raise ValueError(f"exclude: {path!r}, need a file of ids that ends in .csv, .jsonl, .parquet, .arrow, .npy or .txt")
