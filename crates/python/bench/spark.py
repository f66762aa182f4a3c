"""`querist.spark.select` on a million rows, compared with `querist.select` of the same file.

    pip install . pyspark pyarrow pandas
    python crates/python/bench/spark.py [REPEATS]

Spark runs in local mode on all cores. Both read the same Parquet file, and Spark is warm after two calls. Every result is
compared id for id.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
from pyspark.sql import SparkSession

import querist
import querist.spark

ROWS, FEATURES = 1_000_000, 20


def pool(folder: Path) -> tuple[Path, Path, querist.ActiveClassifier, querist.ActiveClassifier]:
    """Writes a pool with a column for each feature and one with vectors, and returns models of both."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, FEATURES), dtype=np.float32)
    y = X[:400, 0] + 0.5 * rng.standard_normal(400) > 0
    names = [f"x{j}" for j in range(FEATURES)]
    columns = pyarrow.table({"id": np.arange(ROWS), **{name: X[:, j] for j, name in enumerate(names)}})
    vectors = pyarrow.ListArray.from_arrays(np.arange(0, X.size + 1, FEATURES, dtype=np.int32), X.ravel())
    for name, table in (("columns", columns), ("vectors", pyarrow.table({"id": np.arange(ROWS), "x": vectors}))):
        pyarrow.parquet.write_table(table, folder / f"{name}.parquet", row_group_size=ROWS // 8)
    named = querist.ActiveClassifier(rule="entropy", l2=1.0).fit(columns.select(names).slice(0, 400), y)
    return (
        folder / "columns.parquet",
        folder / "vectors.parquet",
        named,
        querist.ActiveClassifier(rule="entropy", l2=1.0).fit(X[:400], y),
    )


def timed(work: Callable[[], Any], repeats: int) -> tuple[Any, float]:
    """Returns the result and the median time in milliseconds, after two calls that are not counted."""
    found = [work(), work()]
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        found.append(work())
        times.append(1e3 * (time.perf_counter() - started))
    return found[-1], statistics.median(times)


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {"spark.ui.enabled": "false", "spark.driver.memory": "2g", "spark.driver.host": "127.0.0.1"}
    builder = SparkSession.builder.master("local[*]").appName("querist")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        columns, vectors, named, plain = pool(Path(folder))
        print(f"{'median of ' + str(repeats) + ', milliseconds':<40}{'local':>9}{'Spark':>9}{'ratio':>9}", flush=True)
        for title, path, model, features in (("columns", columns, named, None), ("vectors", vectors, plain, "x")):
            df = session.read.parquet(f"file://{path}")
            for rule in ("entropy", "boundary"):
                for k in (10, 1000):
                    arguments: dict[str, Any] = dict(k=k, id="id", features=features, rule=rule, seed=7)
                    here, local = timed(lambda a=arguments, p=path, m=model: querist.select(p, m, **a), repeats)
                    there, cluster = timed(lambda a=arguments, d=df, m=model: querist.spark.select(d, m, **a), repeats)
                    for name in ("id", "uncertainty", "key", "probability", "inclusion"):
                        assert getattr(here, name).tolist() == getattr(there, name).tolist(), name
                    print(f"{f'{title}, {rule}, k={k}':<40}{local:>9.1f}{cluster:>9.1f}{cluster / local:>9.2f}", flush=True)
    session.stop()


if __name__ == "__main__":
    main()
