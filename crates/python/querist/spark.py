"""Pools on a Spark cluster: the kernels of ``querist select`` on the executors, by Arrow batches.

Executors need this package, pyarrow and pandas. A part of a selection is a byte string of at most ``k + 1`` rows. The
driver merges the parts of all partitions; if they may be many or large, the executors merge them into a few before. The
result is bit-identical to that of ``querist.select`` on the same rows: it does not depend on partitions, their order,
retries or lost workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from querist import _querist
from querist._exclude import id_texts
from querist._select import Selection, check_probabilities, model_bytes, selection, selector

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

__all__ = ["ask", "score", "select"]

_SLOTS = 32
"""The number of parts that the executors merge all partitions into if the parts are large; the driver merges these."""

_SMALL_POOL = 1 << 36
"""The size of a pool in bytes up to which it has few partitions."""
_SMALL_K = 1 << 12
"""The largest ``k`` whose parts are small."""


def select(
    df: DataFrame,
    model: object = None,
    k: int = 1,
    *,
    id: str,
    features: str | None = None,
    probabilities: str | None = None,
    rule: str | None = None,
    exclude: object = None,
    seed: int = 0,
) -> Selection:
    """Draws the next ``k`` rows of a DataFrame, like :func:`querist.select`.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The pool. Only the needed columns are read.
    model : path, bytes or ActiveClassifier, optional
        A model file on the driver, its bytes, or a fitted classifier. Not with ``probabilities``.
    k : int
        The number of rows.
    id : str
        The column of ids, integers or strings; they must be unique.
    features : str, optional
        A column of arrays with all features; by default, the columns that the model was trained on.
    probabilities : str, optional
        A column with the probabilities of another model, as in :func:`querist.select`.
    rule, exclude, seed
        As in :func:`querist.select`. ``exclude`` may also be a DataFrame of Spark; its ids are collected.
    """
    if not isinstance(id, str):
        raise TypeError(f"id: need the name of a column, not {type(id).__name__}")
    if hasattr(exclude, "sparkSession"):
        exclude = _ids(exclude, id)
    width = None
    if probabilities is not None:
        check_probabilities(model, features, probabilities)
        features, width = probabilities, _width(df, probabilities)
    data = model_bytes(model) if width is None else None
    settings: tuple[Any, ...] = (data, k, seed, rule, id, features, id_texts(exclude, id), width)
    made = selector(*settings)
    pool = _columns(df, made)
    if made.needs_scale:
        settings = (*settings, made.merge_samples(_merged(pool, settings, "sample")))
        made = selector(*settings)
    return selection(made.finish(_merged(pool, settings, "part")), made, k, seed)


def score(df: DataFrame, model: object, *, features: str | None = None, column: str = "probability") -> DataFrame:
    """Adds a column of probabilities: of the second class of two, or of all classes in an array."""
    from pyspark.sql import types

    data = model_bytes(model)
    made = selector(data, 0, 0, "constant", None, features, [])
    if _querist.probabilities(np.empty((0, made.outputs)), made.loss, made.classes) is None:
        raise ValueError(f"model: the loss {made.loss!r} defines no probabilities")
    kind = types.DoubleType() if made.outputs == 1 else types.ArrayType(types.DoubleType(), False)
    schema = _added(df, [(column, kind)])
    # Ignore a column named `id`, whatever its content.
    names = made.columns([])

    def scored(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        made = selector(data, 0, 0, "constant", None, features, [])
        for batch in batches:
            scores = made.scores(_stream([batch.select(_known(batch, names))]))
            found: Any = _querist.probabilities(scores, made.loss, made.classes)
            # Spark requires the declared schema: doubles, or lists of them.
            made_of = pyarrow.array(found[:, 1] if made.outputs == 1 else list(found))
            yield _with(batch, [(column, made_of)])

    return df.mapInArrow(scored, schema)


def ask(
    df: DataFrame,
    model: object,
    *,
    id: str,
    features: str | None = None,
    rule: str | None = None,
    seed: int = 0,
    column: str = "asked_with",
) -> DataFrame:
    """Returns the rows to query, each decided on its own: kept with probability U, which is stored in the new column.

    The random draw of a row is a function of seed and id. Executors decide independently, and a retry decides the same. It
    works on streams.
    """
    from pyspark.sql import types

    settings: tuple[Any, ...] = (model_bytes(model), 0, seed, rule, id, features, [])
    made = selector(*settings)
    if made.needs_scale:
        raise ValueError(
            f"rule: {made.rule!r} is in units of a pool, and a stream has none; use margin:mu=NUMBER or boundary:reach=NUMBER"
        )
    schema = _added(df, [(column, types.DoubleType())])
    names = made.columns(df.columns)

    def asked(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        made = selector(*settings)
        for batch in batches:
            uncertainty, asks = made.decide(_stream([batch.select(_known(batch, names))]))
            yield _with(batch, [(column, pyarrow.array(uncertainty))]).filter(pyarrow.array(asks))

    return df.mapInArrow(asked, schema)


def _columns(df: DataFrame, made: Any) -> DataFrame:
    """Selects the columns to read."""
    from pyspark.sql.functions import col

    names = made.columns(df.columns)
    for name in names:
        if name not in df.columns:
            raise ValueError(f"df: no column {name!r} among {', '.join(df.columns)}")
    return df.select([col(_quoted(name)) for name in names])


def _ids(df: Any, id: str) -> list[Any]:
    """Collects the ids of a DataFrame, from the column of ids or the first."""
    return [row[0] for row in df.select(_quoted(id if id in df.columns else df.columns[0])).collect()]


def _width(df: DataFrame, column: str) -> int:
    """Returns the number of probabilities in each row of a column, 1 for numbers."""
    from pyspark.sql.functions import col, size

    if column not in df.columns:
        raise ValueError(f"probabilities: no column {column!r} among {', '.join(df.columns)}")
    if df.schema[column].dataType.typeName() != "array":
        return 1
    values = col(_quoted(column))
    first = df.where(values.isNotNull()).select(size(values)).first()
    if first is None:
        raise ValueError(f"probabilities: no row has a value in the column {column!r}")
    return int(first[0])


def _quoted(name: str) -> str:
    """Quotes the name of a column, because dots in names denote struct fields."""
    return "`" + name.replace("`", "``") + "`"


def _merged(pool: DataFrame, settings: tuple[Any, ...], work: str) -> list[bytes]:
    """Returns the parts of all partitions; the executors merge large ones into a few."""

    def parts(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        from pyspark import TaskContext

        made = selector(*settings)
        first = next(batches, None)
        context = TaskContext.get()
        if first is not None:
            part = getattr(made, work)(_stream(_chained(first, batches), first.schema))
            yield _row(context.partitionId() if context else 0, part)

    def merge(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        made = selector(*settings)
        together = made.merge_samples if work == "sample" else made.merge
        merged = None
        for batch in batches:
            for part in batch.column(1):
                merged = together([part.as_py()] if merged is None else [merged, part.as_py()])
        if merged is not None:
            yield _row(0, merged)

    schema = "slot long, part binary"
    # The partition id is the same when a task is retried.
    made = pool.mapInArrow(parts, schema)
    if settings[1] > _SMALL_K or _bytes(pool) > _SMALL_POOL:
        slots = made.selectExpr(f"slot % {_SLOTS} as slot", "part").repartition(_SLOTS, "slot")
        made = slots.mapInArrow(merge, schema)
    found = [bytes(row["part"]) for row in made.collect()]
    return found or ([] if work == "sample" else [selector(*settings).empty()])


def _bytes(pool: DataFrame) -> float:
    """Returns the size of a pool as Spark estimates it from the files, without running anything; infinity if unknown."""
    plan = getattr(pool, "_jdf", None)
    # Spark Connect has no plan on the client.
    return float("inf") if plan is None else float(str(plan.queryExecution().optimizedPlan().stats().sizeInBytes()))


def _chained(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def _stream(batches: Any, schema: Any = None) -> Any:
    import pyarrow

    return pyarrow.RecordBatchReader.from_batches(schema or batches[0].schema, batches)


def _row(slot: int, part: bytes) -> Any:
    import pyarrow

    return pyarrow.RecordBatch.from_arrays(
        [pyarrow.array([slot], pyarrow.int64()), pyarrow.array([part], pyarrow.binary())], ["slot", "part"]
    )


def _known(batch: Any, names: list[str]) -> list[str]:
    missing = [name for name in names if name not in batch.schema.names]
    if missing:
        raise ValueError(f"df: no column {missing[0]!r} among {', '.join(batch.schema.names)}")
    return names


def _with(batch: Any, columns: list[tuple[str, Any]]) -> Any:
    import pyarrow

    arrays = [*batch.columns, *(array for _, array in columns)]
    return pyarrow.RecordBatch.from_arrays(arrays, [*batch.schema.names, *(name for name, _ in columns)])


def _added(df: DataFrame, columns: list[tuple[str, Any]]) -> Any:
    from pyspark.sql import types

    for name, _ in columns:
        if name in df.columns:
            raise ValueError(f"column: the DataFrame has a column {name!r} already")
    return types.StructType([*df.schema.fields, *(types.StructField(name, kind, False) for name, kind in columns)])
