"""A linear classifier that queries labels."""

from __future__ import annotations

import inspect
import json
import os
import threading
import warnings
from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from querist import _querist
from querist._arguments import labels as read_labels
from querist._arguments import not_fitted, sample_weights, seed_of
from querist._query import answer, wanted
from querist._rows import Rows, joined, rows

__all__ = ["ActiveClassifier"]

_FITTED = (
    "classes_",
    "coef_",
    "feature_names_in_",
    "intercept_",
    "l2_",
    "n_features_in_",
    "n_labels_",
    "n_queries_",
    "_answers",
    "_seed",
)

_CALLS = threading.Lock()
"""Guards the numbers of calls. It belongs to no classifier, because locks can neither be copied nor pickled."""


def _renew_lock() -> None:
    global _CALLS
    _CALLS = threading.Lock()


if hasattr(os, "register_at_fork"):
    # Another thread may have held the lock when the process forked.
    os.register_at_fork(after_in_child=_renew_lock)


class ActiveClassifier:
    """A linear classifier that queries the labels it learns from.

    It follows scikit-learn's estimator contract and does not need scikit-learn. Every ``fit`` and ``partial_fit`` fits all
    labels in full: the parameters minimize the sum of the losses of all labels plus ``l2/2`` times the squared weights, plus
    ``0.01*l2/2`` times the squared intercepts. This small penalty keeps intercepts finite if all labels are of one class.
    Features are stored in single precision.

    Parameters
    ----------
    loss : str, default="logistic"
        One of :func:`losses`. More than two classes use cross-entropy (also under the name ``"logistic"``).
    rule : str, default="boundary"
        One of :func:`rules`: which rows to query. ``"boundary"`` queries near the boundary between classes, in units of the
        pool (``"margin"`` alone is its old name); ``"margin:mu=1"`` has a fixed scale.
    l2 : float or None, default=None
        The strength of the L2 penalty of weights, that of intercepts being a hundredth of it; ``None`` chooses it from the
        labels by cross-validation.
    fit_intercept : bool, default=True
        Whether scores have an intercept.
    random_state : None, int or numpy generator, default=None
        The random seed. The k-th call of ``query`` after ``fit`` is a function of (seed, k, model, pool).

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts.
    l2_ : float
        The strength of the L2 penalty.
    n_labels_ : int
        The number of labels learned from.
    n_queries_ : int
        The number of calls of ``query`` since ``fit``.
    n_features_in_ : int
        The number of features of a row.
    feature_names_in_ : ndarray of str
        The feature names, if ``X`` had names that are all strings.

    Examples
    --------
    >>> import numpy as np, querist
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 5)).astype("float32")
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    >>> clf = querist.ActiveClassifier(random_state=0)
    >>> labelled = list(range(10))
    >>> _ = clf.fit(X[labelled], y[labelled])
    >>> for _ in range(5):
    ...     new = clf.query(X, n=4, exclude=labelled)
    ...     labelled += new.tolist()
    ...     _ = clf.partial_fit(X[new], y[new])
    >>> clf.n_labels_, clf.score(X, y) > 0.9
    (30, True)
    """

    _estimator_type = "classifier"

    def __init__(
        self,
        loss: str = "logistic",
        rule: str = "boundary",
        *,
        l2: float | None = None,
        fit_intercept: bool = True,
        random_state: object = None,
    ) -> None:
        self.loss = loss
        self.rule = rule
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    # The estimator contract, without scikit-learn.

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Returns the constructor arguments.

        >>> import querist
        >>> querist.ActiveClassifier(l2=1.0).get_params()["l2"]
        1.0
        """
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: object) -> ActiveClassifier:
        """Changes arguments. The fitted model stays until the next fit."""
        known = self._names()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"Invalid parameter {name!r} for estimator {self!r}. Valid parameters are: {known!r}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        given = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if not (value is defaults[name].default or value == defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(given)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(sparse=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    # Learning.

    def fit(self, X: object, y: object, sample_weight: object = None) -> ActiveClassifier:
        """Learns from these labels only, and forgets previous ones."""
        self._check_settings()
        given = rows(X)
        answers = read_labels(y, given.length, self)
        weights = sample_weights(sample_weight, given.length)
        classes = np.unique(answers)
        if len(np.unique(answers[weights > 0])) < 2:
            raise ValueError(
                f"y: need samples of at least 2 classes in the data, but it contains only one class: {answers[0]!r}; "
                "pass all classes to partial_fit with its argument classes"
            )
        self._forget()
        self._start(given, classes)
        return self._learn(given, answers, weights)

    def partial_fit(self, X: object, y: object, classes: object = None, sample_weight: object = None) -> ActiveClassifier:
        """Learns from these labels and all previous ones.

        ``classes`` are all possible classes; they are required in the first call, unless ``fit`` was called before.

        >>> import querist
        >>> clf = querist.ActiveClassifier(l2=1.0).partial_fit([[0.0], [1.0]], ["a", "b"], classes=["a", "b"])
        >>> clf.partial_fit([[2.0]], ["b"]).n_labels_
        3
        """
        self._check_settings()
        given = rows(X)
        answers = read_labels(y, given.length, self)
        weights = sample_weights(sample_weight, given.length)
        first = not self.__sklearn_is_fitted__()
        known = self.classes_ if not first else None
        if classes is not None:
            wanted_classes = np.unique(read_labels(classes, len(np.atleast_1d(np.asarray(classes))), self))
            if known is not None and not np.array_equal(known, wanted_classes):
                raise ValueError(f"classes: {wanted_classes} is not the same as on the last call, {known}")
            known = wanted_classes
        if known is None:
            raise ValueError("classes: must be passed on the first call to partial_fit")
        if len(known) < 2:
            raise ValueError(f"classes: need at least 2 classes, got {known}")
        unknown = np.setdiff1d(answers, known)
        if len(unknown):
            raise ValueError(f"y: `y` has classes not in `self.classes_`: {unknown} is not among {known}")
        if not first:
            self._check_features(given)
        else:
            self._start(given, known)
        return self._learn(given, answers, weights)

    def _check_settings(self) -> None:
        for name in ("loss", "rule"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"{name}: need a name, not {type(getattr(self, name)).__name__}")
        if self.l2 is not None:
            if isinstance(self.l2, bool) or not isinstance(self.l2, (int, float, np.integer, np.floating)):
                raise TypeError(f"l2: need a number or None, not {type(self.l2).__name__}")
            if not (0 < self.l2 < np.inf):
                raise ValueError(f"l2: {self.l2}, need a finite number > 0")

    def _forget(self) -> None:
        for name in _FITTED:
            vars(self).pop(name, None)

    def _start(self, given: Rows, classes: np.ndarray) -> None:
        self._seed = seed_of(self.random_state)
        self._answers: tuple[tuple[Any, ...], np.ndarray, np.ndarray] | None = None
        self.classes_ = classes
        self.n_queries_ = 0
        self.n_features_in_ = given.features
        if given.names is not None:
            self.feature_names_in_ = given.names

    def _learn(self, given: Rows, answers: np.ndarray, weights: np.ndarray) -> ActiveClassifier:
        codes = np.searchsorted(self.classes_, answers).astype(np.float64)
        codes = 2 * codes - 1 if len(self.classes_) == 2 else codes
        l2 = None if self.l2 is None else float(self.l2)
        try:
            made = _querist.kept(given.made)
            if self._answers is not None:
                made = joined(self._answers[0], made)
                codes = np.concatenate([self._answers[1], codes])
                weights = np.concatenate([self._answers[2], weights])
            parameters, strength = _querist.fit(
                made, codes, weights, self.loss, len(self.classes_), bool(self.fit_intercept), l2, self._seed
            )
        except BaseException:
            if self._answers is None:
                self._forget()
            raise
        self._answers = (made, codes, weights)
        self._take(parameters)
        self.l2_ = strength
        self.n_labels_ = len(codes)
        return self

    def _take(self, parameters: np.ndarray) -> None:
        table = parameters.reshape(self.n_features_in_ + 1, -1)
        self.coef_ = np.ascontiguousarray(table[:-1].T)
        self.intercept_ = table[-1].copy()

    # Predictions and queries.

    def _parameters(self) -> np.ndarray:
        """Returns the weights feature by feature, then the intercepts. Reads them every time, since users may set them."""
        coef, intercept = np.asarray(self.coef_, np.float64), np.asarray(self.intercept_, np.float64)
        outputs = self._outputs()
        if coef.shape != (outputs, self.n_features_in_) or intercept.shape != (outputs,):
            raise ValueError(f"coef_: coef_ and intercept_ have shapes {coef.shape} and {intercept.shape}")
        return np.ascontiguousarray(np.concatenate([coef.T.ravel(), intercept]))

    def _outputs(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)

    def _check_features(self, given: Rows) -> None:
        name = type(self).__name__
        fitted = getattr(self, "feature_names_in_", None)
        if given.names is not None and fitted is None:
            warnings.warn(f"X has feature names, but {name} was fitted without feature names", UserWarning, stacklevel=4)
        elif given.names is None and fitted is not None:
            warnings.warn(
                f"X does not have valid feature names, but {name} was fitted with feature names", UserWarning, stacklevel=4
            )
        elif given.names is not None and fitted is not None and not np.array_equal(given.names, fitted):
            raise ValueError(_other_names(given.names, fitted))
        if given.features != self.n_features_in_:
            raise ValueError(
                f"X: X has {given.features} features, but {name} is expecting {self.n_features_in_} features as input"
            )

    def _scores(self, X: object) -> NDArray[np.float64]:
        self._check_fitted()
        given = rows(X)
        self._check_features(given)
        return _querist.scores(given.made, self._parameters(), self._outputs())

    def decision_function(self, X: object) -> NDArray[np.float64]:
        """Returns the scores: one per row for two classes, positive for the second; otherwise one for each class."""
        scores = self._scores(X)
        return scores.ravel() if len(self.classes_) == 2 else scores

    def predict(self, X: object) -> NDArray[np.generic]:
        """Returns the class of every row."""
        scores = self._scores(X)
        decided = (scores[:, 0] >= 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
        predicted: NDArray[np.generic] = self.classes_[decided]
        return predicted

    @property
    def predict_proba(self) -> Callable[[object], NDArray[np.float64]]:
        """The function that returns the probability of each class, if the loss defines one: logistic or cross-entropy.

        >>> import querist
        >>> clf = querist.ActiveClassifier(l2=1.0).fit([[0.0], [1.0]], [0, 1])
        >>> clf.predict_proba([[0.5]]).round(2).tolist()
        [[0.5, 0.5]]
        """
        if not self._has_probabilities():
            raise AttributeError(f"predict_proba: the loss {self.loss!r} defines no probabilities; use decision_function")
        return self._predict_proba

    def _has_probabilities(self) -> bool:
        classes = len(getattr(self, "classes_", (0, 1)))
        try:
            return _querist.probabilities(np.empty((0, 1)), self.loss, classes) is not None
        except (TypeError, ValueError):
            return False

    def _predict_proba(self, X: Any) -> np.ndarray:
        found = _querist.probabilities(self._scores(X), self.loss, len(self.classes_))
        assert found is not None
        return found

    @property
    def predict_log_proba(self) -> Callable[[object], NDArray[np.float64]]:
        """The function that returns the logarithms of the probabilities."""
        proba = self.predict_proba
        return lambda X: np.log(proba(X))

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """Returns the accuracy: the share of correctly classified rows."""
        predicted = self.predict(X)
        right = predicted == read_labels(y, len(predicted), self)
        return float(np.average(right, weights=sample_weights(sample_weight, len(predicted))))

    @overload
    def query(
        self,
        X: object,
        n: int = 1,
        *,
        return_probabilities: Literal[False] = False,
        exclude: object = None,
        draw: str = "random",
    ) -> NDArray[np.int64]: ...

    @overload
    def query(
        self, X: object, n: int = 1, *, return_probabilities: Literal[True], exclude: object = None, draw: str = "random"
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...

    def query(
        self,
        X: object,
        n: int = 1,
        *,
        return_probabilities: bool = False,
        exclude: object = None,
        draw: str = "random",
    ) -> NDArray[np.int64] | tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Draws the next rows to label and returns their indices into ``X``.

        Rows are drawn one after another without replacement, each with probability in proportion to its U among the remaining
        rows. ``return_probabilities=True`` also returns these probabilities, exactly. ``exclude`` names rows to exclude, by
        index or as a mask, so that labeled rows need not be removed from the pool. ``draw="top"`` takes the most uncertain
        rows instead, which have no probabilities.

        >>> import numpy as np, querist
        >>> clf = querist.ActiveClassifier(rule="margin:mu=1", l2=1.0, random_state=0).fit([[-1.0], [1.0]], [0, 1])
        >>> places, p = clf.query(np.linspace(-3, 3, 100).reshape(-1, 1), n=2, return_probabilities=True)
        >>> places.shape, bool((p > 0).all())
        ((2,), True)
        """
        self._check_fitted()
        call = self._reserve_call()
        try:
            found: NDArray[np.int64] | tuple[NDArray[np.int64], NDArray[np.float64]] = self._query(
                X,
                n,
                rule=self.rule,
                seed=self._seed,
                call=call,
                return_probabilities=return_probabilities,
                exclude=exclude,
                draw=draw,
            )
        except BaseException:
            self._release_call(call)
            raise
        return found

    def _reserve_call(self) -> int:
        """Returns the number of a call, a different one to each of several threads."""
        with _CALLS:
            call: int = self.n_queries_
            self.n_queries_ = call + 1
        return call

    def _release_call(self, call: int) -> None:
        """Takes back the number of a call that failed, unless another call has begun since."""
        with _CALLS:
            if self.n_queries_ == call + 1:
                self.n_queries_ = call

    def _query(
        self, X: Any, n: Any, *, rule: Any, seed: int, call: int, return_probabilities: bool, exclude: Any, draw: Any
    ) -> Any:
        self._check_fitted()
        given = rows(X)
        self._check_features(given)
        goal = wanted(
            n,
            given.length,
            exclude,
            draw,
            rule=rule,
            loss=self.loss,
            classes=len(self.classes_),
            seed=seed,
            call=call,
            rarest=self._rarest(),
        )
        found = _querist.query(given.made, self._parameters(), self._outputs(), goal)
        return answer(found, return_probabilities, stacklevel=4)

    def _rarest(self) -> int:
        """Returns the index of the class with the fewest labels."""
        if self._answers is None:
            return len(self.classes_) - 1
        codes = self._answers[1]
        codes = (codes + 1) / 2 if len(self.classes_) == 2 else codes
        return int(np.bincount(codes.astype(np.intp), minlength=len(self.classes_)).argmin())

    # Files.

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to a checksummed file in its own format: parameters and classes, without the labels.

        >>> import os, tempfile, querist
        >>> clf = querist.ActiveClassifier(l2=1.0).fit([[0.0], [1.0]], ["a", "b"])
        >>> path = os.path.join(tempfile.mkdtemp(), "m.querist")
        >>> clf.save(path)
        >>> querist.ActiveClassifier.load(path).predict([[3.0]]).tolist()
        ['b']
        """
        header, arrays = self._file()
        _querist.write_model(os.fspath(path), header, arrays)

    def to_bytes(self) -> bytes:
        """Returns the bytes that ``save`` writes, for example for the executors of a cluster."""
        return _querist.model_bytes(*self._file())

    def _file(self) -> tuple[str, list[tuple[str, list[float]]]]:
        self._check_fitted()
        names = getattr(self, "feature_names_in_", None)
        header = {
            "loss": self.loss,
            "rule": self.rule,
            "outputs": self._outputs(),
            "order": "weights feature by feature, then the intercept",
            "encoder": None,
            "classes": self.classes_.tolist(),
            "classes_dtype": self.classes_.dtype.str,
            "features": None if names is None else [str(name) for name in names],
            "l2": self.l2_,
            "labels": self.n_labels_,
        }
        parameters = self._parameters().tolist()
        return json.dumps(header, ensure_ascii=False), [("theta", parameters), ("mean", parameters)]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ActiveClassifier:
        """Loads a model from its file. It predicts and queries; ``partial_fit`` restarts, since the file has no labels."""
        text, arrays = _querist.read_model(os.fspath(path))
        header, found = json.loads(text), dict(arrays)
        if "classes" not in header or "mean" not in found:
            raise _querist.QueristError(f"{os.fspath(path)}: the model was not saved by ActiveClassifier: it names no classes")
        model = cls(loss=header["loss"], rule=header["rule"])
        model.classes_ = np.array(header["classes"], dtype=np.dtype(header["classes_dtype"]))
        if header["outputs"] != model._outputs():
            found_outputs, classes = header["outputs"], len(header["classes"])
            raise _querist.QueristError(f"{os.fspath(path)}: the model has {found_outputs} outputs for {classes} classes")
        model._seed, model._answers, model.n_queries_ = seed_of(None), None, 0
        model.n_features_in_ = len(found["mean"]) // model._outputs() - 1
        if header["features"] is not None:
            model.feature_names_in_ = np.array(header["features"], dtype=object)
        model._take(np.asarray(found["mean"]))
        model.l2_, model.n_labels_ = header["l2"], header["labels"]
        return model


def _other_names(names: np.ndarray, fitted: np.ndarray) -> str:
    unseen, missing = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))

    def listed(some: list[str]) -> str:
        return "".join(f"- {name}\n" for name in some[:5]) + ("- ...\n" if len(some) > 5 else "")

    message = "The feature names should match those that were passed during fit.\n"
    if unseen:
        message += "Feature names unseen at fit time:\n" + listed(unseen)
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + listed(missing)
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    return message
