"""Every kind of input gives the same result, and none is copied or made dense."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
import scipy.sparse as sp

import querist


def chunked(X: np.ndarray) -> pa.Table:
    parts = [pa.table({f"f{j}": X[a:b, j] for j in range(X.shape[1])}) for a, b in [(0, 1), (1, 700), (700, 3000)]]
    return pa.concat_tables(parts)


def record_field(X: np.ndarray) -> np.ndarray:
    records = np.zeros(X.shape, dtype=[("tag", "u1"), ("value", "f4")])
    records["value"] = X
    view: np.ndarray = records["value"]
    assert view.strides[1] == 5
    return view


def frozen(X: np.ndarray) -> np.ndarray:
    copy = X.copy()
    copy.setflags(write=False)
    return copy


def names(X: np.ndarray) -> list[str]:
    return [f"f{j}" for j in range(X.shape[1])]


class Tensor:
    """A tensor that has to be detached, copied from its device and widened, as a bfloat16 of torch."""

    def __init__(self, X: np.ndarray, done: tuple[str, ...] = ()) -> None:
        self.X, self.done = X, done

    def _with(self, step: str) -> Tensor:
        return Tensor(self.X, (*self.done, step))

    def detach(self) -> Tensor:
        return self._with("detach")

    def cpu(self) -> Tensor:
        return self._with("cpu")

    def float(self) -> Tensor:
        return self._with("float")

    def numpy(self) -> np.ndarray:
        if self.done == ("detach", "cpu"):
            raise TypeError("Got unsupported ScalarType BFloat16")
        assert self.done == ("detach", "cpu", "float")
        return self.X


class HuggingFace:
    """The part of a `datasets.Dataset` that tables are read by."""

    def __init__(self, table: pa.Table) -> None:
        self.table, self.column_names, self.features = table, table.column_names, {}

    def with_format(self, kind: str) -> Any:
        assert kind == "arrow"
        return _Sliced(self.table)


class _Sliced:
    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __getitem__(self, rows: slice) -> pa.Table:
        assert rows == slice(None)
        return self.table


FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "float64": lambda X: X.astype(np.float64),
    "fortran": np.asfortranarray,
    "fortran float64": lambda X: np.asfortranarray(X.astype(np.float64)),
    "read-only": frozen,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "big-endian": lambda X: X.astype(">f4"),
    "field of records": record_field,
    "longdouble": lambda X: X.astype(np.longdouble),
    "object": lambda X: X.astype(object),
    "list": lambda X: X.tolist(),
    "subclass": lambda X: np.ma.masked_array(X),
    "memmap-like": lambda X: np.frombuffer(X.tobytes(), np.float32).reshape(X.shape),
    "csr": sp.csr_matrix,
    "csr array": lambda X: sp.csr_array(X.astype(np.float64)),
    "csc": sp.csc_matrix,
    "coo": sp.coo_matrix,
    "pandas": lambda X: pd.DataFrame(X, columns=names(X)),
    "pandas mixed": lambda X: pd.DataFrame({f"f{j}": X[:, j].astype("f8" if j % 2 else "f4") for j in range(X.shape[1])}),
    "pandas nullable": lambda X: pd.DataFrame(X, columns=names(X)).astype("Float32"),
    "polars": lambda X: pl.DataFrame(X, schema=names(X)),
    "polars in parts": lambda X: pl.concat(
        [pl.DataFrame(X[:123], schema=names(X)), pl.DataFrame(X[123:], schema=names(X))], rechunk=False
    ),
    "pyarrow": lambda X: pa.table({f"f{j}": X[:, j] for j in range(X.shape[1])}),
    "pyarrow in parts": chunked,
    "polars lazy": lambda X: pl.DataFrame(X, schema=names(X)).lazy(),
    "polars arrays": lambda X: pl.DataFrame({"x": X}, schema={"x": pl.Array(pl.Float32, X.shape[1])}),
    "pyarrow fixed-size lists": lambda X: pa.table({"x": pa.FixedSizeListArray.from_arrays(X.ravel(), X.shape[1])}),
    "pyarrow lists in parts": lambda X: pa.concat_tables([pa.table({"x": X[:9].tolist()}), pa.table({"x": X[9:].tolist()})]),
    "pyarrow sliced lists": lambda X: pa.table(
        {"x": pa.FixedSizeListArray.from_arrays(np.concatenate([X, X]).ravel(), X.shape[1])}
    ).slice(len(X)),
    "pyarrow dataset": lambda X: pa.dataset.dataset(chunked(X)),
    "hugging face": lambda X: HuggingFace(pa.table({"x": X.tolist()})),
    "torch": Tensor,
    "record batch": lambda X: pa.RecordBatch.from_arrays([pa.array(X[:, j]) for j in range(X.shape[1])], names=names(X)),
}


@pytest.mark.filterwarnings("ignore:X (has|does not have)")
@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_result(pool: tuple[np.ndarray, np.ndarray], form: str) -> None:
    X, y = pool
    clf = querist.ActiveClassifier(rule="margin:mu=1", l2=1.0, random_state=0).fit(X[:200], y[:200])
    given = FORMS[form](X)
    assert np.array_equal(clf.decision_function(given), clf.decision_function(X))
    indices, p = querist.query(clf, given, 25, rule="entropy", random_state=4, return_probabilities=True)
    wanted, q = querist.query(clf, X, 25, rule="entropy", random_state=4, return_probabilities=True)
    assert np.array_equal(indices, wanted)
    assert np.array_equal(p, q)
    fitted = querist.ActiveClassifier(l2=1.0).fit(given, y)
    assert np.allclose(fitted.coef_, querist.ActiveClassifier(l2=1.0).fit(X, y).coef_, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", "f2"])
def test_every_numeric_type_is_accepted(kind: str) -> None:
    X = np.random.default_rng(0).integers(0, 2 if kind == "?" else 100, size=(2100, 3))
    clf = querist.ActiveClassifier(l2=1.0, random_state=0).fit(X, X[:, 0] > X[:, 0].mean())
    assert np.array_equal(clf.decision_function(X.astype(kind)), clf.decision_function(X.astype("f4")))


def test_sparse_indices_may_be_unsorted_and_repeated() -> None:
    clf = querist.ActiveClassifier(l2=1.0).fit([[0.0, 1.0, 2.0], [1.0, 0.0, 0.0]], [0, 1])
    sorted_rows = sp.csr_matrix(np.array([[1.0, 0.0, 3.0], [0.0, 0.0, 0.0]]))
    unsorted_rows = sp.csr_matrix((np.array([1.0, 1.0, 2.0]), np.array([2, 0, 2]), np.array([0, 3, 3])), shape=(2, 3))
    assert np.allclose(clf.decision_function(sorted_rows), clf.decision_function(unsorted_rows))


def test_a_million_sparse_columns_are_supported() -> None:
    rng = np.random.default_rng(0)
    X = sp.random(300, 10**6, density=2e-5, format="csr", random_state=rng, dtype=np.float32)
    X[:, 0] = rng.normal(size=(300, 1)).astype(np.float32)
    X = X.tocsr()
    y = X[:, [0]].toarray().ravel() > 0
    clf = querist.ActiveClassifier(l2=1.0, random_state=0).fit(X, y)
    assert clf.coef_.shape == (1, 10**6)
    assert clf.score(X, y) > 0.9
    assert len(clf.query(X, n=5)) == 5
    wide = np.zeros((2, 10**6), np.float32)
    assert clf.decision_function(wide).shape == (2,)


MEMORY = """
import resource, sys
import numpy as np, querist
form = sys.argv[1]
rng = np.random.default_rng(0)
n, d = 2_000_000, 10
if form == "csr":
    import scipy.sparse as sp
    X = sp.csr_matrix((np.ones(n * d), np.tile(np.arange(d), n), np.arange(0, n * d + 1, d)), shape=(n, 1000))
    d = 1000
elif form == "polars":
    import polars as pl
    X = pl.DataFrame({f"f{j}": rng.normal(size=n) for j in range(d)})
elif form == "pandas":
    import pandas as pd
    X = pd.DataFrame({f"f{j}": rng.normal(size=n) for j in range(d)})
else:
    X = np.zeros((n, d), order="F" if form == "fortran" else "C")
clf = querist.ActiveClassifier(l2=1.0, rule="margin:mu=1").fit(np.eye(2, d), [0, 1])
import warnings; warnings.simplefilter("ignore")
head = X[:3] if form in ("csr", "polars") else (X.iloc[:3] if form == "pandas" else X[:3])
clf.query(head, n=1)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
clf.query(X, n=10)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("form", ["plain", "fortran", "csr", "polars", "pandas"])
def test_a_query_needs_memory_for_u_but_not_for_the_pool(form: str) -> None:
    done = subprocess.run([sys.executable, "-c", MEMORY, form], check=True, capture_output=True, text=True)
    # The pool has 160 MB; U has 16 MB, and may be allocated twice while it grows.
    assert int(done.stdout) < 70_000, f"{done.stdout} kB more"
