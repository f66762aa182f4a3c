"""`querist.select` draws the same rows as the program, from files, tables and arrays."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import querist

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

COLUMNS = ["id", "uncertainty", "key", "probability", "inclusion"]


@pytest.fixture(scope="module")
def classifier(pool) -> querist.ActiveClassifier:
    X, y = pool
    return querist.ActiveClassifier(rule="entropy", l2=1.0).fit(X[:200], y[:200])


@pytest.fixture(scope="module")
def table(pool) -> pyarrow.Table:
    X, _ = pool
    vectors = pyarrow.FixedSizeListArray.from_arrays(X.ravel(), X.shape[1])
    return pyarrow.table({"id": np.arange(len(X)), "embedding": vectors, "note": ["x"] * len(X)})


def same(one: querist.Selection, other: querist.Selection) -> None:
    for name in COLUMNS:
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name
    assert (one.rows, one.sum_u, one.threshold) == (other.rows, other.sum_u, other.threshold)


def printed(program: str, pool: Path, model: Path, *more: str) -> dict:
    command = [program, "select", str(pool), "--model", str(model), "--json", *more]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.parametrize("rule", [None, "margin:mu=1", "margin"])
def test_every_form_of_a_pool_gives_the_rows_of_the_program(program, classifier, table, pool, tmp_path, rule):
    model, file = tmp_path / "m.querist", tmp_path / "pool.parquet"
    classifier.save(model)
    parquet.write_table(table, file, row_group_size=500)
    flags = ["-k", "25", "--seed", "7", "--features", "embedding", *(["--rule", rule] if rule else [])]
    expected = printed(program, file, model, *flags)
    arguments = dict(k=25, rule=rule, features="embedding", seed=7)
    local = querist.select(file, model, **arguments)
    rows = expected["selected"]
    assert [str(name) for name in local.id] == [row["id"] for row in rows]
    for column in COLUMNS[1:]:
        assert getattr(local, column).tolist() == [row[column] for row in rows], column
    assert (local.rows, local.sum_u, local.threshold) == (3000, expected["sum_u"], expected["threshold"])
    assert local.rule == expected["rule"]
    assert local.mean_u == expected["mean_u"]
    shuffled = table.take(np.random.default_rng(3).permutation(3000))
    same(local, querist.select(shuffled, classifier, **arguments))
    same(local, querist.select(table.slice(0, 3000), classifier.to_bytes(), **arguments))
    # The ids of an array are its row indices, which are also the ids of the table.
    same(local, querist.select(pool[0], classifier, 25, rule=rule, seed=7))
    same(local, querist.select(pool[0].astype(np.float64), classifier, 25, rule=rule, seed=7))
    if rule != "margin":
        same(
            local,
            querist.select(
                pyarrow.RecordBatchReader.from_batches(table.schema, table.to_batches(301)), classifier, **arguments
            ),
        )
    else:
        stream = pyarrow.RecordBatchReader.from_batches(table.schema, table.to_batches(301))
        with pytest.raises(ValueError, match="pool: this rule reads it twice"):
            querist.select(stream, classifier, **arguments)


def test_polars_and_pandas_tables_give_the_same_rows(classifier, table, tmp_path):
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    expected = querist.select(table, classifier, 10, features="embedding")
    same(expected, querist.select(polars.from_arrow(table), classifier, 10, features="embedding"))
    columns = pandas.DataFrame({f"x{j}": table["embedding"].combine_chunks().flatten().to_numpy()[j::6] for j in range(6)})
    y = (columns["x0"] > 0).to_numpy()
    named = querist.ActiveClassifier(rule="entropy", l2=1.0).fit(columns[:200], y[:200])
    one = querist.select(columns.assign(id=table["id"].to_numpy()), named, 10)
    file = tmp_path / "columns.parquet"
    columns.assign(id=[str(i) for i in range(3000)]).to_parquet(file)
    same(one, querist.select(str(file), named, 10, threads=1))
    same(one, querist.select(str(file), named, 10, threads=2))


def test_threads_share_a_large_table(classifier, monkeypatch, table):
    import querist._select

    expected = querist.select(table, classifier, 50, features="embedding")
    monkeypatch.setattr(querist._select, "_AT_ONCE", 100)
    same(expected, querist.select(table, classifier, 50, features="embedding", threads=7))
    # Rows without ids are numbered consecutively.
    bare = table.drop_columns(["id"])
    one = querist.select(bare, classifier, 50, features="embedding", threads=1)
    same(one, querist.select(bare, classifier, 50, features="embedding", threads=5))


def test_a_selection_can_be_shown_pickled_and_written_as_json(classifier, pool):
    import pickle

    drawn = querist.select(pool[0], classifier, 4)
    assert repr(drawn).startswith("Selection(4 of 3000 rows, rule='entropy'")
    assert json.loads(json.dumps(drawn.to_dict()))["id"] == drawn.id.tolist()
    same(pickle.loads(pickle.dumps(drawn)), drawn)
    assert querist.select(pool[0], classifier, 0).id.tolist() == []
    assert len(querist.select(pool[0], classifier, 10**6)) == 3000


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (dict(k=-1), ValueError, "k: -1"),
        (dict(k=1.5), TypeError, "k: need a whole number"),
        (dict(k=True), TypeError, "k: need a whole number"),
        (dict(seed=-1), ValueError, "seed: -1"),
        (dict(seed=2**64), ValueError, "seed:"),
        (dict(rule=3), TypeError, "rule: need a name"),
        (dict(rule="entropie"), ValueError, "rule: .*entropie"),
        (dict(rule="conditional-loss"), ValueError, "rule: .*needs the answers"),
        (dict(id=3), TypeError, "id: need a name"),
        (dict(id="key"), querist.QueristError, "no column `key`"),
        (dict(features="vector"), querist.QueristError, "no column `vector`"),
        (dict(features="note"), querist.QueristError, "row 1, column `note`: not a list; expected a list of 6"),
        (dict(features=None), ValueError, "features: the model file has no encoder for rows"),
        (dict(threads=0), ValueError, "threads: 0"),
        (dict(model=None), TypeError, "model: need a model file"),
        (dict(model=b"nothing"), ValueError, "model: not a model file"),
        (dict(model="nowhere.querist"), FileNotFoundError, "nowhere"),
        (dict(pool="nowhere.parquet"), FileNotFoundError, "pool: there is no file"),
        (dict(pool=b"nowhere.parquet"), ValueError, "pool: expected 2D array"),
        (dict(pool="nowhere*.parquet"), querist.QueristError, "no file matches this pattern"),
        (dict(pool=None), ValueError, "pool: is None"),
        (
            dict(pool=pyarrow.table({"id": [1, 2], "embedding": [[1.0] * 6, [1.0] * 5]})),
            querist.QueristError,
            "row 2, column `embedding`: a list of 5 numbers; expected 6",
        ),
        (
            dict(pool=pyarrow.table({"id": [1, 2], "embedding": [[1.0] * 6, None]})),
            querist.QueristError,
            "row 2, column `embedding`: a missing value",
        ),
        (
            dict(pool=pyarrow.table({"id": [1, 1], "embedding": [[1.0] * 6] * 2})),
            querist.QueristError,
            "the id `1` appears in two rows",
        ),
        (
            dict(pool=pyarrow.table({"id": [1, None], "embedding": [[1.0] * 6] * 2})),
            querist.QueristError,
            "row 2, column `id`: no id",
        ),
        (
            dict(pool=pyarrow.table({"id": [1], "embedding": [[float("nan")] * 6]})),
            querist.QueristError,
            "row 1, column `embedding`: NaN in a list",
        ),
        (
            dict(pool=pyarrow.table({"id": [], "embedding": pyarrow.array([], pyarrow.list_(pyarrow.float32()))})),
            querist.QueristError,
            "no rows|type Null",
        ),
    ],
)
def test_misuse_names_the_argument(classifier, table, change, error, message):
    arguments = dict(pool=table, model=classifier, k=5, features="embedding") | change
    with pytest.raises(error, match=message):
        querist.select(**arguments)


def test_arrays_that_do_not_fit_the_model_are_rejected(classifier, pool):
    X, _ = pool
    with pytest.raises(ValueError, match="model: arrays have no columns; need a model of 5 plain features"):
        querist.select(X[:, :5], classifier, 5)
    with pytest.raises(ValueError, match="id: arrays have no columns"):
        querist.select(X, classifier, 5, id="id")
    bad = X.copy()
    bad[7, 2] = np.nan
    with pytest.raises(ValueError, match="pool: contains NaN.*row 7"):
        querist.select(bad, classifier, 5)
    with pytest.raises(querist.QueristError, match="U is 0, or next to it, at all"):
        querist.select(X, classifier, 5, rule="threshold:gamma=1e-30")


@pytest.mark.parametrize("classes", [1, 2, 3])
@pytest.mark.parametrize("rule", [None, "entropy"])
def test_probabilities_in_a_column_draw_like_those_of_a_model(program, tmp_path, classes, rule):
    P = np.random.default_rng(0).dirichlet([0.4] * max(classes, 2), size=3000).astype(np.float32)
    P[7] = np.eye(max(classes, 2))[0]
    column = P[:, 1] if classes == 1 else pyarrow.array(P.tolist(), pyarrow.list_(pyarrow.float32()))
    table = pyarrow.table({"id": np.arange(3000), "p": column, "note": ["x"] * 3000})
    file = tmp_path / "pool.parquet"
    parquet.write_table(table, file, row_group_size=500)
    arguments = dict(k=25, probabilities="p", rule=rule, seed=7)
    local = querist.select(file, **arguments)
    command = [program, "select", str(file), "--probabilities", "p", "-k", "25", "--seed", "7", "--json"]
    command += ["--rule", rule] if rule else []
    expected = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert [str(name) for name in local.id] == [row["id"] for row in expected["selected"]]
    assert local.probability.tolist() == [row["probability"] for row in expected["selected"]]
    assert local.rule == expected["rule"]
    same(local, querist.select(table, **arguments))
    if classes > 1:
        fixed = table.set_column(1, "p", pyarrow.FixedSizeListArray.from_arrays(P.ravel(), classes))
        same(local, querist.select(fixed.take(np.random.default_rng(3).permutation(3000)), **arguments))
    if rule == "entropy":
        Q = P.astype(float) if classes != 1 else np.stack([1 - P[:, 1].astype(float), P[:, 1].astype(float)], axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            U = -np.nan_to_num(Q * np.log(Q)).sum(axis=1)
        U /= np.log(3) if classes == 3 else 1
        assert local.uncertainty == pytest.approx(U[local.id], rel=1e-4)
    assert not set(querist.select(table, exclude=local, **arguments).id) & set(local.id)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (dict(probabilities="q"), (ValueError, querist.QueristError), "no column `q`"),
        (dict(probabilities=3), TypeError, "^probabilities: need the name"),
        (dict(model=b"x"), TypeError, "^model: cannot be combined"),
        (dict(features="p"), TypeError, "^features: cannot be combined"),
        (dict(pool=np.zeros((3, 2))), TypeError, "^pool: probabilities are in a column"),
        (dict(pool=pyarrow.table({"id": [1], "p": [[0.9, 0.3]]})), querist.QueristError, None),
        (dict(pool=pyarrow.table({"id": [1], "p": [[0.9, 0.3, 0.1]]})), querist.QueristError, "row 1.*no probabilities"),
        (dict(pool=pyarrow.table({"id": [1], "p": [1.5]})), querist.QueristError, "row 1.*no probabilities"),
        (dict(pool=pyarrow.table({"id": [1], "p": ["x"]})), querist.QueristError, "`p`"),
    ],
)
def test_misuse_of_probabilities_names_the_argument(change, error, message):
    arguments = dict(pool=pyarrow.table({"id": [1, 2], "p": [[0.5, 0.5], [0.1, 0.9]]}), k=1, probabilities="p") | change
    if message is None:
        # Of two probabilities only the second is read.
        assert len(querist.select(**arguments)) == 1
        return
    with pytest.raises(error, match=message):
        querist.select(**arguments)


def test_the_spark_module_is_loaded_on_first_use():
    assert querist.spark.select.__module__ == "querist.spark"
    with pytest.raises(AttributeError, match="no attribute 'spork'"):
        _ = querist.spork
