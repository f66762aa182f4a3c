"""The theory at arrays of points: U, losses, equivalent losses and links."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from querist import _querist
from querist._arrays import matrix, to_numpy

__all__ = ["equivalent_loss", "tabulate", "uncertainty"]

Numbers = NDArray[np.float64]


def tabulate(
    loss: str,
    rule: str,
    s: ArrayLike | None = None,
    *,
    q: ArrayLike | None = None,
    label: int = 1,
    z: ArrayLike | None = None,
    psi: ArrayLike | None = None,
) -> dict[str, Numbers]:
    """Evaluates a loss queried by a rule at points, like ``querist tabulate``.

    Parameters
    ----------
    loss, rule : str
        As in :func:`certify`.
    s : array-like, optional
        Margins; by default -6, -5, ..., 6.
    q : array-like, optional
        Modeled probabilities of y = +1, for the label ``label``, which is 1 or -1.
    z : array-like, optional
        Label biases in [0, 1], at which to evaluate the link ψ.
    psi : array-like, optional
        Excess risks, at which to invert ψ.

    Returns
    -------
    dict of ndarray
        The columns by name, in the shape of the points. A curvature at a kink and an unknown value are NaN.

    >>> import querist
    >>> table = querist.tabulate("squared-hinge", "margin:mu=1", [-3.0, 0.0])
    >>> table["equivalent_slope"].tolist()
    [-2.0, -2.0]
    """
    given = {name: points for name, points in (("s", s), ("q", q), ("z", z), ("psi", psi)) if points is not None}
    if len(given) > 1:
        raise TypeError(f"{list(given)[1]}: pass only one of s, q, z and psi")
    name, points = next(iter(given.items()), ("s", np.arange(-6.0, 7.0)))
    bounds = {"s": (-np.inf, np.inf), "q": (0.0, 1.0), "z": (0.0, 1.0), "psi": (0.0, np.inf)}[name]
    array = _points(name, points, *bounds)
    flat = array.ravel()
    if name == "s":
        columns = _querist.tabulate_margins(loss, rule, flat)
    elif name == "q":
        if label not in (1, -1):
            raise ValueError(f"label: {label!r}, need 1 or -1")
        columns = _querist.tabulate_probabilities(loss, rule, flat, label == 1)
    else:
        columns = _querist.tabulate_link(loss, rule, flat, name == "psi")
    return {title: np.array(column, dtype=np.float64).reshape(array.shape) for title, column in columns}


def uncertainty(
    rule: str, s: ArrayLike | None = None, *, probabilities: ArrayLike | None = None, loss: str = "logistic"
) -> Numbers:
    """Returns U, the probability of a query, at margins ``s`` or at rows of class ``probabilities``.

    ``loss`` matters only to rules that depend on the loss, such as ``"conditional-risk"``.

    >>> import querist
    >>> querist.uncertainty("margin:mu=1", [-3.0, 0.0, 1.0]).tolist()
    [0.25, 1.0, 0.5]
    >>> querist.uncertainty("least-confidence", probabilities=[[0.5, 0.25, 0.25]]).tolist()
    [0.5]
    """
    if (s is None) == (probabilities is None):
        raise TypeError("s: pass margins, or probabilities=")
    if probabilities is not None:
        table = matrix(probabilities, "probabilities").astype(np.float64, copy=False)
        if table.shape[1] < 2:
            raise ValueError("probabilities: need a column for each class")
        if not ((table >= 0) & (table <= 1)).all() or (np.abs(table.sum(axis=1) - 1) > 1e-3).any():
            raise ValueError("probabilities: need rows of probabilities that add up to 1")
        return np.array(_querist.class_uncertainties(rule, np.ascontiguousarray(table)))
    array = _points("s", s, -np.inf, np.inf)
    return np.array(_querist.uncertainties(rule, loss, array.ravel())).reshape(array.shape)


def equivalent_loss(loss: str, rule: str, s: ArrayLike) -> Numbers:
    """Returns the equivalent loss at margins: the loss that is minimized if ``rule`` queries ``loss``.

    >>> import querist
    >>> querist.equivalent_loss("logistic", "constant:p=0.5", [0.0]).round(6).tolist()
    [0.346574]
    """
    points = _points("s", s, -np.inf, np.inf)
    return _querist.equivalent(loss, rule, points.ravel(), 0).reshape(points.shape)


def _points(name: str, points: Any, low: float, high: float) -> Numbers:
    array = np.asarray(to_numpy(points))
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name}: need numbers, not dtype {array.dtype}")
    array = np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)
    bad = array[~((array >= low) & (array <= high))]
    if bad.size:
        raise ValueError(f"{name}: {bad.ravel()[0]}, need {low} <= {name} <= {high}")
    return array
