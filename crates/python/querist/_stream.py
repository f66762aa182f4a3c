"""A stream of single observations: offered, queried or not, answered now or later."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from querist import _querist
from querist._arguments import is_integer, labels, seed_of
from querist._querist import Ask

__all__ = ["Ask", "Counts", "Stream"]


class Counts(NamedTuple):
    """The counters of a stream."""

    observed: int
    """The number of observations offered."""
    asked: int
    """The number of labels queried."""
    answered: int
    """The number of labels received."""
    expected: float
    """The sum of all probabilities: the expected number of queries."""
    inverse: float
    """The sum of 1/probability over the queries. It is near ``observed``; otherwise the random draws are wrong."""


class _Settings(NamedTuple):
    loss: str
    rule: str
    classes: int
    codes: dict[Any, float] | None
    features: int | None
    step: str
    momentum: str
    l2: float
    fit_intercept: bool
    importance: bool
    warm_rule: str | None
    warm_labels: int
    seed: int


class Stream(_querist.Stream):
    """A learner that is offered one observation after another, and queries the labels of some.

    ``offer(x)`` draws with probability U at the current scores and returns an :class:`Ask` or ``None``. ``answer(ask, y)``
    records the label, immediately or after any number of other observations, in any order, with one step at the current
    parameters. All randomness is a function of (seed, number of the observation).

    Parameters
    ----------
    loss : str, optional
        One of :func:`losses`; by default ``"logistic"``, ``"cross-entropy"`` or, for regression, ``"squared"``.
    rule : str, optional
        One of :func:`rules` that is a probability; by default ``"entropy"`` (for K classes ``"entropy:base=K"``), and
        ``"conditional-loss"`` for regression.
    classes : sequence or None, default=(0, 1)
        All possible labels; ``None`` for regression.
    features : int, optional
        The number of features of an array or list; by default that of the first one.
    step : str, default="auto"
        ``"auto"``, ``"fixed:eta=0.1"`` or ``"inverse-sqrt:eta=1"``.
    momentum : str, default="none"
        ``"none"``, ``"heavy-ball:beta=0.9"``, ``"nesterov"`` or ``"nesterov:beta=0.9"``.
    l2 : float, default=0.0
        Adds l2/2 times the squared weights to the loss.
    fit_intercept : bool, default=True
        Whether scores have an intercept.
    importance : bool, default=False
        Whether to weight gradients by 1/U, which minimizes the loss itself instead of the equivalent loss.
    warm_rule, warm_labels : str and int, optional
        The rule of a warm start, and its number of labels.
    random_state : None, int or numpy generator, default=None
        The seed.

    An observation is an array or list of numbers, or a dict of numbers by name. New names may appear at any time. All
    lists and arrays have the same length; dicts and arrays do not mix.

    >>> import numpy as np, querist
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3))
    >>> y = np.where(X[:, 0] > 0, "ham", "spam")
    >>> run = querist.Stream(classes=["ham", "spam"], random_state=0)
    >>> for x, label in zip(X, y):
    ...     ask = run.offer(x)
    ...     if ask is not None:
    ...         run.answer(ask, label)
    >>> counts = run.counts
    >>> counts.observed, counts.asked == counts.answered, counts.asked < 1500
    (2000, True, True)
    >>> str(run.predict([2.0, 0.0, 0.0]))
    'ham'
    """

    def __new__(
        cls,
        loss: str | None = None,
        rule: str | None = None,
        *,
        classes: Any = (0, 1),
        features: int | None = None,
        step: str = "auto",
        momentum: str = "none",
        l2: float = 0.0,
        fit_intercept: bool = True,
        importance: bool = False,
        warm_rule: str | None = None,
        warm_labels: int | None = None,
        random_state: Any = None,
    ) -> Stream:
        named, codes = _codes(classes)
        count = len(named)
        settings = _Settings(
            loss=_name("loss", loss, {0: "squared", 2: "logistic"}.get(count, "cross-entropy")),
            rule=_name("rule", rule, {0: "conditional-loss", 2: "entropy"}.get(count, f"entropy:base={count}")),
            classes=count,
            codes=codes,
            features=_features(features),
            step=_name("step", step, ""),
            momentum=_name("momentum", momentum, ""),
            l2=_strength(l2),
            fit_intercept=bool(fit_intercept),
            importance=bool(importance),
            warm_rule=None if warm_rule is None else _name("warm_rule", warm_rule, ""),
            warm_labels=_warm(warm_rule, warm_labels),
            seed=seed_of(random_state),
        )
        made: Stream = super().__new__(cls, settings)
        made._classes = named
        made._settings = settings
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _taken_up, (type(self), self._settings, self._classes, self.state())

    _classes: list[object]
    _settings: _Settings

    @property
    def counts(self) -> Counts:
        """The counters so far."""
        return Counts(*self.totals())

    @property
    def coef_(self) -> np.ndarray:
        """The weights of the averaged parameters, a row for each score."""
        return np.ascontiguousarray(self._table(average=True)[:-1].T)

    @property
    def intercept_(self) -> np.ndarray:
        """The intercepts of the averaged parameters."""
        intercepts: np.ndarray = self._table(average=True)[-1]
        return intercepts

    def _table(self, *, average: bool) -> np.ndarray:
        outputs = 1 if len(self._classes) in (0, 2) else len(self._classes)
        return self.parameters(average).reshape(-1, outputs)

    def predict(self, x: object) -> object:
        """Returns the label of one observation, by the current parameters."""
        scores = self.scores(x)
        if not self._classes:
            return float(scores[0])
        return self._classes[int(scores[0] >= 0) if len(scores) == 1 else int(scores.argmax())]

    def __repr__(self) -> str:
        observed, asked, answered, *_ = self.totals()
        settings = self._settings
        return f"Stream({settings.loss!r}, {settings.rule!r}): {observed} observed, {asked} asked, {answered} answered"


def _taken_up(kind: type[Stream], settings: tuple[Any, ...], classes: list[Any], state: Any) -> Stream:
    """Rebuilds a pickled stream."""
    settings = _Settings(*settings)
    made: Stream = _querist.Stream.__new__(kind, settings)
    made.restore(state)
    made._classes, made._settings = classes, settings
    return made


def _codes(classes: Any) -> tuple[list[Any], dict[Any, float] | None]:
    """Returns the classes in order, and their codes."""
    if classes is None:
        return [], None
    if isinstance(classes, (str, bytes)) or not hasattr(classes, "__len__"):
        raise TypeError(f"classes: need a sequence of labels or None, not {type(classes).__name__}")
    named = np.unique(labels(classes, len(classes), Stream)).tolist()
    if len(named) != len(classes):
        raise ValueError("classes: a label appears twice")
    if len(named) < 2:
        raise ValueError(f"classes: need at least 2, got {len(named)}")
    first, spread = (-1.0, 2.0) if len(named) == 2 else (0.0, 1.0)
    return named, {label: first + spread * index for index, label in enumerate(named)}


def _name(argument: str, value: Any, default: str) -> str:
    if value is None and default:
        return default
    if not isinstance(value, str):
        raise TypeError(f"{argument}: need a name, not {type(value).__name__}")
    return value


def _features(features: Any) -> int | None:
    if features is None:
        return None
    if not is_integer(features):
        raise TypeError(f"features: need a whole number, not {type(features).__name__}")
    if not 1 <= features < 2**32:
        raise ValueError(f"features: {features}, need 1 <= features < 2**32")
    return int(features)


def _strength(l2: Any) -> float:
    if isinstance(l2, bool) or not isinstance(l2, (int, float, np.integer, np.floating)):
        raise TypeError(f"l2: need a number, not {type(l2).__name__}")
    if not 0 <= l2 < np.inf:
        raise ValueError(f"l2: {l2}, need a finite number >= 0")
    return float(l2)


def _warm(rule: Any, count: Any) -> int:
    if (rule is None) != (count is None):
        raise ValueError("warm_labels: warm_rule and warm_labels go together")
    if count is None:
        return 0
    if not is_integer(count):
        raise TypeError(f"warm_labels: need a whole number, not {type(count).__name__}")
    if count < 1:
        raise ValueError(f"warm_labels: {count}, need at least 1")
    return int(count)
