"""Draws from a pool larger than memory."""

from __future__ import annotations

import glob
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from querist import _querist
from querist._arguments import is_integer
from querist._arrays import tables_collected
from querist._exclude import id_texts
from querist._rows import rows

__all__ = ["Selection", "model_bytes", "pool_path", "select", "selection", "selector"]

_AT_ONCE = 1 << 20
"""The smallest number of rows per thread: tables with more rows are read by several threads."""


@dataclass(frozen=True, eq=False)
class Selection:
    """Rows drawn without replacement, in proportion to U, in the order of their draws."""

    id: np.ndarray
    """The ids: integers if all are, otherwise strings."""
    uncertainty: np.ndarray
    """The uncertainty U."""
    key: np.ndarray
    """E/U, with E exponential: the smallest keys are drawn."""
    probability: np.ndarray
    """The probability of each draw given the previous draws: U over the sum of U of the remaining rows."""
    inclusion: np.ndarray
    """The probability of being drawn at all given the other keys: ``(y / inclusion).sum()`` estimates a sum over the pool."""
    rows: int
    """The number of rows of the pool."""
    sum_u: float
    """The sum of U over the pool, exact up to one rounding."""
    threshold: float | None
    """Key ``k + 1``; ``None`` if every row with U > 0 was drawn."""
    k: int
    seed: int
    rule: str

    def __len__(self) -> int:
        return len(self.id)

    @property
    def mean_u(self) -> float:
        """The mean of U over the pool."""
        return self.sum_u / self.rows

    def to_dict(self) -> dict[str, object]:
        """Returns the fields by name, with columns as lists, for JSON."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in found.items()}

    def __repr__(self) -> str:
        return (
            f"Selection({len(self)} of {self.rows} rows, rule={self.rule!r}, seed={self.seed}, "
            f"sum_u={self.sum_u:.6g}, threshold={self.threshold})"
        )


def select(
    pool: object,
    model: object = None,
    k: int = 1,
    *,
    rule: str | None = None,
    id: str | None = None,
    features: str | None = None,
    probabilities: str | None = None,
    exclude: object = None,
    seed: int = 0,
    threads: int | None = None,
) -> Selection:
    """Draws the next ``k`` rows of a pool, bit-identical to ``querist select``.

    Parameters
    ----------
    pool : path, table or array
        A file, a folder or a pattern such as ``"pool/*.parquet"``; or any object with the Arrow stream interface (a pyarrow
        Table or RecordBatchReader, a polars or pandas DataFrame), read in place; or an array of features, whose ids are the
        row indices, from 0.
    model : path, bytes or ActiveClassifier, optional
        A model file, its bytes, or a fitted classifier. Not with ``probabilities``.
    k : int
        The number of rows.
    rule : str, optional
        The rule; by default that of the model.
    id, features : str, optional
        The column of ids, and a column of vectors with all features, if the model does not name them.
    probabilities : str, optional
        A column with the probabilities of another model: lists with one for each class, or numbers, those of the second of two
        classes. They are read in single precision, and the rule is ``"boundary"`` by default.
    exclude : array-like, table, path or Selection, optional
        The ids of rows that are not part of the pool, such as labeled ones. A table or a file (.csv, .jsonl, .parquet) has them
        in the column of ids.
    seed : int
        The seed of the draws.
    threads : int, optional
        The number of threads; the result does not depend on it.

    Examples
    --------
    >>> import numpy as np, querist
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> clf = querist.ActiveClassifier(l2=1.0).fit(X[:50], X[:50, 0] > 0)
    >>> drawn = querist.select(X, clf, 5, rule="entropy", seed=7)
    >>> len(drawn), drawn.rows
    (5, 1000)
    >>> bool(abs(drawn.probability[0] - drawn.uncertainty[0] / drawn.sum_u) < 1e-15)
    True
    """
    if threads is not None and not (is_integer(threads) and 1 <= threads <= 256):
        raise ValueError(f"threads: {threads}, need 1 <= threads <= 256")
    pool = tables_collected(pool)
    width = None
    if probabilities is not None:
        check_probabilities(model, features, probabilities)
        features = probabilities
        if isinstance(pool, (str, os.PathLike)):
            width = _querist.width_of_files(pool_path(pool), probabilities)
        elif _slices(pool, 1) and hasattr(pool, "__arrow_c_stream__"):
            width = _querist.width_of_table(pool, probabilities)
        else:
            raise TypeError("pool: probabilities are in a column of files or of a table; give one of these")
    data = model_bytes(model) if width is None else None
    settings: tuple[Any, ...] = (data, k, seed, rule, id, features, id_texts(exclude, id), width)
    made = selector(*settings)
    if isinstance(pool, (str, os.PathLike)):
        found = made.files(pool_path(pool), threads)
    elif hasattr(pool, "__arrow_c_stream__"):
        found = _from_table(pool, made, settings, threads)
    else:
        given = rows(pool, "pool")
        for name, column in (("id", id), ("features", features)):
            if column is not None:
                raise ValueError(f"{name}: arrays have no columns; give a table, or leave it out")
        found = made.rows(given.made)
    return selection(found, made, k, seed)


def pool_path(pool: Any, name: str = "pool") -> str:
    """Returns the path or the pattern of a pool's files."""
    path = os.fspath(pool)
    if not isinstance(path, str):
        raise TypeError(f"{name}: need a path of str, not of bytes")
    if not os.path.exists(path) and not glob.has_magic(path):
        raise FileNotFoundError(f"{name}: there is no file or folder {path!r}")
    return path


def _from_table(pool: Any, made: _querist.Selector, settings: tuple[Any, ...], threads: int | None) -> _querist._Chosen:
    parts = _slices(pool, threads or os.cpu_count() or 1)
    if made.needs_scale:
        if not parts:
            raise ValueError("pool: this rule reads it twice, which a stream cannot be; give a table, or another rule")
        scale = made.merge_samples(_each(made.sample, parts))
        settings = (*settings, scale)
        made = selector(*settings)
    return made.finish(_each(made.part, parts or [(pool, 0)]))


def _each(work: Any, parts: list[tuple[Any, int]]) -> list[bytes]:
    if len(parts) == 1:
        return [work(*parts[0])]
    with ThreadPoolExecutor(len(parts)) as threads:
        return list(threads.map(lambda part: work(*part), parts))


def _slices(pool: Any, threads: int) -> list[tuple[Any, int]]:
    """Splits a table into parts, each with the number of rows before it; empty for a stream, which can be read only once."""
    count = getattr(pool, "num_rows", None)
    count = getattr(pool, "height", None) if count is None else count
    if count is None and hasattr(pool, "iloc"):
        return [(pool, 0)]
    if count is None:
        return []
    if not hasattr(pool, "slice"):
        return [(pool, 0)]
    step = max(-(-count // threads), _AT_ONCE)
    return [(pool.slice(first, step), first) for first in range(0, max(count, 1), step)]


def check_probabilities(model: Any, features: Any, probabilities: Any) -> None:
    """Checks that a column of probabilities is not combined with a model."""
    if not isinstance(probabilities, str):
        raise TypeError(f"probabilities: need the name of a column, not {type(probabilities).__name__}")
    for name, value in (("model", model), ("features", features)):
        if value is not None:
            raise TypeError(f"{name}: cannot be combined with probabilities, which another model has computed")


def selector(
    model: bytes | None,
    k: Any,
    seed: Any,
    rule: Any,
    id: Any,
    features: Any,
    exclude: list[str],
    width: int | None = None,
    scale: bytes | None = None,
) -> _querist.Selector:
    """Checks the arguments and creates the selector of the extension."""
    for name, value in (("k", k), ("seed", seed)):
        if not is_integer(value):
            raise TypeError(f"{name}: need a whole number, not {type(value).__name__}")
        if not 0 <= value < 2**63:
            raise ValueError(f"{name}: {value}, need 0 <= {name} < 2**63")
    for name, value in (("rule", rule), ("id", id), ("features", features)):
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name}: need a name, not {type(value).__name__}")
    return _querist.Selector(model, int(k), int(seed), rule, id, features, exclude, width, scale)


def model_bytes(model: Any) -> bytes:
    """Returns the bytes of a model file, to pass to executors and threads."""
    if isinstance(model, bytes):
        return model
    if isinstance(model, (str, os.PathLike)):
        with open(model, "rb") as file:
            return file.read()
    if hasattr(model, "to_bytes") and hasattr(model, "predict"):
        return bytes(model.to_bytes())
    raise TypeError(f"model: need a model file, its bytes or an ActiveClassifier, not {type(model).__name__}")


def selection(found: _querist._Chosen, made: _querist.Selector, k: int, seed: int) -> Selection:
    """Converts the extension's result to a ``Selection``."""
    count, sum_u, threshold, ids, uncertainty, key, probability, inclusion = found
    if not isinstance(ids, np.ndarray):
        ids = np.array(ids, dtype=object)
    return Selection(ids, uncertainty, key, probability, inclusion, count, sum_u, threshold, int(k), int(seed), made.rule)
