"""Probabilities in any common form, excluded rows, concurrent calls, and the theory at arrays."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import querist


def probabilities(classes: int) -> np.ndarray:
    P = np.random.default_rng(3).gamma(0.5, size=(500, classes)).astype(np.float32) + 1e-6
    P /= P.sum(axis=1, keepdims=True)
    P[::50] = np.eye(classes, dtype=np.float32)[0]
    return P.astype(np.float64)


class Brain:
    """A tensor that requires a gradient: it has to be detached."""

    def __init__(self, array: np.ndarray, detached: bool = False) -> None:
        self.array, self.detached = array, detached

    def detach(self) -> Brain:
        return Brain(self.array, True)

    def cpu(self) -> Brain:
        return self

    def numpy(self) -> np.ndarray:
        assert self.detached, "Can't call numpy() on Tensor that requires grad."
        return self.array


class Jax:
    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.array.astype(dtype or self.array.dtype)


FORMS: dict[str, Any] = {
    "numpy": lambda P: P,
    "list": lambda P: P.tolist(),
    "torch": Brain,
    "jax": Jax,
    "pandas": lambda P: pd.DataFrame(P),
    "polars": lambda P: pl.DataFrame(P),
    "polars lazy": lambda P: pl.DataFrame(P).lazy(),
    "polars array": lambda P: pl.Series("p", P, dtype=pl.Array(pl.Float64, P.shape[1])),
    "pandas vectors": lambda P: pd.Series(list(P)),
    "arrow": lambda P: pa.table({f"p{j}": P[:, j] for j in range(P.shape[1])}),
    "arrow fixed-size lists": lambda P: pa.table({"p": pa.FixedSizeListArray.from_arrays(P.ravel(), P.shape[1])}),
    "arrow lists": lambda P: pa.chunked_array([P[:7].tolist(), P[7:].tolist()]),
}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("form", FORMS)
def test_probabilities_of_every_form_give_the_same_draws(form: str, classes: int) -> None:
    P = probabilities(classes)

    class Fixed:
        def predict_proba(self, X: Any) -> np.ndarray:
            return P

    expected = querist.query(Fixed(), np.zeros((500, 1)), 20, rule="entropy", random_state=1, return_probabilities=True)
    found = querist.query(FORMS[form](P), n=20, rule="entropy", random_state=1, return_probabilities=True)
    assert found[0].tolist() == expected[0].tolist()
    assert found[1].tolist() == expected[1].tolist()


@pytest.mark.parametrize("form", [lambda p: p, lambda p: p.reshape(-1, 1), lambda p: pl.Series(p), Brain])
def test_one_column_is_the_probability_of_the_second_class(form: Any) -> None:
    P = probabilities(2)
    assert {0.0, 1.0} <= set(P[:, 1]) | {1.0}
    expected = querist.query(P, n=20, rule="boundary", random_state=1).tolist()
    assert querist.query(form(P[:, 1]), n=20, rule="boundary", random_state=1).tolist() == expected

    class Sigmoid:
        def predict_proba(self, X: Any) -> Any:
            return form(P[:, 1])

    assert querist.query(Sigmoid(), np.zeros((500, 1)), 20, random_state=1).tolist() == expected


@pytest.mark.parametrize(
    ("argument", "error", "message"),
    [
        (np.full((9, 2), 0.4), ValueError, "^probabilities: no probabilities in row 0"),
        (np.full((9, 2), np.nan), ValueError, "^probabilities: no probabilities in row 0"),
        (np.array([0.1, 1.5]), ValueError, "^probabilities: a single column"),
        (np.zeros((0, 2)), ValueError, "^probabilities: has no rows"),
        (np.zeros((2, 2, 2)), TypeError, "^probabilities: need a table"),
        (np.array([["a", "b"]]), TypeError, "^probabilities: need a table"),
        (object(), TypeError, "^estimator: object has neither"),
        ("forest", TypeError, "^estimator: str has neither"),
    ],
)
def test_what_is_neither_an_estimator_nor_probabilities_is_rejected(argument: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        querist.query(argument, n=1)


def test_x_goes_with_an_estimator_only() -> None:
    with pytest.raises(TypeError, match="^X: probabilities need no X"):
        querist.query(np.full((9, 2), 0.5), np.zeros((9, 1)), n=1)
    with pytest.raises(TypeError, match="^X: is missing"):
        querist.query(type("E", (), {"predict_proba": lambda self, X: X})(), n=1)


def test_torch_and_arrow_are_not_imported() -> None:
    code = "import querist, sys; print([m for m in ('torch', 'jax', 'pandas', 'polars', 'pyarrow') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.skipif("torch" not in sys.modules and not __import__("importlib.util").util.find_spec("torch"), reason="no torch")
def test_tensors_of_torch() -> None:
    import torch

    P = torch.softmax(torch.randn(200, 3, requires_grad=True), dim=1)
    expected = querist.query(P.detach().numpy(), n=9, rule="entropy", random_state=1).tolist()
    assert querist.query(P, n=9, rule="entropy", random_state=1).tolist() == expected
    assert len(querist.query(P.to(torch.bfloat16), n=9, rule="entropy")) == 9


# Excluded rows.


def test_excluded_rows_come_from_arrays_tables_and_files(tmp_path: Path) -> None:
    P, rows = probabilities(2), [3, 11, 400]
    expected = querist.query(P, n=30, random_state=1, exclude=rows).tolist()
    csv, jsonl, npy, parquet = (tmp_path / f"ids.{end}" for end in ("csv", "jsonl", "npy", "parquet"))
    pd.DataFrame({"order": [1, 2, 3], "id": rows}).to_csv(csv, index=False)
    jsonl.write_text("".join(json.dumps({"id": str(row)}) + "\n" for row in rows))
    np.save(npy, rows)
    pq.write_table(pa.table({"id": rows}), parquet)
    forms = [np.array(rows), set(rows), pd.Series(rows), pl.Series(rows), pa.array(rows), pd.DataFrame({"id": rows})]
    forms += [pl.DataFrame({"x": rows}), pa.table({"y": [0, 0, 0], "row": rows}), csv, str(jsonl), npy, parquet]
    for form in forms:
        assert querist.query(P, n=30, random_state=1, exclude=form).tolist() == expected, form
    for wrong in (pl.DataFrame({"a": rows, "b": rows}), pd.DataFrame({"a": rows, "b": rows})):
        with pytest.raises(ValueError, match="^exclude: the table has no column 'id'"):
            querist.query(P, n=1, exclude=wrong)
    with pytest.raises(FileNotFoundError, match="^exclude"):
        querist.query(P, n=1, exclude=tmp_path / "nowhere.csv")
    (tmp_path / "a.xlsx").write_text("")
    with pytest.raises(ValueError, match="^exclude.*ends in"):
        querist.query(P, n=1, exclude=tmp_path / "a.xlsx")


def same(one: querist.Selection, other: querist.Selection) -> None:
    for name in ("id", "uncertainty", "key", "probability", "inclusion"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name
    assert (one.rows, one.sum_u, one.threshold) == (other.rows, other.sum_u, other.threshold)


@pytest.mark.parametrize("rule", ["entropy", "boundary"])
def test_a_selection_without_some_rows_is_that_of_the_other_rows(pool: Any, tmp_path: Path, rule: str) -> None:
    X, y = pool
    clf = querist.ActiveClassifier(rule=rule, l2=1.0).fit(X[:200], y[:200])
    ids = [f"mail-{row}" for row in range(3000)]
    table = pa.table({"key": ids, "x": pa.FixedSizeListArray.from_arrays(X.ravel(), 6)})
    arguments = dict(k=25, id="key", features="x", seed=7)
    first = querist.select(table, clf, **arguments)
    kept = [row for row in range(3000) if ids[row] not in set(first.id)]
    expected = querist.select(table.take(kept), clf, **arguments)
    assert not set(expected.id) & set(first.id)
    same(querist.select(table, clf, exclude=first, **arguments), expected)
    same(querist.select(table, clf, exclude=list(first.id), **arguments), expected)
    csv, file = tmp_path / "labeled.csv", tmp_path / "pool.parquet"
    pd.DataFrame({"key": first.id, "label": "x"}).to_csv(csv, index=False)
    pq.write_table(table, file)
    same(querist.select(file, clf, exclude=csv, **arguments), expected)
    by_row = querist.select(X, clf, 25, seed=7)
    assert not set(by_row.id) & set(querist.select(X, clf, 25, seed=7, exclude=by_row).id)


def test_a_delta_table_is_rejected(pool: Any, tmp_path: Path) -> None:
    X, y = pool
    (tmp_path / "_delta_log").mkdir()
    pq.write_table(pa.table({"id": range(9), "x": X[:9].tolist()}), tmp_path / "part-0.parquet")
    with pytest.raises(querist.QueristError, match="a Delta table.*removed or replaced"):
        querist.select(tmp_path, querist.ActiveClassifier(l2=1.0).fit(X[:200], y[:200]), 3, features="x")


# Categories, and the names of elements of lists.


def test_categories_and_lists_become_features() -> None:
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0], "color": pd.Categorical(["red", "blue", "red", "red"])})
    clf = querist.ActiveClassifier(l2=1.0).fit(frame, [0, 1, 0, 0])
    assert clf.feature_names_in_.tolist() == ["x", "color=blue", "color=red"]
    by_hand = np.array([[0, 0, 1], [1, 1, 0], [2, 0, 1], [3, 0, 1]], float)
    assert np.array_equal(clf.coef_, querist.ActiveClassifier(l2=1.0).fit(by_hand, [0, 1, 0, 0]).coef_)
    numbers = pd.DataFrame({"size": pd.Categorical([3, 1, 3, 1], ordered=True)})
    clf = querist.ActiveClassifier(l2=1.0).fit(numbers, [0, 1, 0, 1])
    assert np.array_equal(clf.coef_, querist.ActiveClassifier(l2=1.0).fit([[3], [1], [3], [1]], [0, 1, 0, 1]).coef_)
    table = pa.table({"e": [[1.0, 2.0], [3.0, 4.0]], "z": [0, 1]})
    assert querist.ActiveClassifier(l2=1.0).fit(table, [0, 1]).feature_names_in_.tolist() == ["e[0]", "e[1]", "z"]


# Concurrent calls.


def test_concurrent_queries_draw_like_consecutive_ones(pool: Any) -> None:
    X, y = pool

    def fitted() -> querist.ActiveClassifier:
        return querist.ActiveClassifier(l2=1.0, random_state=5).fit(X[:200], y[:200])

    one = fitted()
    expected = sorted(one.query(X, n=6).tolist() for _ in range(40))
    shared = fitted()
    with ThreadPoolExecutor(4) as threads:
        found = sorted(draw.tolist() for draw in threads.map(lambda _: shared.query(X, n=6), range(40)))
    assert found == expected
    assert shared.n_queries_ == 40
    # A call that fails does not count.
    with pytest.raises(ValueError, match="^n"):
        shared.query(X, n=10**6)
    assert shared.n_queries_ == 40


# The theory at arrays.


def test_tables_agree_with_the_program(program: str) -> None:
    s = np.array([[-2.0, 0.0], [0.5, 3.0]])
    command = [program, "tabulate", "logistic", "entropy", "--json", "--s=-2,0,0.5,3", "--q=0.1,0.8", "--z=0,0.3,1"]
    printed = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    found = querist.tabulate("logistic", "entropy", s)
    assert list(found) == list(printed["margin"][0])
    for name, column in found.items():
        assert column.shape == (2, 2)
        expected = [row[name] for row in printed["margin"]]
        np.testing.assert_array_equal(column.ravel(), np.array(expected, dtype=float), err_msg=name)
    for label in (1, -1):
        found = querist.tabulate("logistic", "entropy", q=[0.1, 0.8], label=label)
        for name, column in found.items():
            assert column.tolist() == [row[name] for row in printed["probability"] if row["label"] == label], name
    link = querist.tabulate("logistic", "entropy", z=[0, 0.3, 1])
    assert link["psi"].tolist() == [row["psi"] for row in printed["link"]]
    back = querist.tabulate("logistic", "entropy", psi=link["psi"])["z"]
    assert back == pytest.approx([0, 0.3, 1], abs=1e-9)


def test_uncertainty_and_equivalent_loss_follow_their_formulas() -> None:
    s = np.linspace(-5, 5, 41)
    p = 1 / (1 + np.exp(-s))
    assert querist.uncertainty("least-confidence", s) == pytest.approx(np.minimum(p, 1 - p) / np.minimum(p, 1 - p).max() / 2)
    assert querist.uncertainty("margin:mu=2", s) == pytest.approx(1 / (1 + 2 * np.abs(s)))
    assert querist.equivalent_loss("logistic", "constant:p=0.25", s) == pytest.approx(0.25 * np.log1p(np.exp(-s)))
    P = probabilities(4)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = -np.nan_to_num(P * np.log(P)).sum(axis=1)
    assert querist.uncertainty("entropy", probabilities=P) == pytest.approx(expected, abs=1e-12)
    kink = querist.tabulate("hinge", "constant:p=1", [1.0])
    assert np.isnan(kink["equivalent_curvature"]).all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: querist.tabulate("logistik", "entropy"), ValueError, "^loss:.*did you mean"),
        (lambda: querist.tabulate("logistic", "entrop"), ValueError, "^rule:.*did you mean"),
        (lambda: querist.tabulate("logistic", "entropy", [0.0], q=[0.5]), TypeError, "^q: pass only one"),
        (lambda: querist.tabulate("logistic", "entropy", q=[1.5]), ValueError, "^q: 1.5, need 0.0 <= q <= 1.0"),
        (lambda: querist.tabulate("logistic", "entropy", q=[0.5], label=0), ValueError, "^label: 0"),
        (lambda: querist.tabulate("squared", "constant", z=[0.5]), ValueError, "^z: `squared` is a regression loss"),
        (lambda: querist.tabulate("logistic", "entropy", [np.nan]), ValueError, "^s: nan"),
        (lambda: querist.uncertainty("entropy"), TypeError, "^s: pass margins"),
        (lambda: querist.uncertainty("entropy", ["a"]), TypeError, "^s: need numbers"),
        (lambda: querist.uncertainty("entropy", probabilities=[[0.5, 0.6]]), ValueError, "^probabilities"),
    ],
)
def test_points_outside_their_range_are_rejected(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call()
