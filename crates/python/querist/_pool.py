"""A pool that any model scores: draws with exact probabilities, answers, estimates, and a durable record of them."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields
from types import TracebackType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from querist import _querist
from querist._arguments import is_integer, positive_integer
from querist._arrays import matrix, to_numpy
from querist._estimate import ClassScores, Estimate, _confidence, _to_estimate
from querist._rows import rows as read_rows

__all__ = ["Advice", "Draw", "Pool", "PoolEstimate"]

ColdStart = Literal["random", "coverage", "none"]
Label = object


@dataclass(frozen=True, eq=False)
class Draw:
    """Rows drawn from a pool, in the order of their draws."""

    rows: NDArray[np.int64]
    """The indices of the rows."""
    probabilities: NDArray[np.float64]
    """The exact probability of each draw, given the previous draws."""
    floors: NDArray[np.float64]
    """A lower bound on the probability of every row that was left at each draw."""
    method: str
    """The name of the rule, ``"cold start: random"`` or ``"cold start: coverage"``; ``"pending"`` for rows without answers."""

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Advice:
    """The advice of a stopping rule. It is true if it is to stop."""

    stop: bool
    """Whether to stop."""
    why: str
    """The reason, in a sentence."""

    def __bool__(self) -> bool:
        return self.stop


@dataclass(frozen=True)
class PoolEstimate:
    """The estimated performance of a model on a whole pool, with fixed-sample and anytime-valid intervals."""

    accuracy: Estimate
    """The share of rows that are classified correctly."""
    log_loss: Estimate
    """The mean of the negative logarithm of the true class's probability. It has no bound, so no anytime-valid interval."""
    brier: Estimate
    """The mean squared error of the probabilities: of the second of two classes, or summed over more."""
    classes: tuple[ClassScores, ...]
    """Precision, recall and F1 of each class."""

    @property
    def f1(self) -> Estimate | None:
        """The F1 of the second of two classes; with more classes, use ``classes[k].f1``."""
        if len(self.classes) != 2:
            raise ValueError("f1: there are more than two classes; use classes[k].f1")
        return self.classes[1].f1

    def to_dict(self) -> dict[str, object]:
        """Returns the fields by name, for JSON."""
        return {
            "accuracy": self.accuracy.to_dict(),
            "log_loss": self.log_loss.to_dict(),
            "brier": self.brier.to_dict(),
            "classes": [{name: found and found.to_dict() for name, found in vars(scores).items()} for scores in self.classes],
        }

    def __repr__(self) -> str:
        shown = [f"{field.name}: {getattr(self, field.name)}" for field in fields(self) if field.name != "classes"]
        return "\n".join(shown)


class Pool:
    """A pool of rows that any model scores.

    Querist has no model of these rows: pass the current predictions for all of them to every draw, from any library. Each draw
    has an exact probability, so labels estimate the performance of every model on the whole pool.

    Parameters
    ----------
    n : int
        The number of rows.
    rule : str, default="boundary"
        One of :func:`rules`.
    classes : sequence, optional
        The labels, in the order of the columns of predictions. By default labels are the numbers of columns, from 0.
    seed : int, default=0
        The random seed. Draws are a function of (seed, number of the draw, predictions, previous draws and labels).
    ledger : path, optional
        A file that records every draw and answer. They are on disk when a call returns. If the file exists, the pool continues
        where it ended.
    features : array-like, optional
        Features of the rows, such as embeddings, for a cold start that covers the pool.
    cold_start : {"random", "coverage", "none"}, optional
        How rows are drawn until every class has a label: uniformly, or typical rows first. ``"none"`` always uses the
        predictions, for a model that needs no labels. By default ``"coverage"`` with features, otherwise ``"random"``.
    precision : float or str, optional
        The wanted precision of an estimate, such as ``0.03`` for accuracy within ±0.03, or ``"f1:spam=0.05"``. More draws are
        then spread evenly, and :meth:`advice` says when to stop.

    Examples
    --------
    >>> import numpy as np, querist
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 0.5, size=2000)                  # a model's probability of the second class
    >>> truth = (rng.random(2000) < p).astype(int)
    >>> pool = querist.Pool(n=2000, seed=1, cold_start="none")
    >>> for _ in range(10):
    ...     draw = pool.draw(p, n=20)
    ...     pool.answer(draw, truth[draw.rows])
    >>> found = pool.estimate(p)
    >>> bool(found.accuracy.low < ((p >= 0.5) == truth).mean() < found.accuracy.high)
    True
    """

    def __init__(
        self,
        n: int,
        rule: str = "boundary",
        *,
        classes: Sequence[Label] | None = None,
        seed: int = 0,
        ledger: str | os.PathLike[str] | None = None,
        features: object = None,
        cold_start: ColdStart | None = None,
        precision: float | str | None = None,
    ) -> None:
        count = positive_integer(n, "n", 2**48)
        if not isinstance(rule, str):
            raise TypeError(f"rule: need a name, not {type(rule).__name__}")
        if not is_integer(seed):
            raise TypeError(f"seed: need a whole number, not {type(seed).__name__}")
        if not 0 <= seed < 2**63:
            raise ValueError(f"seed: {seed}, need 0 <= seed < 2**63")
        if cold_start is None:
            cold_start = "random" if features is None else "coverage"
        if cold_start not in ("random", "coverage", "none"):
            raise ValueError(f"cold_start: {cold_start!r}, need 'random', 'coverage' or 'none'")
        if cold_start == "coverage" and features is None:
            raise ValueError("features: are missing; draws that cover the pool need them")
        table = None
        if features is not None and cold_start == "coverage":
            given = read_rows(features, "features")
            if given.length != count:
                raise ValueError(f"features: {given.length} rows, need {count}")
            table = given.made
        self._n = count
        self._classes = None if classes is None else _classes(classes)
        self._columns = None if self._classes is None else {label: column for column, label in enumerate(self._classes)}
        names = None if self._classes is None else json.dumps(self._classes, ensure_ascii=False)
        settings = (count, rule, names, cold_start, _precision(precision), int(seed))
        self._state = _querist.PoolState(settings, None if ledger is None else os.fspath(ledger), table)
        self._cold_start = cold_start

    # Drawing and answering.

    def draw(self, probabilities: object = None, n: int = 1, *, logits: object = None, scores: object = None) -> Draw:
        """Draws rows to label, without replacement, given the current predictions for all rows.

        Predictions are a table with a column for each class, or for two classes a single column: ``probabilities``, or
        ``logits``, or other ``scores`` such as margins. They may be arrays, tensors or tables. Until every class has a label,
        draws are those of the cold start, and predictions are optional.

        >>> import querist
        >>> pool = querist.Pool(n=100)
        >>> len(pool.draw(n=5).rows), pool.is_cold
        (5, True)
        """
        given = self._given(probabilities=probabilities, logits=logits, scores=scores)
        count = positive_integer(n, "n", self._n)
        drawn, chances, floors, (_, uniform, covering, fallback) = self._state.draw(given, count)
        if fallback:
            warnings.warn(
                f"{fallback} of {count} rows were drawn uniformly: the rule gives U = 0 at every row that was left.",
                UserWarning,
                stacklevel=2,
            )
        cold = "cold start: random" if uniform else "cold start: coverage" if covering else None
        return Draw(np.array(drawn, np.int64), np.array(chances), np.array(floors), cold or self.rule)

    def answer(self, draw: Draw | Sequence[int] | NDArray[np.integer], labels: object) -> None:
        """Records the labels of drawn rows, one for each. A label ``None`` leaves its row for later.

        >>> import querist
        >>> pool = querist.Pool(n=100, classes=["ham", "spam"])
        >>> draw = pool.draw(n=2)
        >>> pool.answer(draw, ["ham", None])
        >>> pool.labels, len(pool.pending)
        (['ham'], 1)
        """
        indices = np.asarray(draw.rows if isinstance(draw, Draw) else to_numpy(draw))
        if indices.ndim != 1 or (indices.dtype.kind not in "iu" and indices.size):
            raise TypeError("draw: need a Draw, or the indices of its rows")
        if indices.size and (indices < 0).any():
            raise ValueError(f"draw: row {indices.min()} does not exist")
        given = to_numpy(labels)
        values = [given] if isinstance(given, (str, bytes)) or np.ndim(given) == 0 else list(given)
        if len(values) != len(indices):
            raise ValueError(f"labels: {len(values)} for {len(indices)} rows")
        answered = [(int(row), self._column(label)) for row, label in zip(indices, values, strict=True) if label is not None]
        self._state.answer([row for row, _ in answered], [column for _, column in answered])

    # Estimates and advice.

    def estimate(self, probabilities: object = None, *, logits: object = None, confidence: float = 0.95) -> PoolEstimate:
        """Estimates the performance of a model on the whole pool, from its predictions for all rows.

        The model must not have learned from the label of a row that it predicts. For a model trained on the labels of this
        pool, replace the predictions for answered rows by those of models that were trained without them, as
        ``cross_val_predict`` of scikit-learn does.

        Only draws before the first one without an answer count, because only they are a sample with known probabilities.
        """
        given = self._given(probabilities=probabilities, logits=logits)
        if given is None:
            raise TypeError("probabilities: are missing; an estimate needs the predictions for all rows")
        accuracy, log_loss, brier, of_classes = self._state.estimate(given, _confidence(confidence))
        classes = tuple(ClassScores(*(found and _to_estimate(found) for found in one)) for one in of_classes)
        return PoolEstimate(_to_estimate(accuracy), _to_estimate(log_loss), _to_estimate(brier), classes)

    def advice(self, probabilities: object = None, *, logits: object = None, stop: str | None = None) -> Advice:
        """Advises whether to stop labeling, for a model with these predictions, as :meth:`estimate` needs them.

        ``stop`` is a stopping rule of ``querist pool``, such as ``"target=0.95"`` or ``"gain=0.002"``. The wanted precision of
        the pool is another; without both, the rule is ``"gain=0.002"``.

        >>> import querist
        >>> bool(querist.Pool(n=100).advice())
        False
        """
        if stop is not None and not isinstance(stop, str):
            raise TypeError(f"stop: need a name, not {type(stop).__name__}")
        return Advice(*self._state.advise(self._given(probabilities=probabilities, logits=logits), stop))

    def weights(
        self,
        objective: str = "as-asked",
        probabilities: object = None,
        *,
        logits: object = None,
        scores: object = None,
    ) -> NDArray[np.float64]:
        """Returns the weight of each answer, in the order of :attr:`rows`, for training a model.

        ``"as-asked"`` are weights of 1: the loss on the queried rows. ``"original"`` makes weighted means those over the whole
        pool. ``"equivalent"`` multiplies these by U, for the equivalent loss on the pool. U is that at each draw, or with
        predictions that at the current model.
        """
        if objective not in ("as-asked", "equivalent", "original"):
            raise ValueError(f"objective: {objective!r}, need 'as-asked', 'equivalent' or 'original'")
        leveled, uncertainties = self._state.weights(self._given(probabilities=probabilities, logits=logits, scores=scores))
        answered = self._drawn()[3] >= 0
        if objective == "as-asked":
            return np.ones(int(answered.sum()))
        found = np.array(leveled) * (np.array(uncertainties) if objective == "equivalent" else 1.0)
        return np.asarray(found[answered], dtype=np.float64)

    # State.

    @property
    def rows(self) -> NDArray[np.int64]:
        """The answered rows, in the order of their draws."""
        found, _, _, columns = self._drawn()
        return found[columns >= 0]

    @property
    def labels(self) -> list[Label]:
        """The labels of :attr:`rows`."""
        columns = [column for column in self._drawn()[3].tolist() if column >= 0]
        return columns if self._classes is None else [self._classes[column] for column in columns]

    @property
    def pending(self) -> Draw:
        """The drawn rows without an answer, for example after a restart."""
        found, chances, floors, columns = self._drawn()
        left = columns < 0
        return Draw(found[left], chances[left], floors[left], "pending")

    @property
    def n_left(self) -> int:
        """The number of rows that can still be drawn."""
        return self._state.status()[0]

    @property
    def is_cold(self) -> bool:
        """Whether the next draw is one of the cold start: some class has no label."""
        return self._state.status()[2]

    @property
    def rule(self) -> str:
        """The full name of the rule."""
        return self._state.status()[3]

    def close(self) -> None:
        """Closes the ledger, so that another process can open it. Further calls raise :class:`QueristError`."""
        self._state.close()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __len__(self) -> int:
        return self._n

    def __repr__(self) -> str:
        columns = self._drawn()[3]
        return f"Pool(n={self._n}, rule={self.rule!r}, {int((columns >= 0).sum())} of {len(columns)} drawn rows answered)"

    def _drawn(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        found, chances, floors, columns = self._state.drawn()
        return np.array(found, np.int64), np.array(chances), np.array(floors), np.array(columns, np.int64)

    def _given(self, **arguments: object) -> tuple[str, NDArray[Any]] | None:
        """Returns the name of the predictions and a table of them."""
        given = {name: value for name, value in arguments.items() if value is not None}
        if len(given) > 1:
            raise TypeError(f"{list(given)[1]}: pass only one of {', '.join(arguments)}")
        for name, value in given.items():
            return name, np.ascontiguousarray(matrix(value, name))
        return None

    def _column(self, label: Any) -> int:
        """Returns the column of a label."""
        value = label.item() if isinstance(label, np.generic) else label
        if self._columns is not None:
            try:
                column = self._columns.get(value)
            except TypeError:
                column = None
            if column is None:
                raise ValueError(f"labels: {value!r} is not among the classes {list(self._columns)}")
            return column
        if isinstance(value, bool):
            return int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int):
            raise TypeError(f"labels: {value!r} is no column; name the labels with Pool(classes=...)")
        if not 0 <= value < 2**16:
            raise ValueError(f"labels: {value}, need a column from 0")
        return value


def _classes(classes: Sequence[Label]) -> list[Any]:
    listed = [label.item() if isinstance(label, np.generic) else label for label in to_numpy(classes)]
    if len(listed) < 2 or len(set(listed)) < len(listed):
        raise ValueError("classes: need at least two different labels")
    if not all(isinstance(label, (str, int, bool)) for label in listed):
        raise TypeError("classes: need strings or whole numbers")
    return listed


def _precision(precision: Any) -> str | None:
    if precision is None or isinstance(precision, str):
        return precision
    if isinstance(precision, bool) or not isinstance(precision, (int, float, np.floating)):
        raise TypeError(f"precision: need a number or a name, not {type(precision).__name__}")
    return repr(float(precision))
