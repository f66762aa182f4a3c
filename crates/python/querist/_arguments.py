"""Checks of arguments: errors name the wrong argument."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

from querist._exclude import exclusions

__all__ = ["excluded", "is_integer", "labels", "not_fitted", "positive_integer", "sample_weights", "seed_of"]


def is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))


def positive_integer(value: Any, name: str, most: int) -> int:
    if not is_integer(value):
        raise TypeError(f"{name}: need a whole number, not {type(value).__name__}")
    if not 1 <= value <= most:
        raise ValueError(f"{name}: {value}, need 1 <= {name} <= {most}")
    return int(value)


def seed_of(random_state: Any) -> int:
    """Returns a seed: the number itself, one drawn from the given generator, or one from the system's entropy."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**64, dtype=np.uint64))
    if isinstance(random_state, np.random.RandomState):
        return int.from_bytes(random_state.bytes(8), "little")
    if is_integer(random_state):
        if not 0 <= random_state < 2**64:
            raise ValueError(f"random_state: {random_state}, need 0 <= random_state < 2**64")
        return int(random_state)
    raise TypeError(f"random_state: need None, a whole number or a numpy generator, not {type(random_state).__name__}")


def excluded(exclude: Any, count: int) -> list[int]:
    """Returns the indices of excluded rows, from indices, a mask, a table, a file or an earlier draw."""
    if exclude is None:
        return []
    array = exclusions(exclude)
    if array.dtype.kind in "OU" and array.size:
        try:
            array = np.array([int(row) for row in array], dtype=np.int64)
        except (TypeError, ValueError):
            raise TypeError("exclude: need indices of rows, which are whole numbers") from None
    if array.dtype == bool:
        if len(array) != count:
            raise ValueError(f"exclude: a mask of {len(array)} for {count} rows")
        array = np.flatnonzero(array)
    elif array.size and array.dtype.kind not in "iu":
        raise TypeError(f"exclude: need indices or a mask, not dtype {array.dtype}")
    if array.size and not (int(array.min()) >= 0 and int(array.max()) < count):
        raise ValueError(f"exclude: need indices from 0 to {count - 1}, not {array.min()} to {array.max()}")
    return [int(index) for index in array]


def _scikit_learn(where: str, name: str, otherwise: type) -> Any:
    """Returns a class of scikit-learn if the caller has it loaded, since the caller then expects that one."""
    module = sys.modules.get("sklearn.exceptions") if "sklearn" in sys.modules else None
    return getattr(module, name, otherwise) if module else otherwise


class NotFittedError(ValueError, AttributeError):
    """The estimator has no labels yet. If scikit-learn is loaded, its own error of this name is raised."""


def not_fitted(estimator: Any) -> Exception:
    kind = _scikit_learn("sklearn.exceptions", "NotFittedError", NotFittedError)
    name = type(estimator).__name__
    error: Exception = kind(
        f"This {name} instance is not fitted yet. Call 'fit' or 'partial_fit' with appropriate arguments before using this "
        "estimator."
    )
    return error


def labels(y: Any, count: int, estimator: Any, *, numbers: bool = False) -> np.ndarray:
    """Checks labels, one for each row, and returns them as an array."""
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"y: {name} requires y to be passed, but the target y is None")
    if hasattr(y, "tocsr"):
        raise TypeError("y: need labels in one dimension, not a sparse matrix")
    if isinstance(y, np.ma.MaskedArray) and np.ma.getmaskarray(y).any():
        raise ValueError("y: has masked values")
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        kind = _scikit_learn("sklearn.exceptions", "DataConversionWarning", UserWarning)
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,), for "
            "example using ravel().",
            kind,
            stacklevel=3,
        )
        array = array.ravel()
    if array.ndim != 1:
        raise ValueError(f"y: y should be a 1d array, got an array of shape {array.shape} instead.")
    if len(array) != count:
        raise ValueError(f"y: Found input variables with inconsistent numbers of samples: [{count}, {len(array)}]")
    return _numbers(array) if numbers else _classes(array)


def _numbers(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in "biufO":
        raise ValueError(f"y: need numbers, not dtype {array.dtype}")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError("y: Input y contains NaN or infinity")
    return array


def _classes(array: np.ndarray) -> np.ndarray:
    kind = array.dtype.kind
    if kind == "O":
        missing = [label is None or (isinstance(label, float) and np.isnan(label)) for label in array]
        if any(missing):
            raise ValueError(f"y: Input y contains NaN or None (place {missing.index(True)})")
        kinds = {str if isinstance(label, str) else type(label) for label in array}
        if len(kinds) > 1 and str in kinds:
            raise TypeError("y: labels are strings and other things together")
        if kinds <= {str}:
            return array.astype(str)
        inferred = np.array(array.tolist())
        if inferred.dtype.kind == "O" or inferred.ndim != 1:
            raise ValueError("y: Unknown label type: need strings, whole numbers or truth values")
        return _classes(inferred)
    if kind == "f":
        if not np.isfinite(array).all():
            raise ValueError("y: Input y contains NaN or infinity")
        if (array != np.floor(array)).any():
            raise ValueError(
                "y: Unknown label type: continuous. Maybe you are trying to fit a classifier, which expects discrete classes "
                "on a regression target with continuous values."
            )
    elif kind not in "biuUS":
        raise ValueError(f"y: Unknown label type: dtype {array.dtype}")
    return array


def sample_weights(sample_weight: Any, count: int) -> np.ndarray:
    """Checks weights, one for each row, and returns them as an array."""
    if sample_weight is None:
        return np.ones(count)
    if isinstance(sample_weight, (int, float)):
        sample_weight = np.full(count, float(sample_weight))
    array = np.asarray(sample_weight)
    if array.ndim != 1:
        raise ValueError(f"sample_weight: Sample weights must be 1D array or scalar, got {array.ndim}D array")
    if array.dtype.kind not in "biufO":
        raise TypeError(f"sample_weight: need numbers, not dtype {array.dtype}")
    array = array.astype(np.float64)
    if len(array) != count:
        raise ValueError(f"sample_weight: {len(array)} weights for {count} rows (sample_weight.shape == {array.shape})")
    if not np.isfinite(array).all() or (array < 0).any():
        raise ValueError("sample_weight: need finite numbers that are not negative; contains NaN, inf or less than 0")
    if not array.any():
        raise ValueError("sample_weight: every weight is zero")
    return array
