"""Streams, checked against a reference implementation, with late answers in any order, and after pickling."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import querist


def rows(n: int = 500, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, d)).astype(np.float32)
    return X, (X[:, 0] + 0.3 * rng.normal(size=n) > 0).astype(int)


def walk(run: querist.Stream, X: Any, y: Any) -> list[float | None]:
    """Offers all observations, answers immediately, and returns the probabilities of the queries."""
    found: list[float | None] = []
    for x, label in zip(X, y, strict=True):
        ask = run.offer(x)
        found.append(None if ask is None else ask.probability)
        if ask is not None:
            run.answer(ask, label)
    return found


def test_algorithm_1_matches_a_reference_implementation() -> None:
    """θ ← θ − η·∇ℓ at every ask, with probability the entropy of the current prediction."""
    X, y = rows()
    run = querist.Stream("logistic", "entropy", step="fixed:eta=0.1", random_state=3)
    theta = np.zeros(5)
    for x, label in zip(X.astype(float), y, strict=True):
        full = np.append(x, 1.0)
        score = theta @ full
        p = 1 / (1 + np.exp(-score))
        U = -p * np.log(p) - (1 - p) * np.log(1 - p)
        assert run.probability(x) == pytest.approx(U, rel=1e-9)
        assert run.scores(x)[0] == pytest.approx(score, rel=1e-9, abs=1e-12)
        ask = run.offer(x)
        if ask is not None:
            assert ask.probability == pytest.approx(U, rel=1e-9)
            run.answer(ask, label)
            sign = 2 * label - 1
            theta += 0.1 * sign * full / (1 + np.exp(sign * score))
    assert np.allclose(run.parameters(False), theta, rtol=1e-9)
    counts = run.counts
    assert counts.observed == len(X)
    assert counts.asked == counts.answered
    # The number of asks is a sum of independent draws given the past: within five standard deviations of its mean.
    assert abs(counts.asked - counts.expected) < 5 * np.sqrt(counts.expected)
    assert abs(counts.inverse - counts.observed) < 5 * np.sqrt(sum(1 / 0.02 for _ in X))


def test_every_form_of_a_row_gives_the_same_result() -> None:
    X, y = rows()
    wanted = walk(querist.Stream(random_state=1), X, y)
    forms = [
        X.astype(np.float64),
        X.tolist(),
        [tuple(x) for x in X.tolist()],
        [np.repeat(x, 2)[::2] for x in X],
        [x[::-1][::-1] for x in X],
        [list(x) for x in X],
        [{f"f{j}": value for j, value in enumerate(x)} for x in X.tolist()],
    ]
    for form in forms:
        assert walk(querist.Stream(random_state=1), form, y) == wanted
    whole = (10 * X).astype(np.int64)
    assert walk(querist.Stream(random_state=1), whole, y) == walk(querist.Stream(random_state=1), whole.astype("f4"), y)


def test_answers_may_be_late_and_in_any_order() -> None:
    X, y = rows(2000)
    run = querist.Stream(random_state=0, step="fixed:eta=0.05")
    rng = np.random.default_rng(0)
    waiting: list[tuple[querist.Ask, int]] = []
    for x, label in zip(X, y, strict=True):
        ask = run.offer(x)
        if ask is not None:
            waiting.append((ask, label))
        if len(waiting) > 20:
            run.answer(*waiting.pop(int(rng.integers(len(waiting)))))
    assert run.counts.asked - run.counts.answered == len(waiting)
    for ask, label in reversed(waiting):
        run.answer(ask, label)
    assert run.counts.asked == run.counts.answered
    assert np.mean([run.predict(x) == label for x, label in zip(X, y, strict=True)]) > 0.85
    with pytest.raises(ValueError, match="answered already"):
        run.answer(waiting[0][0], 1)
    with pytest.raises(ValueError, match="another stream"):
        querist.Stream().answer(waiting[0][0], 1)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"momentum": "nesterov:beta=0.5", "step": "fixed:eta=0.05"},
        {"rule": "margin:mu=1", "l2": 0.01, "step": "inverse-sqrt:eta=0.5"},
        {"warm_rule": "constant:p=0.5", "warm_labels": 200, "importance": True},
    ],
)
def test_a_pickled_stream_continues_unchanged(settings: dict[str, Any]) -> None:
    X, y = rows(600)
    run = querist.Stream(random_state=4, **settings)
    walk(run, X[:300], y[:300])
    open_ask = next(ask for ask in map(run.offer, X[:200]) if ask is not None)
    others = [pickle.loads(pickle.dumps(run)), copy.deepcopy(run)]
    wanted = walk(run, X[300:], y[300:])
    for other in others:
        assert walk(other, X[300:], y[300:]) == wanted
        assert np.array_equal(other.parameters(True), run.parameters(True))
        other.answer(pickle.loads(pickle.dumps(open_ask)), 1)
        with pytest.raises(ValueError, match="answered already"):
            other.answer(open_ask, 1)
    assert repr(others[0])


def test_new_feature_names_may_appear() -> None:
    run = querist.Stream(random_state=0, rule="constant:p=1")
    for x, label in [({"a": 1.0}, 1), ({"b": 2.0, "a": 1}, 0), ({"c": True}, 1), ({}, 0)]:
        ask = run.offer(x)
        assert ask is not None
        run.answer(ask, label)
    assert run.names() == ["a", "b", "c"]
    assert run.coef_.shape == (1, 3)
    again = pickle.loads(pickle.dumps(run))
    assert again.names() == run.names()
    assert np.array_equal(again.scores({"c": 1.0, "a": 2.0}), run.scores({"a": 2.0, "c": 1.0}))


def test_three_classes_and_regression_are_learned() -> None:
    X, _ = rows(3000)
    y = np.array(["a", "b", "c"])[(X[:, 0] > -0.5).astype(int) + (X[:, 0] > 0.5)]
    run = querist.Stream(classes=["a", "b", "c"], random_state=0)
    walk(run, X, y)
    assert run.coef_.shape == (3, 4)
    assert np.mean([run.predict(x) == label for x, label in zip(X, y, strict=True)]) > 0.8
    numbers = querist.Stream(classes=None, random_state=0)
    walk(numbers, X[:800], 2 * X[:800, 0] + 1)
    assert numbers.predict([1.0, 0.0, 0.0, 0.0]) == pytest.approx(3.0, abs=0.5)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(numbers)


def test_only_the_given_labels_are_accepted() -> None:
    run = querist.Stream(classes=[True, False], rule="constant:p=1", random_state=0)
    asks = [run.offer([1.0]) for _ in range(3)]
    run.answer(asks[0], np.bool_(True))
    run.answer(asks[1], True)
    with pytest.raises(ValueError, match="^y: maybe is not among the classes"):
        run.answer(asks[2], "maybe")
    run.answer(asks[2], False)
    assert run.counts.answered == 3
