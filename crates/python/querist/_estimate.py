"""Honest numbers from labels that were asked for: no test set, no bias."""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

from querist import _querist
from querist._arguments import is_integer

__all__ = ["ClassScores", "Estimate", "Scores", "estimate", "estimate_log_loss", "estimate_scores"]


class Estimate(NamedTuple):
    """A number over a whole pool, and how far it can be trusted."""

    value: float
    """The estimate."""
    low: float
    """Lower end of the interval for who looks once."""
    high: float
    """Upper end of the interval for who looks once."""
    anytime_low: float | None
    """Lower end of the interval for who looks after every label; none for unbounded values."""
    anytime_high: float | None
    """Upper end of it."""
    confidence: float
    """The confidence of both intervals."""
    effective_n: float | None
    """As many equally weighted draws say as much."""
    draws: int
    """How many draws it rests on."""
    warning: str | None
    """Why to be careful."""

    def to_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return self._asdict()

    def __repr__(self) -> str:
        careful = f"; {self.warning}" if self.warning else ""
        return (
            f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g} with {self.confidence:.0%} confidence, "
            f"{self.draws} draws){careful}"
        )

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>"


@dataclass(frozen=True)
class ClassScores:
    """How a classifier does on one class of a whole pool."""

    precision: Estimate | None
    """Of the rows it says are of the class, the share that are; none if it said so of no drawn row."""
    recall: Estimate | None
    """Of the rows of the class, the share it says are; none if no drawn row is."""
    f1: Estimate | None
    """The harmonic mean of both; none if both are."""


@dataclass(frozen=True)
class Scores:
    """How a classifier does on a whole pool."""

    accuracy: Estimate
    """The share of rows it is right about."""
    log_loss: Estimate
    """The mean of −ln of the probability it gave to the label."""
    classes: tuple[ClassScores, ...]
    """How it does on each class, in the order of the columns."""


def estimate(
    values: Any,
    probabilities: Any = None,
    *,
    pool: int | None = None,
    floor: Any = 0.0,
    bounds: tuple[float, float] | None = (0.0, 1.0),
    confidence: float = 0.95,
) -> Estimate:
    """The mean of a value over a whole pool, from the rows that were drawn, without bias, with its intervals.

    Rows that were asked for are a chosen sample, and a plain average over them is wrong. Levelled weights (Farquhar, Gal and
    Rainforth 2021) put it right, whatever the rule was and however it changed.

    Parameters
    ----------
    values : array-like, or str or path
        The value of each drawn row, in the order of the draws: a loss, or truths (``predicted == label``), whose share
        is estimated. Each must come from a model that had not seen the row's label. Or the path of a ledger of
        ``querist pool`` or ``querist label``: then the last estimate that was recorded in it. A ledger that may have lost
        answers gives a ``UserWarning``, and the ``warning`` of the estimate says so.
    probabilities : array-like
        What ``query(..., return_probabilities=True)`` gave with each row.
    pool : int
        How many rows could be drawn at the start.
    floor : float or array-like, default=0
        No row that was left had a smaller probability, at each draw; makes intervals at all times shorter.
    bounds : (low, high) or None, default=(0, 1)
        Values lie within, or are clipped to it. ``None``: unbounded; then there is no interval at all times.
    confidence : float, default=0.95
        Of the intervals, from 0.5 to 0.9999.

    >>> import numpy as np, querist
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 2)); y = (X[:, 0] + rng.normal(size=5000) > 0).astype(int)
    >>> clf = querist.ActiveClassifier(rule="margin:mu=1", random_state=0).fit(X[:100], y[:100])
    >>> places, p = clf.query(X[100:], n=400, return_probabilities=True)
    >>> found = querist.estimate(clf.predict(X[100:][places]) == y[100:][places], p, pool=4900)
    >>> truth = clf.score(X[100:], y[100:])
    >>> bool(found.low < truth < found.high)
    True
    """
    if isinstance(values, (str, os.PathLike)):
        if probabilities is not None or pool is not None:
            raise TypeError("probabilities: a ledger has its own")
        return _recorded(values)
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
    return _told(_querist.estimate(numbers, bool(truths), chances, floors, int(pool), ends, sure))


def estimate_log_loss(
    predicted: Any,
    rows: Any,
    labels: Any,
    probabilities: Any,
    *,
    floor: Any = 0.0,
    confidence: float = 0.95,
) -> Estimate:
    """The mean log loss over a whole pool, from the rows that were drawn.

    The same number as :func:`estimate` of the log losses; but what a model says of every row tells what rows that were not
    drawn could cost, and the interval reckons with that.

    Parameters
    ----------
    predicted : array-like of shape (pool, classes)
        ``predict_proba`` of every row that could be drawn at the start, by a model that had not seen its label. None may be 0.
    rows : array-like of int
        The place in ``predicted`` of each drawn row, in the order of the draws.
    labels : array-like of int
        The column of ``predicted`` that is the label of each.
    probabilities : array-like
        What ``query(..., return_probabilities=True)`` gave with each row.
    floor, confidence
        As for :func:`estimate`.

    >>> import numpy as np, querist
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 2)); y = (X[:, 0] + rng.normal(size=5000) > 0).astype(int)
    >>> clf = querist.ActiveClassifier(rule="margin:mu=1", random_state=0).fit(X[:100], y[:100])
    >>> places, p = clf.query(X[100:], n=400, return_probabilities=True)
    >>> said = clf.predict_proba(X[100:])
    >>> found = querist.estimate_log_loss(said, places, y[100:][places], p)
    >>> truth = -np.log(said[np.arange(4900), y[100:]]).mean()
    >>> bool(found.low < truth < found.high)
    True
    """
    return _told(_querist.log_loss(_judged(predicted, rows, labels, probabilities, floor, confidence)))


def estimate_scores(
    predicted: Any,
    rows: Any,
    labels: Any,
    probabilities: Any,
    *,
    floor: Any = 0.0,
    confidence: float = 0.95,
) -> Scores:
    """Accuracy, log loss, and precision, recall and F1 of each class over a whole pool, from the rows that were drawn.

    The class a model says of a row is the column with the largest probability, the first of equals. What it says of every
    row tells where it could be wrong, and the intervals for who looks once reckon with that; where draws times
    classes are more than 200,000, that of log loss alone.

    Parameters
    ----------
    predicted, rows, labels, probabilities, floor, confidence
        As for :func:`estimate_log_loss`.

    >>> import numpy as np, querist
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 2)); y = (X[:, 0] + rng.normal(size=5000) > 1).astype(int)
    >>> clf = querist.ActiveClassifier(rule="margin:mu=1", random_state=0).fit(X[:100], y[:100])
    >>> places, p = clf.query(X[100:], n=400, return_probabilities=True)
    >>> found = querist.estimate_scores(clf.predict_proba(X[100:]), places, y[100:][places], p)
    >>> recall = found.classes[1].recall
    >>> truth = clf.predict(X[100:])[y[100:] == 1].mean()
    >>> bool(recall.low < truth < recall.high)
    True
    """
    accuracy, log_loss, classes = _querist.pool_scores(_judged(predicted, rows, labels, probabilities, floor, confidence))
    told = (ClassScores(*(found and _told(found) for found in of_class)) for of_class in classes)
    return Scores(_told(accuracy), _told(log_loss), tuple(told))


def _judged(
    predicted: Any, rows: Any, labels: Any, probabilities: Any, floor: Any, confidence: Any
) -> tuple[np.ndarray, list[int], list[int], np.ndarray, np.ndarray, float]:
    """What a model said of a pool; of each draw its row, label, probability and floor; the confidence."""
    table = np.asarray(predicted)
    if table.ndim != 2:
        raise ValueError(f"predicted: need two dimensions, not {table.ndim}")
    if table.dtype.kind != "f":
        raise TypeError(f"predicted: need numbers, not dtype {table.dtype}")
    said = np.ascontiguousarray(table, dtype=np.float64)
    if not ((said > 0) & (said <= 1 + 1e-9)).all():
        raise ValueError("predicted: need probabilities above 0")
    places, columns = _places("rows", rows, said.shape[0]), _places("labels", labels, said.shape[1])
    if not places:
        raise ValueError("rows: nothing has been drawn yet")
    if len(set(places)) < len(places):
        raise ValueError("rows: a row was drawn twice")
    if len(columns) != len(places):
        raise ValueError(f"labels: {len(columns)} for {len(places)} rows")
    chances, floors = _draws(len(places), "rows", probabilities, floor)
    return said, places, columns, chances, floors, _confidence(confidence)


def _told(found: tuple[Any, ...]) -> Estimate:
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


def _places(name: str, values: Any, count: int) -> list[int]:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name}: need one dimension, not {array.ndim}")
    if array.dtype.kind not in "iu" and len(array) > 0:
        raise TypeError(f"{name}: need whole numbers, not dtype {array.dtype}")
    if ((array < 0) | (array >= count)).any():
        raise ValueError(f"{name}: need places from 0 to {count - 1} in `predicted`")
    return [int(place) for place in array]


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
    place = os.fspath(path)
    if not os.path.exists(place):
        raise FileNotFoundError(f"values: there is no ledger {place}")
    command, finished, measured, missing = _querist.recorded(place)
    if missing is not None:
        warnings.warn(f"{place}: {missing}", UserWarning, stacklevel=3)
    if measured is not None:
        value, low, high, labels = measured
        return Estimate(value, low, high, None, None, 0.95, None, labels, missing)
    told = json.loads(finished) if finished else {}
    found = told.get("estimate")
    if not found:
        what = f"a run of `querist {command}`" if command else "a run"
        raise _querist.QueristError(
            f"{place}: {what} that has recorded no estimate: either it has not ended, or it has no pool with probabilities"
        )
    value = found.get("accuracy", found.get("loss"))
    return Estimate(
        value,
        found["low"],
        found["high"],
        found["anytime_low"],
        found["anytime_high"],
        found["confidence"],
        found["effective_n"],
        int(told.get("labels", told.get("answered", 0))),
        "; ".join(filter(None, [missing, found.get("warning")])) or None,
    )
