"""The next rows to label, for any estimator."""

from __future__ import annotations

import warnings
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from querist import _querist
from querist._arguments import excluded, positive_integer, seed_of
from querist._arrays import is_array, matrix, to_numpy

__all__ = ["Wanted", "answer", "class_probabilities", "query", "query_scores", "wanted"]


class Wanted(NamedTuple):
    """The settings of a query, read by the extension."""

    rule: str
    loss: str
    classes: int
    n: int
    at_random: bool
    seed: int
    call: int
    rarest: int
    exclude: list[int]


def wanted(
    n: Any, count: int, exclude: Any, draw: Any, *, rule: Any, loss: str, classes: int, seed: int, call: int, rarest: int
) -> Wanted:
    """Checks the arguments of a query and returns its settings."""
    if draw not in ("random", "top"):
        raise ValueError(f"draw: {draw!r}, need 'random' or 'top'")
    if not isinstance(rule, str):
        raise TypeError(f"rule: need a name, not {type(rule).__name__}")
    without = excluded(exclude, count)
    n = positive_integer(n, "n", count - len(set(without)))
    return Wanted(rule, loss, classes, n, draw == "random", seed, call, rarest, without)


def answer(found: tuple[np.ndarray, np.ndarray | None, int], return_probabilities: bool, stacklevel: int = 3) -> Any:
    """Returns the rows, with their probabilities on request, and warns of rows drawn uniformly."""
    indices, probabilities, n_uniform = found
    if return_probabilities and probabilities is None:
        raise ValueError("return_probabilities: the most uncertain rows have none; use draw='random'")
    if n_uniform:
        warnings.warn(
            f"{n_uniform} of {len(indices)} rows were drawn uniformly: the rule gives U = 0 at every row that was left. "
            "An estimator whose probabilities are exactly 0 or 1 does not say which rows are uncertain.",
            UserWarning,
            stacklevel=stacklevel,
        )
    return (indices, probabilities) if return_probabilities else indices


@overload
def query(
    estimator: object,
    X: object = None,
    n: int = 1,
    *,
    rule: str = "boundary",
    random_state: object = None,
    return_probabilities: Literal[False] = False,
    exclude: object = None,
    draw: str = "random",
) -> NDArray[np.int64]: ...


@overload
def query(
    estimator: object,
    X: object = None,
    n: int = 1,
    *,
    rule: str = "boundary",
    random_state: object = None,
    return_probabilities: Literal[True],
    exclude: object = None,
    draw: str = "random",
) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...


def query(
    estimator: object,
    X: object = None,
    n: int = 1,
    *,
    rule: str = "boundary",
    random_state: object = None,
    return_probabilities: bool = False,
    exclude: object = None,
    draw: str = "random",
) -> NDArray[np.int64] | tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Draws the next rows to label, by the predictions of any estimator, or by probabilities.

    Rows are drawn one after another without replacement, each with probability in proportion to its uncertainty U among the
    remaining rows. If the rule gives U = 0 at every remaining row, rows are drawn uniformly and a warning reports their
    number. The rule uses ``predict_proba`` (as a logit or, for more than two classes, as probabilities), or
    ``decision_function`` if there is no ``predict_proba``.

    Parameters
    ----------
    estimator : object
        Any fitted object with ``predict_proba`` or ``decision_function``: of scikit-learn, a modAL ``ActiveLearner``, a
        scikit-activeml ``SklearnClassifier``, or an :class:`ActiveClassifier`. Or the probabilities themselves, a row for each
        row of the pool: an array, a tensor of torch or JAX, or a table. A single column is the probability of the second class.
    X : array-like or table, optional
        The pool. It is passed to the estimator unchanged. With probabilities there is none.
    n : int
        The number of rows.
    rule : str
        One of :func:`rules`. ``"boundary"`` queries near the boundary between classes, in units of the pool; its old name
        ``"margin"`` still works.
    random_state : None, int or numpy generator
        An integer makes this call repeatable. In a loop, pass one generator to all calls, or a different integer to each.
    return_probabilities : bool
        Whether to also return the probability of each row, exact given the previous draws; :func:`estimate` needs it.
    exclude : array-like of int or bool, table or path, optional
        Rows to exclude, by index or as a mask: labeled rows need not be removed from the pool. A table or a file has the
        indices in its column ``id`` or ``row``, or in its only column.
    draw : {"random", "top"}
        ``"random"`` draws in proportion to U; ``"top"`` takes the most uncertain rows, which have no probabilities.

    Returns
    -------
    indices : ndarray of int64
        Indices into ``X``.
    probabilities : ndarray of float64
        Only with ``return_probabilities=True``.

    >>> import numpy as np, querist
    >>> class Coin:
    ...     def predict_proba(self, X):
    ...         p = 1 / (1 + np.exp(-X[:, 0]))
    ...         return np.stack([1 - p, p], axis=1)
    >>> X = np.linspace(-4, 4, 9).reshape(-1, 1)
    >>> places, p = querist.query(Coin(), X, n=3, rule="entropy", random_state=0, return_probabilities=True)
    >>> len(set(places.tolist())), bool((p > 0).all())
    (3, True)
    >>> querist.query(Coin(), X, n=3, rule="entropy", draw="top").tolist()
    [4, 3, 5]
    >>> querist.query(Coin().predict_proba(X), n=3, rule="entropy", draw="top").tolist()
    [4, 3, 5]
    """
    from querist._classifier import ActiveClassifier

    seed = seed_of(random_state)
    if isinstance(estimator, ActiveClassifier):
        found: NDArray[np.int64] | tuple[NDArray[np.int64], NDArray[np.float64]] = estimator._query(
            X, n, rule=rule, seed=seed, call=0, return_probabilities=return_probabilities, exclude=exclude, draw=draw
        )
        return found
    predictions, probabilities = _ask(estimator, X)
    argument = "probabilities" if X is None else "estimator"
    goal = _wanted_of(predictions, probabilities, n, rule=rule, seed=seed, call=0, exclude=exclude, draw=draw)
    drawn: NDArray[np.int64] | tuple[NDArray[np.int64], NDArray[np.float64]] = answer(
        _querist.query_scores(predictions, probabilities, goal, argument), return_probabilities
    )
    return drawn


def query_scores(
    scores: NDArray[np.float64], n: int, *, rule: str, seed: int, call: int, exclude: object
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Draws rows by their scores and returns them with their probabilities. Each ``call`` has its own random numbers."""
    goal = _wanted_of(scores, False, n, rule=rule, seed=seed, call=call, exclude=exclude, draw="random")
    found: tuple[NDArray[np.int64], NDArray[np.float64]] = answer(_querist.query_scores(scores, False, goal, "logits"), True, 5)
    return found


def _wanted_of(
    predictions: np.ndarray,
    are_probabilities: bool,
    n: Any,
    *,
    rule: str,
    seed: int,
    call: int,
    exclude: object,
    draw: str,
) -> Wanted:
    """Returns the settings of a query by the predictions for all rows."""
    columns = predictions.shape[1]
    classes = 2 if columns == 1 or (are_probabilities and columns == 2) else columns
    return wanted(
        n,
        len(predictions),
        exclude,
        draw,
        rule=rule,
        loss="logistic",
        classes=classes,
        seed=seed,
        call=call,
        rarest=classes - 1,
    )


def _ask(estimator: Any, X: Any) -> tuple[np.ndarray, bool]:
    """Returns the predictions for every row, a row each, and whether they are probabilities."""
    method = getattr(estimator, "predict_proba", None)
    name, probabilities = "predict_proba", method is not None
    if method is None:
        name, method = "decision_function", getattr(estimator, "decision_function", None)
    if method is None:
        if not is_array(estimator):
            raise TypeError(f"estimator: {type(estimator).__name__} has neither predict_proba nor decision_function")
        if X is not None:
            raise TypeError("X: probabilities need no X; pass the number of rows as n=")
        return class_probabilities(matrix(estimator, "probabilities"), "probabilities"), True
    if not callable(method):
        raise TypeError(f"estimator: {name} is not a function")
    if X is None:
        raise TypeError("X: is missing; an estimator needs the pool")
    output = np.asarray(to_numpy(method(X)))
    if output.dtype.kind not in "biuf" or output.ndim not in (1, 2):
        raise TypeError(f"estimator: {name} gives dtype {output.dtype} in {output.ndim} dimensions, need a table of numbers")
    if output.size == 0:
        raise ValueError("X: found array with 0 sample(s) while a minimum of 1 is required.")
    output = output.reshape(len(output), -1)
    if output.dtype not in (np.dtype(np.float32), np.dtype(np.float64)) or not output.flags.aligned:
        output = output.astype(np.float64)
    return class_probabilities(output, f"estimator: {name}") if probabilities else np.ascontiguousarray(output), probabilities


def class_probabilities(table: np.ndarray, name: str) -> np.ndarray:
    """Returns a column for each class: a single column, as of a sigmoid, is the probability of the second of two."""
    if table.shape[1] > 1:
        return np.ascontiguousarray(table)
    table = table.astype(np.float64, copy=False)
    if not ((table >= 0) & (table <= 1)).all():
        raise ValueError(f"{name}: a single column has to be probabilities, from 0 to 1")
    return np.concatenate([1 - table, table], axis=1)
