"""Every misuse raises an exception that names the argument; none ends the process or leaves partial changes."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import querist
from querist import _querist

X = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
Y = (X[:, 0] > 0).astype(int)
HALVES = np.full((9, 2), 0.5)


def fitted(**settings: Any) -> querist.ActiveClassifier:
    return querist.ActiveClassifier(**{"l2": 1.0, "random_state": 0, **settings}).fit(X, Y)


def stream(**settings: Any) -> querist.Stream:
    return querist.Stream(**{"rule": "constant:p=1", "random_state": 0, **settings})


def asked() -> tuple[querist.Stream, querist.Ask]:
    run = stream()
    ask = run.offer([1.0, 2.0])
    assert ask is not None
    return run, ask


def changed(value: float, kind: str = "f4") -> np.ndarray:
    other = X.astype(kind)
    other[17, 2] = value
    return other


def bad_csr(indices: list[int], indptr: list[int], shape: tuple[int, int] = (2, 4)) -> Any:
    matrix = sp.csr_matrix(shape, dtype=np.float32)
    matrix.indices, matrix.indptr = np.array(indices, np.int32), np.array(indptr, np.int32)
    matrix.data = np.ones(len(indices), np.float32)
    return matrix


class FixedOutput:
    """An estimator that returns a fixed output."""

    def __init__(self, output: Any, name: str = "predict_proba") -> None:
        setattr(self, name, (lambda rows: output) if output is not None else None)


STRUCTURED = np.zeros((5, 4), dtype=[("a", "f4"), ("b", "f4")])
MASKED = np.ma.masked_array(X, mask=np.arange(X.size).reshape(X.shape) == 5)
READ_ONLY = X.copy()
READ_ONLY.setflags(write=False)

# Invalid values of X, wherever rows are accepted.
ROWS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "None": (lambda: None, ValueError, "X"),
    "a number": (lambda: 3.0, ValueError, "X"),
    "a string": (lambda: "rows", ValueError, "X"),
    "a dict": (lambda: {"a": [1.0]}, ValueError, "X"),
    "a set": (lambda: {1.0, 2.0}, ValueError, "X"),
    "one dimension": (lambda: X[0], ValueError, "X.*Reshape"),
    "three dimensions": (lambda: X[None], ValueError, "X"),
    "zero rows": (lambda: X[:0], ValueError, "X.*0 sample"),
    "zero columns": (lambda: X[:, :0], ValueError, "X.*0 feature"),
    "zero rows, sparse": (lambda: sp.csr_matrix((0, 4)), ValueError, "X.*0 sample"),
    "zero columns, sparse": (lambda: sp.csr_matrix((4, 0)), ValueError, "X.*0 feature"),
    "an empty list": (lambda: [], ValueError, "X"),
    "ragged lists": (lambda: [[1.0, 2.0], [1.0]], ValueError, "X"),
    "complex": (lambda: X.astype(complex), ValueError, "X.*Complex"),
    "strings": (lambda: X.astype(str), ValueError, "X"),
    "bytes": (lambda: X.astype("S8"), ValueError, "X"),
    "words as objects": (lambda: np.full((5, 4), "x", dtype=object), ValueError, "X"),
    "dicts as objects": (lambda: np.full((5, 4), {}, dtype=object), TypeError, "X"),
    "None as objects": (lambda: np.full((5, 4), None, dtype=object), (TypeError, ValueError), "X"),
    "structured": (lambda: STRUCTURED, TypeError, "X"),
    "dates": (lambda: np.zeros((5, 4), "M8[s]"), TypeError, "X"),
    "durations": (lambda: np.zeros((5, 4), "m8[s]"), TypeError, "X"),
    "masked": (lambda: MASKED, ValueError, "X.*masked"),
    "np.matrix": (lambda: np.matrix(X), TypeError, "X"),
    "NaN": (lambda: changed(np.nan), ValueError, "X.*NaN.*row 17"),
    "infinity": (lambda: changed(np.inf), ValueError, "X.*infinity.*row 17"),
    "minus infinity": (lambda: changed(-np.inf), ValueError, "X.*row 17"),
    "too large for float32": (lambda: changed(1e39, "f8"), ValueError, "X.*too large.*row 17"),
    "too large, by columns": (lambda: np.asfortranarray(changed(-1e300, "f8")), ValueError, "X.*row 17"),
    "NaN with a payload": (lambda: changed(np.uint32(0x7FC12345).view("f4")), ValueError, "X.*row 17"),
    "NaN, backwards": (lambda: changed(np.nan)[::-1], ValueError, "X.*row 42"),
    "NaN in a list": (lambda: [[0.0] * 4, [1.0, 2.0, 3.0, float("nan")]], ValueError, "X.*row 1"),
    "NaN, sparse": (lambda: sp.csr_matrix(changed(np.nan)), ValueError, "X.*row 17"),
    "complex, sparse": (lambda: sp.csr_matrix(X.astype(complex)), ValueError, "X.*Complex"),
    "index too large, sparse": (lambda: bad_csr([9, 1], [0, 1, 2]), ValueError, "X.*row 0"),
    "negative index, sparse": (lambda: bad_csr([-1, 1], [0, 1, 2]), ValueError, "X.*row 0"),
    "ends that fall, sparse": (lambda: bad_csr([0, 1], [0, 2, 1]), ValueError, "X.*row 1"),
    "ends too large, sparse": (lambda: bad_csr([0, 1], [0, 1, 99]), ValueError, "X.*row 1"),
    "negative ends, sparse": (lambda: bad_csr([0, 1], [-4, 1, 2]), ValueError, "X.*row 0"),
    "pandas with words": (lambda: pd.DataFrame({"a": ["x"], "b": [1]}), ValueError, "X, column 'a'"),
    "pandas with no category": (lambda: pd.DataFrame({"a": pd.Categorical(["x", None])}), ValueError, "X, column 'a'.*row 1"),
    "pandas with dates": (lambda: pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}), (TypeError, ValueError), "X, column"),
    "pandas with nothing": (lambda: pd.DataFrame({"a": pd.array([1, None], "Int64")}), ValueError, "X"),
    "pandas without columns": (lambda: pd.DataFrame(index=[0, 1]), ValueError, "X.*0 feature"),
    "pandas series": (lambda: pd.Series([1.0]), ValueError, "X"),
    "names of two kinds": (lambda: pd.DataFrame(X, columns=["a", 1, 2, 3]), TypeError, "Feature names"),
    "polars with words": (lambda: pl.DataFrame({"a": ["x"]}), ValueError, "X, column 'a'"),
    "polars with lists of two lengths": (lambda: pl.DataFrame({"a": [[1.0], [1.0, 2.0]]}), ValueError, "X, column 'a'"),
    "pyarrow with lists of words": (lambda: pa.table({"a": [["x"]]}), ValueError, "X, column 'a'"),
    "pyarrow with a missing list": (lambda: pa.table({"a": [[1.0], None]}), ValueError, "X, column 'a'"),
    "polars with nulls": (lambda: pl.DataFrame({"a": [1.0, None]}), ValueError, "X"),
    "polars series": (lambda: pl.Series([1.0]), TypeError, "X"),
    "pyarrow with words": (lambda: pa.table({"a": ["x"]}), ValueError, "X, column 'a'"),
    "pyarrow with nulls": (lambda: pa.table({"a": [1.0, None]}), ValueError, "X"),
    "pyarrow array": (lambda: pa.array([1.0]), TypeError, "X"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("what", ROWS)
@pytest.mark.parametrize("where", ["fit", "partial_fit", "predict", "query"])
def test_invalid_rows_are_rejected(what: str, where: str) -> None:
    make, kind, pattern = ROWS[what]
    given = make()
    clf = fitted() if where != "fit" else querist.ActiveClassifier(l2=1.0)
    before = pickle.dumps(clf)
    shape = getattr(given, "shape", None)
    rows = shape[0] if shape else (len(given) if hasattr(given, "__len__") else 1)
    labels = np.arange(rows) % 2
    calls: dict[str, Callable[[], Any]] = {
        "fit": lambda: clf.fit(given, labels),
        "partial_fit": lambda: clf.partial_fit(given, labels),
        "predict": lambda: clf.predict(given),
        "query": lambda: clf.query(given, n=1),
    }
    with pytest.raises(kind) as caught:
        calls[where]()
    message = str(caught.value)
    # Rows with another number of features are rejected for that reason, if there are rows to compare with.
    if "features, but ActiveClassifier is expecting" not in message:
        assert re.search(pattern, message), message
    assert pickle.dumps(clf) == before, "a call that failed left traces"


CALLS: dict[str, tuple[Callable[[], Any], Any, str]] = {
    # Names.
    "unknown loss": (lambda: querist.ActiveClassifier(loss="logistc").fit(X, Y), ValueError, "^loss: .*logistic"),
    "loss of regression": (lambda: querist.ActiveClassifier(loss="squared").fit(X, X[:, 0] > 0), ValueError, "^loss"),
    "loss not a name": (lambda: querist.ActiveClassifier(loss=3).fit(X, Y), TypeError, "^loss"),
    "rule not a name": (lambda: querist.ActiveClassifier(rule=None).fit(X, Y), TypeError, "^rule"),
    "unknown rule": (lambda: fitted(rule="entrop").query(X), ValueError, "^rule: .*entropy"),
    "rule out of range": (lambda: fitted(rule="margin:mu=-1").query(X), ValueError, "^rule.*mu"),
    "rule without its number": (lambda: fitted(rule="margin:mu=").query(X), ValueError, "^rule"),
    "rule of answers": (lambda: fitted(rule="conditional-loss").query(X), ValueError, "^rule"),
    "empty rule": (lambda: fitted(rule="").query(X), ValueError, "^rule"),
    "loss without a form for 3": (
        lambda: querist.ActiveClassifier(loss="exponential").fit(X, np.arange(60) % 3),
        ValueError,
        "^loss",
    ),
    "hinge for 3": (lambda: querist.ActiveClassifier(loss="hinge").fit(X, np.arange(60) % 3), ValueError, "^loss.*kinks"),
    "certify nothing": (lambda: querist.certify("", ""), ValueError, "^loss"),
    "certify a number": (lambda: querist.certify(1, "entropy"), TypeError, "loss"),
    "certify a bad expression": (lambda: querist.certify("logistic", "expr:1/("), ValueError, "^rule"),
    "certify deep brackets": (lambda: querist.certify("logistic", "expr:" + "(" * 100_000), ValueError, "^rule"),
    "certify 1 class": (lambda: querist.certify("softmax-cross-entropy", "entropy", classes=1), ValueError, ""),
    "certify 10^9 classes": (lambda: querist.certify("softmax-cross-entropy", "entropy", classes=10**9), ValueError, ""),
    "certify -1 classes": (lambda: querist.certify("softmax-cross-entropy", "entropy", classes=-1), OverflowError, ""),
    "rules of one class": (lambda: querist.rules(1), ValueError, "^classes"),
    "rules of a string": (lambda: querist.rules("2"), TypeError, "^classes"),
    # Settings.
    "l2 negative": (lambda: fitted(l2=-1.0), ValueError, "^l2"),
    "l2 zero": (lambda: fitted(l2=0), ValueError, "^l2"),
    "l2 NaN": (lambda: fitted(l2=float("nan")), ValueError, "^l2"),
    "l2 a string": (lambda: fitted(l2="1"), TypeError, "^l2"),
    "random_state a string": (lambda: fitted(random_state="0"), TypeError, "^random_state"),
    "random_state negative": (lambda: fitted(random_state=-1), ValueError, "^random_state"),
    "random_state too large": (lambda: fitted(random_state=2**64), ValueError, "^random_state"),
    "random_state a float": (lambda: fitted(random_state=0.5), TypeError, "^random_state"),
    "unknown setting": (lambda: querist.ActiveClassifier().set_params(C=1), ValueError, "C"),
    "unknown argument": (lambda: querist.ActiveClassifier(C=1), TypeError, "C"),
    # Labels.
    "y None": (lambda: querist.ActiveClassifier().fit(X, None), ValueError, "^y"),
    "y short": (lambda: querist.ActiveClassifier().fit(X, Y[:-1]), ValueError, "^y"),
    "y long": (lambda: querist.ActiveClassifier().fit(X[:-1], Y), ValueError, "^y"),
    "y of two columns": (lambda: querist.ActiveClassifier().fit(X, np.stack([Y, Y], 1)), ValueError, "^y"),
    "y a number": (lambda: querist.ActiveClassifier().fit(X, 3), ValueError, "^y"),
    "y sparse": (lambda: querist.ActiveClassifier().fit(X, sp.csr_matrix(Y)), TypeError, "^y"),
    "y continuous": (lambda: querist.ActiveClassifier().fit(X, X[:, 0]), ValueError, "^y: Unknown label type"),
    "y NaN": (lambda: querist.ActiveClassifier().fit(X, np.where(Y, np.nan, 1.0)), ValueError, "^y"),
    "y None inside": (lambda: querist.ActiveClassifier().fit(X, [None, *Y[1:]]), ValueError, "^y"),
    "y complex": (lambda: querist.ActiveClassifier().fit(X, Y + 0j), ValueError, "^y"),
    "y of mixed kinds": (lambda: querist.ActiveClassifier().fit(X, np.array(["a", 1] * 30, dtype=object)), TypeError, "^y"),
    "y of dicts": (lambda: querist.ActiveClassifier().fit(X, np.array([{}] * 60)), ValueError, "^y"),
    "y masked": (lambda: querist.ActiveClassifier().fit(X, np.ma.masked_array(Y, Y == 1)), ValueError, "^y"),
    "y of one class": (lambda: querist.ActiveClassifier().fit(X, 0 * Y), ValueError, "^y.*class"),
    "y of dates": (lambda: querist.ActiveClassifier().fit(X, Y.astype("M8[D]")), ValueError, "^y"),
    "partial_fit without classes": (lambda: querist.ActiveClassifier().partial_fit(X, Y), ValueError, "^classes"),
    "partial_fit of one class": (lambda: querist.ActiveClassifier().partial_fit(X, 0 * Y, classes=[0]), ValueError, "^classes"),
    "partial_fit of a new label": (lambda: fitted().partial_fit(X[:1], [7]), ValueError, r"^y.*\[7\]"),
    "partial_fit of a new kind": (lambda: fitted().partial_fit(X[:1], ["a"]), ValueError, "^y"),
    "partial_fit of other classes": (lambda: fitted().partial_fit(X, Y, classes=[0, 1, 2]), ValueError, "^classes"),
    "partial_fit of other features": (lambda: fitted().partial_fit(X[:, :3], Y), ValueError, "^X.*3 features"),
    "partial_fit of the other kind": (lambda: fitted().partial_fit(sp.csr_matrix(X), Y), ValueError, "^X.*sparse"),
    "classes a string": (lambda: querist.ActiveClassifier().partial_fit(X, Y, classes="01"), ValueError, "y"),
    # Weights.
    "weights short": (lambda: querist.ActiveClassifier().fit(X, Y, Y[:3]), ValueError, "^sample_weight"),
    "weights negative": (lambda: querist.ActiveClassifier().fit(X, Y, 0.0 - Y), ValueError, "^sample_weight"),
    "weights NaN": (lambda: querist.ActiveClassifier().fit(X, Y, np.where(Y, np.nan, 1)), ValueError, "^sample_weight"),
    "weights zero": (lambda: querist.ActiveClassifier().fit(X, Y, 0.0 * Y), ValueError, "^sample_weight"),
    "weights of words": (lambda: querist.ActiveClassifier().fit(X, Y, ["a"] * 60), TypeError, "^sample_weight"),
    "weights of two dimensions": (lambda: querist.ActiveClassifier().fit(X, Y, X), ValueError, "^sample_weight"),
    "weights leave one class": (lambda: querist.ActiveClassifier().fit(X, Y, 1.0 * Y), ValueError, "^y.*class"),
    # Not fitted.
    "predict unfitted": (lambda: querist.ActiveClassifier().predict(X), ValueError, "not fitted"),
    "query unfitted": (lambda: querist.ActiveClassifier().query(X), ValueError, "not fitted"),
    "proba unfitted": (lambda: querist.ActiveClassifier().predict_proba(X), ValueError, "not fitted"),
    "save unfitted": (lambda: querist.ActiveClassifier().save("x"), ValueError, "not fitted"),
    "query() unfitted": (lambda: querist.query(querist.ActiveClassifier(), X), ValueError, "not fitted"),
    "proba of a hinge": (lambda: fitted(loss="hinge").predict_proba(X), AttributeError, "predict_proba"),
    # Queries.
    "n zero": (lambda: fitted().query(X, n=0), ValueError, "^n"),
    "n negative": (lambda: fitted().query(X, n=-1), ValueError, "^n"),
    "n too large": (lambda: fitted().query(X, n=61), ValueError, "^n"),
    "n huge": (lambda: fitted().query(X, n=10**30), ValueError, "^n"),
    "n a float": (lambda: fitted().query(X, n=2.0), TypeError, "^n"),
    "n a truth": (lambda: fitted().query(X, n=True), TypeError, "^n"),
    "n None": (lambda: fitted().query(X, n=None), TypeError, "^n"),
    "draw unknown": (lambda: fitted().query(X, draw="best"), ValueError, "^draw"),
    "exclude too large": (lambda: fitted().query(X, exclude=[60]), ValueError, "^exclude"),
    "exclude negative": (lambda: fitted().query(X, exclude=[-1]), ValueError, "^exclude"),
    "exclude a short mask": (lambda: fitted().query(X, exclude=[True]), ValueError, "^exclude"),
    "exclude floats": (lambda: fitted().query(X, exclude=[0.5]), TypeError, "^exclude"),
    "exclude two dimensions": (lambda: fitted().query(X, exclude=[[0]]), ValueError, "^exclude"),
    "exclude all": (lambda: fitted().query(X, exclude=np.ones(60, bool)), ValueError, "^n"),
    "other features": (lambda: fitted().query(X[:, :2]), ValueError, "^X.*2 features"),
    "a million columns": (lambda: fitted().query(np.zeros((1, 10**6), "f4")), ValueError, "^X.*1000000 features"),
    "coef_ of another shape": (lambda: _with(fitted(), coef_=np.zeros(3)).predict(X), ValueError, "^coef_"),
    "coef_ NaN": (lambda: _with(fitted(), coef_=np.full((1, 4), np.nan)).predict(X), ValueError, "NaN"),
    "coef_ a word": (lambda: _with(fitted(), coef_="x").predict(X), ValueError, ""),
    # Other estimators.
    "estimator of nothing": (lambda: querist.query(object(), X), TypeError, "^estimator"),
    "estimator no function": (lambda: querist.query(FixedOutput(None), X), TypeError, "^estimator"),
    "probabilities of one column": (lambda: querist.query(FixedOutput(np.full((60, 1), 1.5)), X), ValueError, "^estimator"),
    "probabilities NaN": (lambda: querist.query(FixedOutput(np.full((60, 2), np.nan)), X), ValueError, "^estimator.*row 0"),
    "probabilities above 1": (lambda: querist.query(FixedOutput(np.full((60, 2), 2.0)), X), ValueError, "^estimator.*row 0"),
    "probabilities negative": (lambda: querist.query(FixedOutput(np.array([[1.5, -0.5]] * 60)), X), ValueError, "^estimator"),
    "probabilities of words": (lambda: querist.query(FixedOutput(np.full((60, 2), "a")), X), TypeError, "^estimator"),
    "probabilities of 3 dimensions": (lambda: querist.query(FixedOutput(np.zeros((60, 2, 2))), X), TypeError, "^estimator"),
    "no probabilities": (lambda: querist.query(FixedOutput(np.zeros((0, 2))), X[:0]), ValueError, "^X"),
    "scores infinite": (
        lambda: querist.query(FixedOutput(np.full(60, np.inf), "decision_function"), X),
        ValueError,
        "^estimator.*row 0",
    ),
    "rule of another loss": (lambda: querist.query(FixedOutput(np.full((60, 2), 0.5)), X, rule="nothing"), ValueError, "^rule"),
    # Streams.
    "stream of unknown loss": (lambda: stream(loss="logistc"), ValueError, "^loss"),
    "stream of unknown rule": (lambda: stream(rule="entrop"), ValueError, "^rule"),
    "stream of a pool's rule": (lambda: stream(rule="margin:share=0.1"), ValueError, "^rule.*pool"),
    "stream of a pool's warm rule": (
        lambda: stream(warm_rule="boundary", warm_labels=5),
        ValueError,
        "^warm_rule.*pool.*boundary:reach",
    ),
    "stream of no probability": (lambda: stream(rule="entropy", classes=[0, 1, 2, 3]), ValueError, "^rule"),
    "stream of an unknown step": (lambda: stream(step="fast"), ValueError, "^step"),
    "stream of a negative step": (lambda: stream(step="fixed:eta=-1"), ValueError, "^step"),
    "stream of unknown momentum": (lambda: stream(momentum="much"), ValueError, "^momentum"),
    "stream of beta 1": (lambda: stream(momentum="heavy-ball:beta=1"), ValueError, "^momentum"),
    "stream of one class": (lambda: stream(classes=[1]), ValueError, "^classes"),
    "stream of a class twice": (lambda: stream(classes=[1, 1]), ValueError, "^classes"),
    "stream of a string": (lambda: stream(classes="ab"), TypeError, "^classes"),
    "stream of l2 negative": (lambda: stream(l2=-1), ValueError, "^l2"),
    "stream of no features": (lambda: stream(features=0), ValueError, "^features"),
    "stream of half a feature": (lambda: stream(features=0.5), TypeError, "^features"),
    "stream warm without labels": (lambda: stream(warm_rule="critical"), ValueError, "^warm_labels"),
    "stream warm by an unknown rule": (lambda: stream(warm_rule="hot", warm_labels=3), ValueError, "^warm_rule"),
    "offer nothing": (lambda: stream().offer([]), ValueError, "^x"),
    "offer None": (lambda: stream().offer(None), TypeError, "^x"),
    "offer a number": (lambda: stream().offer(1.0), TypeError, "^x"),
    "offer a string": (lambda: stream().offer("1"), TypeError, "^x"),
    "offer words": (lambda: stream().offer(["a"]), TypeError, "^x"),
    "offer two dimensions": (lambda: stream().offer(X), TypeError, "^x"),
    "offer complex": (lambda: stream().offer(X[0] + 0j), TypeError, "^x"),
    "offer NaN": (lambda: stream().offer([float("nan")]), ValueError, "^x.*feature 0"),
    "offer too much": (lambda: stream().offer(np.array([0.0, 1e39])), ValueError, "^x.*feature 1"),
    "offer huge numbers": (lambda: stream().offer([10**400]), (TypeError, ValueError), "^x"),
    "offer fewer": (lambda: [stream(features=2).offer(x) for x in ([1.0],)], ValueError, "^x.*need 2"),
    "offer dict after list": (lambda: _both([1.0], {"a": 1.0}), TypeError, "^x"),
    "offer list after dict": (lambda: _both({"a": 1.0}, [1.0]), TypeError, "^x"),
    "offer dict of words": (lambda: stream().offer({"a": "b"}), TypeError, "^x"),
    "offer dict of NaN": (lambda: stream().offer({"a": float("inf")}), ValueError, '^x.*"a"'),
    "offer dict by numbers": (lambda: stream().offer({1: 1.0}), TypeError, "^x"),
    "answer twice": (lambda: _twice(), ValueError, "^ask.*already"),
    "answer another's": (lambda: stream().answer(asked()[1], 1), ValueError, "^ask.*another"),
    "answer no ask": (lambda: stream().answer(1, 1), TypeError, "ask"),
    "answer an unknown label": (lambda: asked()[0].answer(asked()[1], 1), ValueError, "^ask"),
    "answer NaN": (lambda: _answer(float("nan")), ValueError, "^y"),
    "answer 2": (lambda: _answer(2), ValueError, "^y"),
    "answer a list": (lambda: _answer([1]), TypeError, "^y"),
    "diverging steps": (lambda: _diverge(), querist.QueristError, "diverges"),
    # Pickles and files.
    "a cut pickle of a classifier": (lambda: pickle.loads(pickle.dumps(fitted())[:-40]), Exception, ""),
    "a cut pickle of a stream": (lambda: pickle.loads(pickle.dumps(stream())[:-10]), Exception, ""),
    "a stream of other words": (lambda: stream().restore(([1, 2, 3], 2, [], [], 0)), ValueError, "^state"),
    "a stream of a larger one": (lambda: stream(classes=[0, 1, 2]).restore(asked()[0].state()), ValueError, "^state"),
    "an ask of odd parts": (lambda: _querist.made_ask(1, 2.0, 0, None, [1.0]), ValueError, "^ask"),
    "an ask of unsorted parts": (lambda: _querist.made_ask(1, 0.5, 0, [2, 1], [1.0, 1.0]), ValueError, "^ask"),
    "load nothing": (lambda: querist.ActiveClassifier.load("no/such/file"), FileNotFoundError, ""),
    "load a folder": (lambda: querist.ActiveClassifier.load("."), OSError, ""),
    "load this": (lambda: querist.ActiveClassifier.load(__file__), querist.QueristError, "not a Querist model file"),
    "save to nowhere": (lambda: fitted().save("no/such/folder/m"), OSError, ""),
    "load a number": (lambda: querist.ActiveClassifier.load(3), TypeError, ""),
    # Estimates.
    "estimate of nothing": (lambda: querist.estimate([], [], pool=5), ValueError, "^values"),
    "estimate without a pool": (lambda: querist.estimate([1.0], [0.5]), TypeError, "^pool"),
    "estimate without probabilities": (lambda: querist.estimate([1.0], pool=5), TypeError, "^probabilities"),
    "estimate of a small pool": (lambda: querist.estimate([1.0] * 3, [0.5] * 3, pool=2), ValueError, "^pool"),
    "estimate of a pool of words": (lambda: querist.estimate([1.0], [0.5], pool="9"), TypeError, "^pool"),
    "estimate with probability 0": (lambda: querist.estimate([1.0], [0.0], pool=9), ValueError, "^probabilities"),
    "estimate with probability 2": (lambda: querist.estimate([1.0], [2.0], pool=9), ValueError, "^probabilities"),
    "estimate with NaN": (lambda: querist.estimate([np.nan], [0.5], pool=9), ValueError, "^values"),
    "estimate of other lengths": (lambda: querist.estimate([1.0], [0.5, 0.5], pool=9), ValueError, "^probabilities"),
    "estimate with a high floor": (lambda: querist.estimate([1.0], [0.5], pool=9, floor=0.9), ValueError, "^probabilities"),
    "estimate with odd bounds": (lambda: querist.estimate([1.0], [0.5], pool=9, bounds=(1, 0)), ValueError, "^bounds"),
    "estimate with one bound": (lambda: querist.estimate([1.0], [0.5], pool=9, bounds=3), TypeError, "^bounds"),
    "estimate too sure": (lambda: querist.estimate([1.0], [0.5], pool=9, confidence=1.0), ValueError, "^confidence"),
    "estimate of words": (lambda: querist.estimate(["a"], [0.5], pool=9), TypeError, "^values"),
    "estimate of a table": (lambda: querist.estimate(X, [0.5], pool=9), ValueError, "^values"),
    "a metric of nothing else": (lambda: querist.estimate(HALVES, [0.5], metric="recall"), TypeError, "^rows"),
    "a metric without labels": (lambda: querist.estimate(HALVES, [0.5], rows=[0]), TypeError, "^labels"),
    "a metric without probabilities": (lambda: querist.estimate(HALVES, rows=[0], labels=[1]), TypeError, "^probabilities"),
    "an unknown metric": (lambda: querist.estimate(HALVES, [0.5], rows=[0], labels=[1], metric="auc"), ValueError, "^metric"),
    "a metric of no class": (
        lambda: querist.estimate(HALVES, [0.5], rows=[0], labels=[1], metric="f1", pos_label=2),
        ValueError,
        "^pos_label",
    ),
    "accuracy of one class": (
        lambda: querist.estimate(HALVES, [0.5], rows=[0], labels=[1], metric="accuracy", pos_label=1),
        TypeError,
        "^pos_label",
    ),
    "log loss of one class": (
        lambda: querist.estimate(HALVES, [0.5], rows=[0], labels=[1], metric="log-loss", pos_label=1),
        TypeError,
        "^pos_label",
    ),
    "the default metric of one class": (
        lambda: querist.estimate(HALVES, [0.5], rows=[0], labels=[1], pos_label=1),
        TypeError,
        "^pos_label",
    ),
    "values of one class": (lambda: querist.estimate([1.0], [0.5], pool=9, pos_label=1), TypeError, "^pos_label"),
    "a bounded metric": (
        lambda: querist.estimate(HALVES, [0.5], rows=[0], labels=[1], bounds=(0, 2)),
        TypeError,
        "^bounds",
    ),
    "a metric of another pool": (lambda: querist.estimate(HALVES, [0.5], rows=[0], labels=[1], pool=3), ValueError, "^pool"),
    "log loss of nothing": (lambda: querist.estimate_log_loss(HALVES, [], [], []), ValueError, "^rows"),
    "log loss of a row": (lambda: querist.estimate_log_loss([0.5, 0.5], [0], [1], [0.5]), ValueError, "^predicted"),
    "log loss of words": (lambda: querist.estimate_log_loss([["a"]], [0], [0], [0.5]), TypeError, "^predicted"),
    "log loss of certainty": (lambda: querist.estimate_log_loss([[0.0, 1.0]], [0], [1], [1.0]), ValueError, "^predicted"),
    "log loss of scores": (lambda: querist.estimate_log_loss([[3.0, 1.0]], [0], [1], [1.0]), ValueError, "^predicted"),
    "log loss of half a row": (lambda: querist.estimate_log_loss(HALVES, [0.5], [1], [0.5]), TypeError, "^rows"),
    "log loss of no row": (lambda: querist.estimate_log_loss(HALVES, [9], [1], [0.5]), ValueError, "^rows"),
    "log loss of a row before": (lambda: querist.estimate_log_loss(HALVES, [-1], [1], [0.5]), ValueError, "^rows"),
    "log loss of a row twice": (lambda: querist.estimate_log_loss(HALVES, [1, 1], [1, 1], [0.5, 1]), ValueError, "^rows"),
    "log loss of no class": (lambda: querist.estimate_log_loss(HALVES, [0], [2], [0.5]), ValueError, "^labels"),
    "log loss of names": (lambda: querist.estimate_log_loss(HALVES, [0], ["b"], [0.5]), TypeError, "^labels"),
    "log loss of two labels": (lambda: querist.estimate_log_loss(HALVES, [0], [1, 1], [0.5]), ValueError, "^labels"),
    "log loss of other draws": (lambda: querist.estimate_log_loss(HALVES, [0], [1], []), ValueError, "^probabilities"),
    "log loss of too many": (lambda: querist.estimate_log_loss(HALVES, [0] * 10, [1] * 10, [0.5] * 10), ValueError, "^rows"),
    "scores of nothing": (lambda: querist.estimate_scores(HALVES, [], [], []), ValueError, "^rows"),
    "scores of no pool": (lambda: querist.estimate_scores(HALVES[:0], [0], [1], [0.5]), ValueError, "^rows"),
    "scores without classes": (lambda: querist.estimate_scores(HALVES[:, :0], [0], [0], [0.5]), ValueError, "^labels"),
    "scores of classes": (lambda: querist.estimate_scores([1, 0], [0], [1], [0.5]), ValueError, "^predicted"),
    "scores of a table of classes": (lambda: querist.estimate_scores([[1, 0]], [0], [1], [1.0]), TypeError, "^predicted"),
    "scores of words": (lambda: querist.estimate_scores([["a"]], [0], [0], [0.5]), TypeError, "^predicted"),
    "scores of None": (lambda: querist.estimate_scores(None, [0], [0], [0.5]), ValueError, "^predicted"),
    "scores of NaN": (lambda: querist.estimate_scores([[np.nan, 0.5]], [0], [1], [1.0]), ValueError, "^predicted"),
    "scores of certainty": (lambda: querist.estimate_scores([[0.0, 1.0]], [0], [1], [1.0]), ValueError, "^predicted"),
    "scores of a row out of the pool": (lambda: querist.estimate_scores(HALVES, [9], [1], [0.5]), ValueError, "^rows"),
    "scores of a row before": (lambda: querist.estimate_scores(HALVES, [-1], [1], [0.5]), ValueError, "^rows"),
    "scores of a huge row": (lambda: querist.estimate_scores(HALVES, [2**64 - 1], [1], [0.5]), ValueError, "^rows"),
    "scores of a row twice": (lambda: querist.estimate_scores(HALVES, [1, 1], [1, 1], [0.5, 1]), ValueError, "^rows"),
    "scores of a mask": (lambda: querist.estimate_scores(HALVES, [True], [1], [0.5]), TypeError, "^rows"),
    "scores of a table of rows": (lambda: querist.estimate_scores(HALVES, [[0]], [1], [0.5]), ValueError, "^rows"),
    "scores of no class": (lambda: querist.estimate_scores(HALVES, [0], [2], [0.5]), ValueError, "^labels"),
    "scores of a class before": (lambda: querist.estimate_scores(HALVES, [0], [-1], [0.5]), ValueError, "^labels"),
    "scores of names": (lambda: querist.estimate_scores(HALVES, [0], ["b"], [0.5]), TypeError, "^labels"),
    "scores of two labels": (lambda: querist.estimate_scores(HALVES, [0], [1, 1], [0.5]), ValueError, "^labels"),
    "scores of other draws": (lambda: querist.estimate_scores(HALVES, [0], [1], []), ValueError, "^probabilities"),
    "scores with probability 0": (lambda: querist.estimate_scores(HALVES, [0], [1], [0.0]), ValueError, "^probabilities"),
    "scores with a high floor": (
        lambda: querist.estimate_scores(HALVES, [0], [1], [0.5], floor=0.9),
        ValueError,
        "^probabilities",
    ),
    "scores too sure": (
        lambda: querist.estimate_scores(HALVES, [0], [1], [0.5], confidence=1.0),
        ValueError,
        "^confidence",
    ),
    "scores sure by a word": (
        lambda: querist.estimate_scores(HALVES, [0], [1], [0.5], confidence="high"),
        TypeError,
        "^confidence",
    ),
}


def _with(clf: querist.ActiveClassifier, **attributes: Any) -> querist.ActiveClassifier:
    for name, value in attributes.items():
        setattr(clf, name, value)
    return clf


def _both(first: Any, second: Any) -> None:
    run = stream()
    run.offer(first)
    run.offer(second)


def _twice() -> None:
    run, ask = asked()
    run.answer(ask, 1)
    run.answer(ask, 1)


def _answer(y: Any) -> None:
    run, ask = asked()
    try:
        run.answer(ask, y)
    finally:
        assert run.counts.answered == 0
        run.answer(ask, 1)


def _diverge() -> None:
    run = stream(loss="exponential", step="fixed:eta=1e3")
    for label in (0, 1) * 50:
        ask = run.offer([100.0])
        assert ask is not None
        run.answer(ask, label)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("what", CALLS)
def test_invalid_calls_are_rejected(what: str) -> None:
    call, kind, pattern = CALLS[what]
    with pytest.raises(kind, match=pattern or None) as caught:
        call()
    assert isinstance(caught.value, Exception)
    assert "a bug in querist" not in str(caught.value)


@pytest.mark.parametrize("length", [0, 10, 40, 200, -1])
def test_a_truncated_or_damaged_model_file_is_rejected(tmp_path: Path, length: int) -> None:
    fitted().save(tmp_path / "model")
    whole = (tmp_path / "model").read_bytes()
    (tmp_path / "cut").write_bytes(whole[:length])
    with pytest.raises(querist.QueristError):
        querist.ActiveClassifier.load(tmp_path / "cut")
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    (tmp_path / "turned").write_bytes(flipped)
    with pytest.raises(querist.QueristError, match="checksum"):
        querist.ActiveClassifier.load(tmp_path / "turned")


CHANGES: dict[str, Callable[[list[float]], list[float]]] = {
    "none": lambda _: [],
    "fewer": lambda numbers: numbers[1:],
    "more": lambda numbers: [*numbers, 1.0],
    "no numbers": lambda numbers: [float("nan") for _ in numbers],
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_model_with_inconsistent_parts_is_rejected(tmp_path: Path, what: str) -> None:
    fitted().save(tmp_path / "model")
    text, arrays = _querist.read_model(str(tmp_path / "model"))
    header = {**json.loads(text), "features": [f"x{i}" for i in range(X.shape[1])]}
    inconsistent = [(name, CHANGES[what](numbers)) for name, numbers in arrays]
    _querist.write_model(str(tmp_path / "false"), json.dumps(header), inconsistent)
    with pytest.raises(querist.QueristError, match="the model"):
        querist.ActiveClassifier.load(tmp_path / "false")


def test_a_model_of_the_program_names_no_classes(program: str, tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[3]
    model = tmp_path / "model"
    flags = ["stream", "data/spambase.csv", "--label", "label", "--shuffle", "--model", str(model)]
    subprocess.run([program, *flags], cwd=root, check=True, capture_output=True)
    with pytest.raises(querist.QueristError, match="no classes"):
        querist.ActiveClassifier.load(model)


def test_read_only_arrays_are_read() -> None:
    assert np.array_equal(fitted().predict(READ_ONLY), fitted().predict(X))


def test_there_are_more_than_300_cases() -> None:
    assert 4 * len(ROWS) + len(CALLS) > 300
