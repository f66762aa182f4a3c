"""Makes the pool of the measurement: N rows of 50 numbers (f32) with ids, Parquet in row groups of 2**20 rows."""

import pathlib
import sys

import numpy
import pyarrow
import pyarrow.parquet

COLUMNS = 50


def batch(first, rows):
    chance = numpy.random.default_rng(first)
    numbers = {f"f{j}": chance.standard_normal(rows, dtype=numpy.float32) for j in range(COLUMNS)}
    return pyarrow.table({"id": numpy.arange(first, first + rows, dtype=numpy.int64), **numbers})


def pool(path, rows, compression):
    group = 1 << 20
    unfinished = pathlib.Path(f"{path}.part")
    writer = None
    for first in range(0, rows, group):
        table = batch(first, min(group, rows - first))
        writer = writer or pyarrow.parquet.ParquetWriter(
            unfinished, table.schema, compression=compression, use_dictionary=False
        )
        writer.write_table(table, row_group_size=group)
    writer.close()
    unfinished.rename(path)


def labelled(path, rows):
    """A small CSV of the same columns with a label, to learn the model from."""
    table = batch(10**12, rows)
    numbers = numpy.stack([table[f"f{j}"].to_numpy() for j in range(COLUMNS)], axis=1)
    weights = numpy.random.default_rng(7).standard_normal(COLUMNS) / 3
    label = numpy.random.default_rng(8).random(rows) < 1 / (1 + numpy.exp(-numbers @ weights))
    with open(path, "w") as out:
        out.write("id," + ",".join(f"f{j}" for j in range(COLUMNS)) + ",label\n")
        for row, (x, y) in enumerate(zip(numbers, label, strict=False)):
            out.write(f"{row}," + ",".join(repr(float(v)) for v in x) + f",{'yes' if y else 'no'}\n")


if __name__ == "__main__":
    folder, rows = pathlib.Path(sys.argv[1]), int(float(sys.argv[2]))
    labelled(folder / "labelled.csv", 20_000)
    pool(folder / "pool.parquet", rows, sys.argv[3] if len(sys.argv) > 3 else "none")
