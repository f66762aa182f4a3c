"""Makes the files beside it: python make.py, with pyarrow 26 and numpy 2.4."""

import datetime
import decimal
import pathlib

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

here = pathlib.Path(__file__).parent
D = decimal.Decimal
day = datetime.date
at = datetime.datetime

columns = {
    "i8": pa.array([-128, 127, None], pa.int8()),
    "i16": pa.array([-32768, 32767, None], pa.int16()),
    "i32": pa.array([-(2**31), 2**31 - 1, None], pa.int32()),
    "i64": pa.array([-(2**63), 2**63 - 1, None], pa.int64()),
    "u8": pa.array([0, 255, None], pa.uint8()),
    "u16": pa.array([0, 65535, None], pa.uint16()),
    "u32": pa.array([0, 2**32 - 1, None], pa.uint32()),
    "u64": pa.array([2**63 - 1, 2**63, None], pa.uint64()),
    "f16": pa.array([np.float16(0.1), np.float16(-65504), None], pa.float16()),
    "f32": pa.array([np.float32(0.1), np.inf, None], pa.float32()),
    "f64": pa.array([0.1, -1e300, None], pa.float64()),
    "flag": pa.array([True, False, None], pa.bool_()),
    "text": pa.array(["", "zwölf", None], pa.utf8()),
    "large": pa.array(["a", "b" * 20, None], pa.large_utf8()),
    "view": pa.array(["short", "longer than twelve bytes", None], pa.string_view()),
    "word": pa.array(["spam", "ham", None]).dictionary_encode(),
    "code": pa.DictionaryArray.from_arrays(pa.array([1, 0, None], pa.uint8()), pa.array([5, 7], pa.int64())),
    "dim3": pa.array([[1, 2, 3], [4, 5, None], None], pa.list_(pa.float32(), 3)),
    "list": pa.array([[0.1], [], None], pa.list_(pa.float64())),
    "ints": pa.array([[1, 2], [-3], None], pa.large_list(pa.int16())),
    "cents": pa.array([D("12345678901234567.891"), D("-0.001"), None], pa.decimal128(20, 3)),
    "wide": pa.array([D("1e40"), D("-2.5"), None], pa.decimal256(45, 1)),
    "date": pa.array([day(1969, 12, 31), day(2024, 2, 29), None], pa.date32()),
    "when": pa.array([at(2024, 2, 29, 1, 2, 3, 4000), at(1, 1, 1), None], pa.timestamp("us")),
    "zone": pa.array([at(2024, 7, 1, 12), at(2024, 7, 1, 13), None], pa.timestamp("ms", "Europe/Berlin")),
    "time": pa.array([datetime.time(23, 59, 58), datetime.time(0, 0, 0, 5), None], pa.time64("us")),
    "raw": pa.array([b"\xff\x00", b"", None], pa.binary()),
    "none": pa.array([None, None, None], pa.null()),
}
table = pa.table(columns)
for codec in ["none", "snappy", "zstd", "gzip", "lz4"]:
    pq.write_table(table, here / f"types-{codec}.parquet", compression=codec, row_group_size=2)
pq.write_table(table, here / "types-v2.parquet", compression="zstd", data_page_version="2.0", use_dictionary=False,
               column_encoding={"text": "DELTA_LENGTH_BYTE_ARRAY", "large": "DELTA_BYTE_ARRAY",
                                "i64": "DELTA_BINARY_PACKED", "f64": "BYTE_STREAM_SPLIT"})
for codec in ["uncompressed", "zstd", "lz4"]:
    feather.write_feather(table, here / f"types-{codec}.arrow", compression=codec, chunksize=2)
with pa.ipc.new_stream(here / "types.arrows", table.schema) as stream:
    stream.write_table(table, max_chunksize=2)

nested = pa.table({
    "id": pa.array([1, 2], pa.int64()),
    "deep": pa.array([{"a": 1}, {"a": 2}]),
    "words": pa.array([["a"], []], pa.list_(pa.utf8())),
    "y": pa.array([True, False]),
})
pq.write_table(nested, here / "nested.parquet")
feather.write_feather(nested, here / "nested.arrow", compression="uncompressed")

x = np.arange(12, dtype=np.float32).reshape(4, 3) / 8
y = np.array(["ham", "spam", "", "é"])
np.savez(here / "plain.npz", X=x, y=np.array([1, -1, 1, 1]), w=np.array([0.5, 1, 2, 4]), words=y)
np.savez_compressed(here / "packed.npz", X=x, y=np.array([1, -1, 1, 1]), w=np.array([0.5, 1, 2, 4]), words=y)
np.savez(here / "lengths.npz", X=x, y=np.array([1, 2]))
np.savez(here / "objects.npz", X=x, names=np.array(["a", None], dtype=object))
np.save(here / "table.npy", x)
