"""Models from files: predictions, and conversion to scikit-learn."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from querist import _querist
from querist._arrays import tables_collected
from querist._rows import rows
from querist._select import pool_path, selector

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

_Header = dict[str, Any]

__all__ = ["Model", "load"]


def load(path: str | os.PathLike[str]) -> Model:
    """Loads a model from its file, whatever wrote it: a labeling session, a pool, a stream, or :meth:`ActiveClassifier.save`.

    >>> import os, tempfile, querist
    >>> path = os.path.join(tempfile.mkdtemp(), "model.querist")
    >>> querist.ActiveClassifier(l2=1.0).fit([[0.0], [1.0]], ["a", "b"]).save(path)
    >>> model = querist.load(path)
    >>> model.predict([[3.0]]).tolist(), model.classes_.tolist()
    (['b'], ['a', 'b'])
    """
    where = os.fspath(path)
    if not os.path.isfile(where):
        raise FileNotFoundError(f"path: there is no file {where!r}")
    text, arrays = _querist.read_model(where)
    with open(where, "rb") as file:
        return Model(where, file.read(), json.loads(text), dict(arrays))


class Model:
    """A finished model: it predicts rows of files, tables and arrays. :func:`load` returns it.

    Rows are a path of a file, a folder or a pattern; or a table of pandas, polars or pyarrow. They need the columns that the
    model was trained on, under the same names; other columns are ignored. A model of :class:`ActiveClassifier` without feature
    names predicts arrays instead.

    Attributes
    ----------
    classes_ : ndarray or None
        The classes, in the order of the columns of ``predict_proba``; ``None`` for regression.
    columns : list of str or None
        The columns that the model reads; ``None`` if its features have no names.
    loss, rule : str
        The loss it was trained with, and the rule that queried its labels.
    kind : str
        ``"linear"``, ``"kernel"`` or ``"forest"``.
    """

    def __init__(self, path: str, data: bytes, header: _Header, arrays: dict[str, list[float]]) -> None:
        self._path = path
        self._data = data
        self._header = header
        self._arrays = arrays
        self._encoder: dict[str, Any] | None = header.get("encoder")
        self.loss: str = header["loss"]
        self.rule: str = header["rule"]
        self.kind: str = header.get("kind", "linear")
        self._outputs: int = header["outputs"]
        self.classes_ = self._classes()
        if self._encoder is not None:
            self.columns: list[str] | None = [field["column"] for field in self._encoder["fields"]]
        else:
            self.columns = header.get("features")

    def _classes(self) -> NDArray[np.generic] | None:
        if self._encoder is None and "classes" in self._header:
            return np.array(self._header["classes"], dtype=np.dtype(self._header["classes_dtype"]))
        labels = (self._encoder or {}).get("labels")
        if labels and labels["classes"]:
            names = labels["classes"]
            # The score of two classes is that of the positive one, the second column.
            return np.array(names if len(names) != 2 or labels["positive"] == 1 else names[::-1])
        if self.loss == "squared":
            return None
        return np.array(["-1", "1"]) if self._outputs == 1 else np.arange(self._outputs)

    def __repr__(self) -> str:
        kind = "regression" if self.classes_ is None else f"{len(self.classes_)} classes"
        reads = "arrays" if self.columns is None else f"{len(self.columns)} columns"
        return f"Model({self._path!r}, loss={self.loss!r}, {kind}, reads {reads})"

    def to_bytes(self) -> bytes:
        """Returns the bytes of the file."""
        return self._data

    def decision_function(self, X: object) -> NDArray[np.float64]:
        """Returns the scores: one for each row for two classes and for regression, otherwise one for each class."""
        scores = self._scores(X)
        return scores.ravel() if self._outputs == 1 else scores

    def predict(self, X: object) -> NDArray[np.generic]:
        """Returns the class of every row; for regression, its number."""
        scores = self._scores(X)
        if self.classes_ is None:
            return scores.ravel()
        decided = (scores[:, 0] >= 0).astype(np.intp) if self._outputs == 1 else scores.argmax(axis=1)
        predicted: NDArray[np.generic] = self.classes_[decided]
        return predicted

    def predict_proba(self, X: object) -> NDArray[np.float64]:
        """Returns the probability of each class of every row."""
        n_classes = 0 if self.classes_ is None else len(self.classes_)
        found = None if n_classes == 0 else _querist.probabilities(np.empty((0, self._outputs)), self.loss, n_classes)
        if found is None:
            raise ValueError(f"predict_proba: the loss {self.loss!r} defines no probabilities; use decision_function")
        found = _querist.probabilities(self._scores(X), self.loss, n_classes)
        assert found is not None
        return found

    def _scores(self, X: object) -> NDArray[np.float64]:
        X = tables_collected(X)
        is_path = isinstance(X, (str, os.PathLike))
        if self.columns is not None and (is_path or hasattr(X, "__arrow_c_stream__")):
            made = selector(self._data, 0, 0, "constant", None, None, [])
            return made.file_scores(pool_path(X, "X")) if is_path else made.scores(X)
        if is_path:
            raise TypeError("X: the features of this model have no names, so it cannot read files; pass an array")
        if self._encoder is not None:
            columns = ", ".join((self.columns or [])[:5])
            raise TypeError(f"X: need a file or a table with the columns {columns}, not {type(X).__name__}")
        parameters = np.asarray(self._arrays["mean"], dtype=np.float64)
        return _querist.scores(rows(X).made, parameters, self._outputs)

    def to_sklearn(self) -> Pipeline:
        """Returns a fitted pipeline of scikit-learn with the same predictions: ``StandardScaler``, then a linear model.

        The columns have to be numbers. The pipeline predicts ``table[model.columns]``; the two differ by rounding alone,
        because Querist stores features in single precision. A missing number, which the model may replace, is an error in the
        pipeline.
        """
        from sklearn.pipeline import make_pipeline

        if self.kind != "linear":
            raise self._impossible(f"it is a {self.kind} model")
        steps = [self._scaler(), self._linear()]
        return make_pipeline(*(step for step in steps if step is not None))

    def _scaler(self) -> Any:
        from sklearn.preprocessing import StandardScaler

        if self._encoder is None:
            return None
        if self._encoder.get("kernel") is not None:
            raise self._impossible("it has kernel features, which scikit-learn does not compute from the same landmarks")
        other = [field["column"] for field in self._encoder["fields"] if not _is_number(field["coding"])]
        if other:
            shown = ", ".join(repr(name) for name in other[:5]) + (", …" if len(other) > 5 else "")
            raise self._impossible(f"not all its columns are numbers: {shown}")
        if len(self._arrays["mean"]) != (len(self.columns or []) + 1) * self._outputs:
            raise self._impossible("it has features for missing cells")
        if not self._encoder["standardize"]:
            return None
        scales = [field["coding"]["number"] for field in self._encoder["fields"]]
        scaler = StandardScaler()
        scaler.mean_ = np.array([scale.get("offset", 0.0) + scale["mean"] for scale in scales])
        deviations = np.array([scale["deviation"] for scale in scales])
        # A column that was constant is measured in units of its number.
        units = np.where(np.abs(scaler.mean_) >= np.finfo(np.float32).tiny, np.abs(scaler.mean_), 1.0)
        scaler.scale_ = np.where(deviations == 0, units, deviations)
        scaler.var_ = scaler.scale_**2
        scaler.n_samples_seen_ = 1
        return self._with_features(scaler, len(scales))

    def _linear(self) -> Any:
        from sklearn.linear_model import LinearRegression, LogisticRegression

        table = np.array(self._arrays["mean"]).reshape(-1, self._outputs)
        coef, intercept = np.ascontiguousarray(table[:-1].T), table[-1].copy()
        if self.classes_ is None:
            model: Any = LinearRegression()
            model.coef_, model.intercept_ = coef[0], float(intercept[0])
        elif self.loss in ("logistic", "cross-entropy"):
            model = LogisticRegression()
            model.classes_, model.coef_, model.intercept_ = self.classes_, coef, intercept
            model.n_iter_ = np.zeros(1, dtype=np.int32)
        else:
            raise self._impossible(f"its loss is {self.loss!r}, and LogisticRegression has the logistic loss")
        first = self._encoder is None or not self._encoder["standardize"]
        return self._with_features(model, len(coef[0])) if first else _with_count(model, len(coef[0]))

    def _with_features(self, step: Any, count: int) -> Any:
        """Sets what the first step of a pipeline knows about its input."""
        if self.columns is not None:
            step.feature_names_in_ = np.array(self.columns, dtype=object)
        return _with_count(step, count)

    def _impossible(self, why: str) -> ValueError:
        return ValueError(f"to_sklearn: {self._path}: the model has no equal in scikit-learn, because {why}")


def _with_count(step: Any, count: int) -> Any:
    step.n_features_in_ = count
    return step


def _is_number(coding: object) -> bool:
    return isinstance(coding, dict) and "number" in coding
