"""Decisions about rows one by one: each is queried with probability U."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from querist import _querist
from querist._arguments import is_integer
from querist._arrays import matrix, to_numpy

__all__ = ["ask", "checked_seed", "score_table"]


def ask(
    logits: object, rule: str, ids: object, seed: int = 0, *, loss: str = "logistic"
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Decides for each row on its own whether to query its label: with probability U.

    The random draw of a row is a function of seed and id. The decision about a row does not depend on its batch, its position
    or the machine, and equals that of :func:`querist.spark.ask`.

    Parameters
    ----------
    logits : array-like
        The scores of a model: a number for each row, the logit of the second of two classes; or a logit for each class.
    rule : str
        One of :func:`rules` with a scale of its own, such as ``"entropy"``, ``"margin:mu=1"`` or ``"boundary:reach=0.5"``.
    ids : array-like of int or str
        The id of each row. An integer and its decimal text are the same id.
    seed : int
        The seed of the draws.
    loss : str
        The loss, for rules that depend on it.

    Returns
    -------
    mask : ndarray of bool
        Which rows to query.
    probabilities : ndarray of float64
        U of every row, queried or not.

    >>> import querist
    >>> mask, p = querist.ask([-3.0, 0.0, 1.0], "margin:mu=1", ids=["a", "b", "c"], seed=8)
    >>> mask.tolist(), p.tolist()
    ([False, True, True], [0.25, 1.0, 0.5])
    """
    for name, value in (("rule", rule), ("loss", loss)):
        if not isinstance(value, str):
            raise TypeError(f"{name}: need a name, not {type(value).__name__}")
    seed = checked_seed(seed)
    scores = score_table(logits)
    mask, probabilities = _querist.ask(scores, rule, loss, _ids(ids, len(scores)), seed)
    return mask, probabilities


def checked_seed(seed: object) -> int:
    """Returns a seed if it is a whole number in its range."""
    if not is_integer(seed):
        raise TypeError(f"seed: need a whole number, not {type(seed).__name__}")
    number = int(str(seed))
    if not 0 <= number < 2**63:
        raise ValueError(f"seed: {number}, need 0 <= seed < 2**63")
    return number


def score_table(logits: object) -> NDArray[np.float64]:
    """Returns a table of finite scores: a column for two classes, and one for each of more classes. It may have no rows."""
    try:
        values = np.asarray(to_numpy(logits))
    except (TypeError, ValueError) as error:
        raise type(error)(f"logits: {error}") from None
    if values.size == 0 and values.ndim in (1, 2) and len(values) == 0:
        return np.empty((0, 1 if values.ndim == 1 or values.shape[1] <= 2 else values.shape[1]))
    table = np.ascontiguousarray(matrix(logits, "logits"), dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(table).all(axis=1))
    if bad.size:
        raise ValueError(f"logits: contains NaN or infinity in row {bad[0]}; {bad.size} of {len(table)} rows do")
    return np.ascontiguousarray(table[:, 1:] - table[:, :1]) if table.shape[1] == 2 else table


def _ids(ids: object, count: int) -> NDArray[np.int64] | list[str]:
    """Returns ids as integers if all are, otherwise as texts."""
    array = np.asarray(to_numpy(ids))
    if array.ndim != 1:
        raise ValueError(f"ids: need an id for each row, in one dimension, not {array.ndim}")
    if len(array) != count:
        raise ValueError(f"ids: {len(array)} ids for {count} rows of logits")
    if count == 0:
        return np.empty(0, dtype=np.int64)
    if array.dtype.kind in "iu" and (array.dtype.kind == "i" or int(array.max()) < 2**63):
        return np.ascontiguousarray(array, dtype=np.int64)
    found = array.tolist()
    if array.dtype.kind not in "uUO" or not all(isinstance(one, str) or is_integer(one) for one in found):
        kind = array.dtype if array.dtype.kind != "O" else "of mixed types"
        raise TypeError(f"ids: need integers or strings, not {kind}")
    return [str(one) for one in found]
