"""Draws, checked by formulas in numpy and by their frequencies."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.stats
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import querist


def entropy(scores: np.ndarray) -> np.ndarray:
    p = 1 / (1 + np.exp(-scores))
    found: np.ndarray = -p * np.log(p) - (1 - p) * np.log1p(-p)
    return found


BY_HAND = {
    "margin:mu=1": lambda v: 1 / (1 + np.abs(v)),
    "entropy": entropy,
    "exponential:mu=0.5": lambda v: np.exp(-0.5 * np.abs(v)),
    "threshold:gamma=1": lambda v: (np.abs(v) <= 1).astype(float),
    "constant:p=0.3": lambda v: np.full(len(v), 0.3),
}


@pytest.mark.parametrize("rule", BY_HAND)
def test_probabilities_follow_the_rule_given_the_previous_draws(pool: tuple[np.ndarray, np.ndarray], rule: str) -> None:
    X, y = pool
    clf = querist.ActiveClassifier(rule=rule, l2=1.0, random_state=0).fit(X[:200], y[:200])
    indices, p = clf.query(X, n=50, return_probabilities=True)
    U = BY_HAND[rule](clf.decision_function(X))
    for index, probability in zip(indices, p, strict=True):
        assert probability == pytest.approx(U[index] / U.sum(), rel=1e-6)
        U[index] = 0.0
    assert len(set(indices.tolist())) == 50


def test_first_and_second_draws_have_the_expected_frequencies() -> None:
    X = np.array([[-2.0], [-0.5], [0.0], [1.0], [3.0]], np.float32)
    clf = querist.ActiveClassifier(rule="margin:mu=1", l2=1.0, random_state=7).fit([[-1.0], [1.0]], [0, 1])
    U = 1 / (1 + np.abs(clf.decision_function(X)))
    runs = 20_000
    seen = np.zeros((5, 5))
    for _ in range(runs):
        first, second = clf.query(X, n=2)
        seen[first, second] += 1
    expected = np.array([[U[i] * U[j] / U.sum() / (U.sum() - U[i]) if i != j else 0.0 for j in range(5)] for i in range(5)])
    # Five standard deviations in each of 25 cells.
    assert (np.abs(seen - runs * expected) <= 5 * np.sqrt(runs * expected * (1 - expected))).all()


def test_draws_are_a_function_of_seed_and_call(pool: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = pool

    def three(seed: Any) -> list[list[int]]:
        clf = querist.ActiveClassifier(l2=1.0, random_state=seed).fit(X[:200], y[:200])
        return [clf.query(X, n=4).tolist() for _ in range(3)]

    assert three(1) == three(1) != three(2)
    assert len({tuple(indices) for indices in three(1)}) == 3
    assert three(np.random.default_rng(5)) == three(np.random.default_rng(5))
    assert three(np.random.RandomState(5)) == three(np.random.RandomState(5))
    clf = querist.ActiveClassifier(l2=1.0).fit(X[:200], y[:200])
    one, two = (querist.query(clf, X, 5, rule="entropy", random_state=9).tolist() for _ in range(2))
    assert one == two


def test_excluded_rows_have_no_effect_on_the_draws(pool: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = pool
    clf = querist.ActiveClassifier(rule="margin:mu=1", l2=1.0, random_state=0).fit(X[:200], y[:200])
    excluded = np.arange(0, 3000, 2)
    indices, p = querist.query(clf, X, 100, rule="margin:mu=1", random_state=3, return_probabilities=True, exclude=excluded)
    assert (indices % 2 == 1).all()
    mask = np.zeros(3000, bool)
    mask[excluded] = True
    assert np.array_equal(indices, querist.query(clf, X, 100, rule="margin:mu=1", random_state=3, exclude=mask))
    U = 1 / (1 + np.abs(clf.decision_function(X)))
    U[excluded] = 0.0
    assert p[0] == pytest.approx(U[indices[0]] / U.sum(), rel=1e-6)


def test_all_rows_can_be_drawn_and_no_more() -> None:
    X = np.linspace(-2, 2, 40).reshape(-1, 1)
    clf = querist.ActiveClassifier(l2=1.0).fit(X, X[:, 0] > 0)
    assert sorted(clf.query(X, n=40).tolist()) == list(range(40))
    with pytest.raises(ValueError, match="^n: 41"):
        clf.query(X, n=41)
    sharp = querist.ActiveClassifier(rule="threshold:gamma=0.1", l2=1.0).fit(X, X[:, 0] > 0)
    with pytest.warns(UserWarning, match="rows were drawn uniformly"):
        assert sorted(sharp.query(X, n=40).tolist()) == list(range(40))


def test_top_draws_are_the_most_uncertain_rows(pool: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = pool
    clf = querist.ActiveClassifier(rule="entropy", l2=1.0).fit(X[:200], y[:200])
    order = np.argsort(np.abs(clf.decision_function(X)), kind="stable")
    assert np.array_equal(clf.query(X, n=20, draw="top"), order[:20])
    assert np.array_equal(clf.query(X, n=20, draw="top", exclude=order[:7]), order[7:27])
    with pytest.raises(ValueError, match="^return_probabilities"):
        clf.query(X, n=2, draw="top", return_probabilities=True)


RULES = ["boundary", "margin", "rare", "entropy", "least-confidence", "constant"]


@pytest.mark.parametrize("estimator", [DecisionTreeClassifier(random_state=0), KNeighborsClassifier(1)], ids=str)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("rule", RULES)
def test_saturated_probabilities_give_uniform_draws(
    pool: tuple[np.ndarray, np.ndarray], estimator: Any, classes: int, rule: str
) -> None:
    X, y = pool
    y = y if classes == 2 else y + (X[:, 2] > 0.5)
    estimator.fit(X[:300], y[:300])
    assert set(np.unique(estimator.predict_proba(X[300:400]))) == {0.0, 1.0}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        indices, p = querist.query(estimator, X[300:400], n=40, rule=rule, random_state=1, return_probabilities=True)
    assert len(set(indices.tolist())) == 40
    if rule == "rare":
        # The queried class has probability 1 in some rows, and the rule's floor spreads some draws over the others.
        assert ((p > 0) & (p <= 1)).all()
        return
    assert p == pytest.approx(1 / (100 - np.arange(40)), rel=1e-12)
    warned = [str(one.message) for one in caught if "drawn uniformly" in str(one.message)]
    assert len(warned) == (0 if rule == "constant" else 1)


def test_rows_without_uncertainty_are_drawn_last() -> None:
    class Fixed:
        def predict_proba(self, X: np.ndarray) -> np.ndarray:
            p = np.where(np.arange(len(X)) % 10 == 0, 0.4, 1.0)
            return np.stack([1 - p, p], axis=1)

    X = np.zeros((50, 1))
    with pytest.warns(UserWarning, match="^3 of 8 rows were drawn uniformly"):
        indices, p = querist.query(Fixed(), X, n=8, rule="entropy", random_state=2, return_probabilities=True)
    assert set(indices[:5].tolist()) == {0, 10, 20, 30, 40}
    assert len(set(indices.tolist())) == 8
    assert p == pytest.approx([1 / 5, 1 / 4, 1 / 3, 1 / 2, 1, 1 / 45, 1 / 44, 1 / 43])
    # The most uncertain rows come first, in row order if tied; excluded rows never.
    top = querist.query(Fixed(), X, n=6, rule="entropy", draw="top", exclude=[0, 1, 20])
    assert top.tolist() == [10, 30, 40, 2, 3, 4]


def test_the_old_name_of_the_boundary_rule_draws_the_same(pool: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = pool
    clf = querist.ActiveClassifier(l2=1.0).fit(X[:200], y[:200])
    names = ["boundary", "margin", "boundary:half=0.01,floor=0.2"]
    one, *others = (querist.query(clf, X, 20, rule=rule, random_state=9).tolist() for rule in names)
    assert all(other == one for other in others)


@pytest.mark.parametrize("rule", ["boundary", "rare"])
def test_rules_in_units_of_the_pool_keep_their_floor(pool: tuple[np.ndarray, np.ndarray], rule: str) -> None:
    X, y = pool
    clf = querist.ActiveClassifier(rule=rule, l2=1.0, random_state=0).fit(X[:200], y[:200])
    _, p = clf.query(X, n=1, return_probabilities=True)
    draws = [clf.query(X, n=1, return_probabilities=True)[1][0] for _ in range(300)]
    # A tenth of the draws is spread evenly; the pool's scale is estimated from a sample of it.
    assert min(draws) > 0.5 * 0.1 / len(X)
    assert p[0] <= 1


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), RandomForestClassifier(20, random_state=0), LinearSVC(), RidgeClassifier()],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("classes", [2, 3])
def test_any_estimator_can_be_queried(pool: tuple[np.ndarray, np.ndarray], estimator: Any, classes: int) -> None:
    X, y = pool
    y = y if classes == 2 else y + (X[:, 2] > 0.5)
    estimator.fit(X[:300], y[:300])
    indices, p = querist.query(estimator, X, n=30, rule="entropy", random_state=1, return_probabilities=True)
    if hasattr(estimator, "predict_proba"):
        P = estimator.predict_proba(X)
    else:
        scores = estimator.decision_function(X)
        scores = np.stack([0 * scores, scores], axis=1) if scores.ndim == 1 else scores
        P = np.exp(scores - scores.max(axis=1, keepdims=True))
        P /= P.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        U = -np.nan_to_num(P * np.log(P)).sum(axis=1)
    for index, probability in zip(indices, p, strict=True):
        assert probability == pytest.approx(U[index] / U.sum(), rel=1e-5)
        U[index] = 0.0


def test_three_classes_are_drawn_by_their_entropy(pool: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = pool
    y = y + (X[:, 2] > 0.5)
    clf = querist.ActiveClassifier(rule="entropy", l2=1.0, random_state=0).fit(X[:300], y[:300])
    indices, p = clf.query(X, n=20, return_probabilities=True)
    P = clf.predict_proba(X)
    U = -(P * np.log(P)).sum(axis=1)
    for index, probability in zip(indices, p, strict=True):
        assert probability == pytest.approx(U[index] / U.sum(), rel=1e-6)
        U[index] = 0.0


def test_query_is_a_query_strategy_for_modal() -> None:
    """modAL calls `query_strategy(learner, X_pool, **more)` and uses the returned indices; this test does the same."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] > 0).astype(int)

    class ActiveLearner:
        def __init__(self, estimator: Any, query_strategy: Any, X: np.ndarray, y: np.ndarray) -> None:
            self.estimator, self.query_strategy, self.X, self.y = estimator.fit(X, y), query_strategy, X, y

        def predict_proba(self, X: np.ndarray) -> Any:
            return self.estimator.predict_proba(X)

        def query(self, X_pool: np.ndarray, *arguments: Any, **more: Any) -> Any:
            indices = self.query_strategy(self, X_pool, *arguments, **more)
            return indices, X_pool[indices]

        def teach(self, X: np.ndarray, y: np.ndarray) -> None:
            self.X, self.y = np.concatenate([self.X, X]), np.concatenate([self.y, y])
            self.estimator.fit(self.X, self.y)

    learner = ActiveLearner(LogisticRegression(), querist.query, X[:10], y[:10])
    for _ in range(10):
        indices, rows = learner.query(X, n=2, rule="entropy", random_state=rng)
        learner.teach(rows, y[indices])
    assert (learner.estimator.predict(X) == y).mean() > 0.9


@pytest.mark.parametrize("rule", ["boundary", "entropy", "least-confidence"])
def test_stated_probabilities_match_20_000_simulated_draws(rule):
    P = np.random.default_rng(4).dirichlet([0.8] * 3, size=8)
    stated: dict[tuple[int, int], float] = {}
    seen: dict[tuple[int, int], int] = {}
    for seed in range(20_000):
        rows, p = querist.query(P, n=2, rule=rule, random_state=seed, return_probabilities=True)
        pair = (int(rows[0]), int(rows[1]))
        seen[pair] = seen.get(pair, 0) + 1
        assert stated.setdefault(pair, float(p.prod())) == float(p.prod())
    # Pairs that are expected less than 5 times count as one.
    often = [pair for pair in stated if 20_000 * stated[pair] >= 5]
    expected = [20_000 * stated[pair] for pair in often]
    found = [seen[pair] for pair in often]
    rest = 20_000 - sum(expected)
    assert len(often) > 20
    assert rest >= -1e-6
    if rest > 1e-6:
        expected, found = [*expected, rest], [*found, 20_000 - sum(found)]
    assert scipy.stats.chisquare(found, expected).pvalue > 0.001


def test_single_and_double_precision_draw_the_same_rows_without_a_copy():
    P = np.random.default_rng(6).dirichlet([0.5] * 4, size=3000).astype(np.float32)
    for rule in ("boundary", "entropy", "least-confidence"):
        narrow = querist.query(P, n=50, rule=rule, random_state=1, return_probabilities=True)
        wide = querist.query(P.astype(np.float64), n=50, rule=rule, random_state=1, return_probabilities=True)
        assert narrow[0].tolist() == wide[0].tolist()
        assert narrow[1].tolist() == wide[1].tolist()
