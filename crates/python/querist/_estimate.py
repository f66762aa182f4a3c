"""Unbiased estimates from queried labels, without a test set."""

from __future__ import annotations

import json
import math
import os
import warnings
from dataclasses import dataclass
from html import escape
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from querist import _querist
from querist._arguments import is_integer

__all__ = ["ClassScores", "Estimate", "Scores", "estimate", "estimate_log_loss", "estimate_scores"]


class Estimate(NamedTuple):
    """An estimate of a pool statistic, with confidence intervals."""

    value: float
    """The estimate."""
    low: float
    """Lower end of the fixed-sample interval."""
    high: float
    """Upper end of the fixed-sample interval; infinity if the values have no upper bound."""
    anytime_low: float | None
    """Lower end of the anytime-valid interval; ``None`` for unbounded values."""
    anytime_high: float | None
    """Upper end of the anytime-valid interval."""
    confidence: float
    """The confidence of both intervals."""
    effective_n: float | None
    """The effective sample size: this many equally weighted draws are as informative."""
    draws: int
    """The number of draws."""
    warning: str | None
    """A reason for caution."""

    def to_dict(self) -> dict[str, object]:
        """Returns the fields by name."""
        return self._asdict()

    def __repr__(self) -> str:
        careful = f"; {self.warning}" if self.warning else ""
        ends = f"{self.low:.4g} to {self.high:.4g}"
        if math.isinf(self.high):
            ends = f"at least {self.low:.4g}, no upper bound,"
        return f"{self.value:.4g} ({ends} with {self.confidence:.0%} confidence, {self.draws} draws){careful}"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>"


@dataclass(frozen=True)
class ClassScores:
    """The scores of a classifier on one class of a pool."""

    precision: Estimate | None
    """The share of rows of the class among rows predicted as the class; ``None`` if no drawn row is predicted so."""
    recall: Estimate | None
    """The share of rows predicted as the class among rows of the class; ``None`` if no drawn row is of the class."""
    f1: Estimate | None
    """The harmonic mean of precision and recall; ``None`` if both are ``None``."""


@dataclass(frozen=True)
class Scores:
    """The scores of a classifier on a pool."""

    accuracy: Estimate
    """The share of correctly classified rows."""
    log_loss: Estimate
    """The mean of −ln of the predicted probability of the label."""
    classes: tuple[ClassScores, ...]
    """The scores on each class, in the order of the columns."""


@overload
def estimate(
    values: object,
    probabilities: object = None,
    *,
    metric: Literal["all"],
    rows: object = None,
    labels: object = None,
    pos_label: int | None = None,
    pool: int | None = None,
    floor: object = 0.0,
    bounds: tuple[float, float] | None = (0.0, 1.0),
    confidence: float = 0.95,
) -> Scores: ...


@overload
def estimate(
    values: object,
    probabilities: object = None,
    *,
    metric: Literal["accuracy", "log-loss", "precision", "recall", "f1"] | None = None,
    rows: object = None,
    labels: object = None,
    pos_label: int | None = None,
    pool: int | None = None,
    floor: object = 0.0,
    bounds: tuple[float, float] | None = (0.0, 1.0),
    confidence: float = 0.95,
) -> Estimate: ...


def estimate(
    values: object,
    probabilities: object = None,
    *,
    metric: str | None = None,
    rows: object = None,
    labels: object = None,
    pos_label: int | None = None,
    pool: int | None = None,
    floor: object = 0.0,
    bounds: tuple[float, float] | None = (0.0, 1.0),
    confidence: float = 0.95,
) -> Estimate | Scores:
    """Estimates a mean or a metric over a pool from the drawn rows, without bias, with confidence intervals.

    Queried rows are not a random sample, and their plain average is biased. LURE weights (Farquhar, Gal and Rainforth 2021)
    correct this, whatever the rule was, however it changed, and whichever model is judged. If draws do not represent a part
    of the pool, the interval includes what that part could be, and ``warning`` has its share.

    Parameters
    ----------
    values : array-like of shape (draws,) or (pool, classes), or str or path
        Either the value of each drawn row, in the order of the draws: a loss, or booleans (``predicted == label``), whose
        share is estimated. Or ``predict_proba`` of *every* row in the pool at the start, with ``rows`` and ``labels``: a
        metric is estimated, and its interval accounts for errors on rows that were not drawn. Each must come from a model
        that had not seen the row's label. Or the path of a ledger of ``querist pool`` or ``querist label``, for the last
        estimate recorded in it. A ledger that may have lost answers emits a ``UserWarning``, which is also the ``warning``
        of the estimate.
    probabilities : array-like
        The probabilities that ``query(..., return_probabilities=True)`` returned with the rows.
    metric : {"accuracy", "log-loss", "precision", "recall", "f1", "all"}, default="accuracy"
        The metric, for predictions of the whole pool. The predicted class is the likeliest one, the first if tied. "all"
        returns :class:`Scores`. Predictions of exactly 0 have no log loss; the other metrics accept them.
    rows : array-like of int
        The index in the pool of each drawn row, in the order of the draws, for predictions of the whole pool.
    labels : array-like of int
        The label of each drawn row, as a column of the predictions.
    pos_label : int
        The column of the class for precision, recall and F1; by default 1 of two classes. If no draw counts in the metric,
        the value is NaN and the interval is (0, 1).
    pool : int
        The number of rows in the pool at the start, for values of the drawn rows.
    floor : float or array-like, default=0
        A lower bound on the probability of every remaining row, for each draw. It makes anytime-valid intervals shorter.
    bounds : (low, high) or None, default=(0, 1)
        The range of values of the drawn rows, which are clipped to it. ``None`` means unbounded: then there is no
        anytime-valid interval.
    confidence : float, default=0.95
        The confidence level of the intervals, from 0.5 to 0.9999.

    >>> import numpy as np, querist
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 2)); y = (X[:, 0] + rng.normal(size=5000) > 0).astype(int)
    >>> clf = querist.ActiveClassifier(rule="margin:mu=1", random_state=0).fit(X[:100], y[:100])
    >>> X, y = X[100:], y[100:]
    >>> places, p = clf.query(X, n=400, return_probabilities=True)
    >>> found = querist.estimate(clf.predict(X[places]) == y[places], p, pool=4900)
    >>> bool(found.low < clf.score(X, y) < found.high)
    True
    >>> found = querist.estimate(clf.predict_proba(X), p, rows=places, labels=y[places], metric="recall")
    >>> bool(found.low < clf.predict(X)[y == 1].mean() < found.high)
    True
    """
    has_bounds = bounds is None or _ends(bounds) != _BOUNDS
    if isinstance(values, (str, os.PathLike)):
        _reject(
            "a ledger has its own",
            probabilities=probabilities is not None,
            pool=pool is not None,
            floor=not np.isscalar(floor) or floor != 0,
        )
        _reject(
            "does not apply to a ledger; the result is the last estimate recorded in it",
            metric=metric is not None,
            rows=rows is not None,
            labels=labels is not None,
            pos_label=pos_label is not None,
            bounds=has_bounds,
            confidence=confidence != _CONFIDENCE,
        )
        return _recorded(values)
    if rows is not None or labels is not None or metric is not None:
        chosen = metric or "accuracy"
        _reject("does not apply to a metric; it is for values of the drawn rows", bounds=has_bounds)
        found: Estimate | Scores = _metric(values, probabilities, chosen, rows, labels, pos_label, pool, floor, confidence)
        return found
    _reject("does not apply to values of the drawn rows; it is for the metrics " + _OF_CLASS, pos_label=pos_label is not None)
    if probabilities is None or pool is None:
        raise TypeError(f"{'probabilities' if probabilities is None else 'pool'}: is missing")
    truths = np.asarray(values).dtype == bool
    numbers = _column("values", values)
    chances, floors = _draws(len(numbers), "values", probabilities, floor)
    if not is_integer(pool):
        raise TypeError(f"pool: need a whole number, not {type(pool).__name__}")
    if not 0 < pool < 2**62:
        raise ValueError(f"pool: {pool}, need the number of rows that could be drawn")
    ends = None if bounds is None or truths else _ends(bounds)
    sure = _confidence(confidence)
    return _to_estimate(_querist.estimate(numbers, bool(truths), chances, floors, int(pool), ends, sure))


def estimate_log_loss(
    predicted: object,
    rows: object,
    labels: object,
    probabilities: object,
    *,
    floor: object = 0.0,
    confidence: float = 0.95,
) -> Estimate:
    """Estimates the mean log loss over a pool: ``estimate`` with the metric "log-loss".

    >>> import numpy as np, querist
    >>> predicted = np.full((100, 2), [0.9, 0.1])
    >>> found = querist.estimate_log_loss(predicted, [3, 7], [0, 0], [0.01, 0.01])
    >>> found == querist.estimate(predicted, [0.01, 0.01], rows=[3, 7], labels=[0, 0], metric="log-loss")
    True
    """
    found: Estimate = _metric(predicted, probabilities, "log-loss", rows, labels, None, None, floor, confidence)
    return found


def estimate_scores(
    predicted: object,
    rows: object,
    labels: object,
    probabilities: object,
    *,
    floor: object = 0.0,
    confidence: float = 0.95,
) -> Scores:
    """Estimates all metrics over a pool: ``estimate`` with the metric "all".

    >>> import numpy as np, querist
    >>> predicted = np.full((100, 2), [0.9, 0.1])
    >>> found = querist.estimate_scores(predicted, [3, 7], [0, 0], [0.01, 0.01])
    >>> found == querist.estimate(predicted, [0.01, 0.01], rows=[3, 7], labels=[0, 0], metric="all")
    True
    """
    found: Scores = _metric(predicted, probabilities, "all", rows, labels, None, None, floor, confidence)
    return found


_METRICS = ("accuracy", "log-loss", "precision", "recall", "f1", "all")

_OF_CLASS = "precision, recall and f1"
"""The metrics of a class, in messages."""

_BOUNDS = (0.0, 1.0)
_CONFIDENCE = 0.95

_LEAST_PROBABILITY = 1e-12
"""Predictions are at least this, where 0 is allowed."""


def _reject(reason: str, **is_set: bool) -> None:
    """Raises for the first argument that is set, as it does not apply."""
    for name in (name for name, was_set in is_set.items() if was_set):
        raise TypeError(f"{name}: {reason}")


def _metric(
    values: Any,
    probabilities: Any,
    metric: str,
    rows: Any,
    labels: Any,
    pos_label: Any,
    pool: Any,
    floor: Any,
    confidence: Any,
) -> Any:
    """Estimates a metric of a model that predicted the whole pool."""
    if metric not in _METRICS:
        raise ValueError(f"metric: {metric!r}, need one of {', '.join(_METRICS)}")
    for name, argument in (("probabilities", probabilities), ("rows", rows), ("labels", labels)):
        if argument is None:
            raise TypeError(
                f"{name}: is missing; a metric needs the predictions of the whole pool, and rows and labels of the draws"
            )
    _reject(
        f"does not apply to the metric {metric!r}; it is for {_OF_CLASS}",
        pos_label=pos_label is not None and metric in ("accuracy", "log-loss", "all"),
    )
    judged = _judged(values, rows, labels, probabilities, floor, confidence, metric not in ("log-loss", "all"))
    count, classes = judged[0].shape
    if pool is not None and pool != count:
        raise ValueError(f"pool: {pool}, but there are predictions for {count} rows")
    if metric == "log-loss":
        return _to_estimate(_querist.log_loss(judged))
    accuracy, log_loss, of_classes = _querist.pool_scores(judged)
    if metric == "accuracy":
        return _to_estimate(accuracy)
    each = tuple(ClassScores(*(found and _to_estimate(found) for found in of_class)) for of_class in of_classes)
    if metric == "all":
        return Scores(_to_estimate(accuracy), _to_estimate(log_loss), each)
    found = getattr(each[_positive(pos_label, classes)], metric)
    if found is None:
        draws = len(judged[1])
        return Estimate(math.nan, 0.0, 1.0, 0.0, 1.0, judged[-1], 0.0, draws, f"none of the draws counts in the {metric}")
    return found


def _positive(pos_label: Any, classes: int) -> int:
    if pos_label is None:
        if classes != 2:
            raise TypeError(f"pos_label: is missing; there are {classes} classes")
        return 1
    if not is_integer(pos_label):
        raise TypeError(f"pos_label: need a whole number, not {type(pos_label).__name__}")
    if not 0 <= pos_label < classes:
        raise ValueError(f"pos_label: {pos_label}, need a column from 0 to {classes - 1}")
    return int(pos_label)


def _judged(
    predicted: Any, rows: Any, labels: Any, probabilities: Any, floor: Any, confidence: Any, zeros: bool
) -> tuple[np.ndarray, list[int], list[int], np.ndarray, np.ndarray, float]:
    """Checks and returns the predictions; row, label, probability and floor of each draw; and the confidence."""
    table = np.asarray(predicted)
    if table.ndim != 2:
        raise ValueError(f"predicted: need two dimensions, not {table.ndim}")
    if table.dtype.kind != "f":
        raise TypeError(f"predicted: need numbers, not dtype {table.dtype}")
    predictions = np.ascontiguousarray(table, dtype=np.float64)
    if zeros and (predictions >= 0).all():
        predictions = np.maximum(predictions, _LEAST_PROBABILITY)
    if not ((predictions > 0) & (predictions <= 1 + 1e-9)).all():
        raise ValueError("predicted: need probabilities above 0")
    row_indices, columns = _indices("rows", rows, predictions.shape[0]), _indices("labels", labels, predictions.shape[1])
    if not row_indices:
        raise ValueError("rows: nothing has been drawn yet")
    if len(set(row_indices)) < len(row_indices):
        raise ValueError("rows: a row was drawn twice")
    if len(columns) != len(row_indices):
        raise ValueError(f"labels: {len(columns)} for {len(row_indices)} rows")
    chances, floors = _draws(len(row_indices), "rows", probabilities, floor)
    return predictions, row_indices, columns, chances, floors, _confidence(confidence)


def _to_estimate(found: tuple[Any, ...]) -> Estimate:
    value, low, high, anytime, confidence, effective, draws, warning = found
    least, most = anytime if anytime is not None else (None, None)
    return Estimate(value, low, high, least, most, confidence, effective, draws, warning)


def _confidence(confidence: Any) -> float:
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float, np.floating)):
        raise TypeError(f"confidence: need a number, not {type(confidence).__name__}")
    if not 0.5 <= confidence <= 0.9999:
        raise ValueError(f"confidence: {confidence}, need 0.5 <= confidence <= 0.9999")
    return float(confidence)


def _draws(count: int, what: str, probabilities: Any, floor: Any) -> tuple[np.ndarray, np.ndarray]:
    chances = _column("probabilities", probabilities)
    floors = _column("floor", np.full(len(chances), floor) if np.ndim(floor) == 0 else floor)
    if count != len(chances) or len(floors) != len(chances):
        raise ValueError(f"probabilities: {len(chances)} for {count} {what} and {len(floors)} floors")
    return chances, floors


def _indices(name: str, values: Any, count: int) -> list[int]:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name}: need one dimension, not {array.ndim}")
    if array.dtype.kind not in "iu" and len(array) > 0:
        raise TypeError(f"{name}: need whole numbers, not dtype {array.dtype}")
    if ((array < 0) | (array >= count)).any():
        raise ValueError(f"{name}: need places from 0 to {count - 1} in `predicted`")
    return [int(index) for index in array]


def _column(name: str, values: Any) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name}: need one dimension, not {array.ndim}")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name}: need numbers, not dtype {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.float64)


def _ends(bounds: Any) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in bounds)
    except (TypeError, ValueError):
        raise TypeError(f"bounds: need two numbers or None, not {bounds!r}") from None
    return low, high


def _recorded(path: str | os.PathLike[str]) -> Estimate:
    path_text = os.fspath(path)
    if not os.path.exists(path_text):
        raise FileNotFoundError(f"values: there is no ledger {path_text}")
    command, finished, measured, missing = _querist.recorded(path_text)
    if missing is not None:
        warnings.warn(f"{path_text}: {missing}", UserWarning, stacklevel=3)
    if measured is not None:
        value, low, high, labels = measured
        return Estimate(value, low, high, None, None, _CONFIDENCE, None, labels, missing)
    result = json.loads(finished) if finished else {}
    found = result.get("estimate")
    if not found:
        what = f"a run of `querist {command}`" if command else "a run"
        raise _querist.QueristError(
            f"{path_text}: {what} that has recorded no estimate: either it has not ended, or it has no pool with probabilities"
        )
    value = found.get("accuracy", found.get("loss"))
    # Infinities are strings in JSON.
    anytime_low, anytime_high = (
        None if found[name] is None else float(found[name]) for name in ("anytime_low", "anytime_high")
    )
    return Estimate(
        float(value),
        float(found["low"]),
        float(found["high"]),
        anytime_low,
        anytime_high,
        float(found["confidence"]),
        float(found["effective_n"]),
        int(result["asked"]),
        "; ".join(filter(None, [missing, found.get("warning")])) or None,
    )
