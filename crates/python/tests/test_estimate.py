"""Estimates, checked by the formula of their paper, by coverage, and by ledgers of the program."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import subprocess
from pathlib import Path

import numpy as np
import pytest

import querist

ROOT = Path(__file__).resolve().parents[3]


def lure_weights(q: np.ndarray, N: int) -> np.ndarray:
    """v = 1 + (N−M)/(N−m)·(1/((N−m+1)q) − 1), Farquhar, Gal and Rainforth (2021)."""
    M, m = len(q), np.arange(1, len(q) + 1)
    found: np.ndarray = 1 + (N - M) / (N - m) * (1 / ((N - m + 1) * q) - 1)
    return found


def test_the_estimate_is_the_lure_weighted_mean() -> None:
    rng = np.random.default_rng(0)
    q = rng.uniform(0.0005, 0.02, size=60)
    losses = rng.uniform(size=60)
    for values in (losses, losses > 0.5):
        found = querist.estimate(values, q, pool=500)
        # A share is a ratio of two weighted means: of booleans and of ones.
        wanted = (
            lure_ratio(values * 1.0, np.ones(60), q, 500) if values.dtype == bool else (lure_weights(q, 500) * values).mean()
        )
        assert found.value == pytest.approx(wanted)
        assert found.low <= found.value <= found.high
        assert found.draws == 60
        assert found.effective_n == pytest.approx(lure_weights(q, 500).sum() ** 2 / (lure_weights(q, 500) ** 2).sum())
    unbounded = querist.estimate(10 * losses, q, pool=500, bounds=None)
    assert unbounded.value == pytest.approx(10 * querist.estimate(losses, q, pool=500, bounds=None).value)
    assert unbounded.anytime_low is None
    assert unbounded.to_dict()["confidence"] == 0.95
    assert "confidence" in repr(unbounded)
    assert "<p>" in unbounded._repr_html_()


def test_a_share_and_its_complement_add_up_to_1() -> None:
    rng = np.random.default_rng(8)
    q = rng.uniform(0.0005, 0.02, size=60)
    right = rng.uniform(size=60) < 0.8
    found, other = (querist.estimate(values, q, pool=500, floor=1e-4) for values in (right, ~right))
    assert found.value == pytest.approx(1 - other.value)
    assert [found.low, found.high] == pytest.approx([1 - other.high, 1 - other.low])
    assert [found.anytime_low, found.anytime_high] == pytest.approx([1 - other.anytime_high, 1 - other.anytime_low], abs=1e-5)
    all_right = querist.estimate(np.ones(60, dtype=bool), q, pool=500)
    assert all_right.value == 1
    assert all_right.low < 1


def test_the_interval_of_log_loss_accounts_for_rows_not_drawn() -> None:
    rng = np.random.default_rng(3)
    predicted = rng.dirichlet([1.0, 1.5, 3.0], size=500) + 1e-6
    predicted /= predicted.sum(axis=1, keepdims=True)
    labels = predicted.argmax(axis=1)[:60]
    q = rng.uniform(0.001, 0.003, size=60)
    found = querist.estimate_log_loss(predicted, np.arange(60), labels, q)
    losses = -np.log(predicted[np.arange(60), labels])
    assert found.value == pytest.approx((lure_weights(q, 500) * losses).mean(), rel=1e-12)
    # No mistake was drawn; the interval does not conclude that there are none.
    unaware = querist.estimate(losses, q, pool=500, bounds=None)
    assert found.high > unaware.high
    assert found.anytime_high is None


def test_the_interval_of_log_loss_widens_with_the_confidence() -> None:
    predicted, labels, rows, q = judged(np.random.default_rng(0), 500, 80)
    less, more = (querist.estimate_log_loss(predicted, rows, labels[rows], q, confidence=c) for c in (0.95, 0.99))
    # Of normal intervals, the ends are 2.576/1.96 = 1.31 times as far from the estimate.
    assert less.value == more.value
    assert 1.2 < (more.value - more.low) / (less.value - less.low) < 1.8
    assert 1.2 < (more.high - more.value) / (less.high - less.value) < 1.8


Judged = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def judged(rng: np.random.Generator, pool: int, draws: int) -> Judged:
    """Returns predictions that are overconfident by a third, all labels, and draws by uncertainty with probabilities."""
    scores = 2 * rng.normal(size=(pool, 3))
    predicted, true_probabilities = (np.exp(b * scores) for b in (1.0, 0.75))
    predicted /= predicted.sum(axis=1, keepdims=True)
    true_probabilities /= true_probabilities.sum(axis=1, keepdims=True)
    labels = (rng.uniform(size=(pool, 1)) > true_probabilities.cumsum(axis=1)[:, :2]).sum(axis=1)
    U = 0.1 + 1 - predicted.max(axis=1)
    rows = np.argsort(rng.exponential(size=pool) / U)[:draws]
    before = np.concatenate([[0.0], U[rows].cumsum()[:-1]])
    return predicted, labels, rows, np.minimum(U[rows] / (U.sum() - before), 1.0)


def parts(predicted: np.ndarray, labels: np.ndarray, name: str, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns what each row adds to the numerator and to the denominator of a ratio."""
    is_predicted, is_one = predicted.argmax(axis=1) == c, labels == c
    denominator = {"precision": is_predicted * 1.0, "recall": is_one * 1.0, "f1": is_predicted * 1.0 + is_one}[name]
    return (is_predicted & is_one) * (2.0 if name == "f1" else 1.0), denominator


def each(found: querist.Scores) -> dict[tuple[str, int], querist.Estimate | None]:
    names = ("precision", "recall", "f1")
    return {(name, c): getattr(of_class, name) for c, of_class in enumerate(found.classes) for name in names}


def lure_ratio(numerator: np.ndarray, denominator: np.ndarray, q: np.ndarray, N: int) -> float:
    """Returns the ratio of two weighted means, minus its bias −cov(residual, denominator)/denominator to second order."""
    M, m = len(q), np.arange(1, len(q) + 1)
    mean = (lure_weights(q, N) * denominator).mean()
    ratio = (lure_weights(q, N) * numerator).mean() / mean
    residual = (numerator - ratio * denominator) / mean

    def errors(values: np.ndarray, about: float) -> np.ndarray:
        readings = (values.cumsum() - values + values / q) / N
        found: np.ndarray = N * (N - M) / (M * (N - m) * (N - m + 1)) * (readings - about)
        return found

    return float(np.clip(ratio + (errors(residual, 0.0) * errors(denominator, mean)).sum() / mean, 0.0, 1.0))


def difference_estimate(predicted: np.ndarray, labels: np.ndarray, rows: np.ndarray, q: np.ndarray) -> float:
    """Returns the accuracy that a recalibrated model predicts for the pool, plus the LURE mean of what draws add to it."""
    likeliest, weights = predicted.argmax(axis=1), lure_weights(q, len(predicted))
    found = []
    for b in np.append(2.0 ** (np.arange(-15, 16) / 3), 0.0):
        probabilities = predicted**b / (predicted**b).sum(axis=1, keepdims=True)
        e = probabilities[np.arange(len(predicted)), likeliest]
        added = (weights * ((likeliest == labels)[rows] - e[rows])).mean()
        found.append((abs(added), e.mean() + added))
    return float(min(found)[1])


def test_scores_are_lure_weighted_means_and_their_ratios() -> None:
    predicted, labels, rows, q = judged(np.random.default_rng(4), 500, 80)
    found = querist.estimate_scores(predicted, rows, labels[rows], q)
    assert found.accuracy.value == pytest.approx(difference_estimate(predicted, labels, rows, q), rel=1e-9)
    assert found.log_loss == querist.estimate_log_loss(predicted, rows, labels[rows], q)
    assert len(found.classes) == 3
    for (name, c), ratio in each(found).items():
        numerator, denominator = parts(predicted[rows], labels[rows], name, c)
        assert ratio is not None
        assert ratio.value == pytest.approx(lure_ratio(numerator, denominator, q, 500), rel=1e-9)
        assert 0 <= ratio.low <= ratio.value <= ratio.high <= 1
        assert ratio.anytime_low <= ratio.value <= ratio.anytime_high
        assert ratio.draws == 80
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.accuracy = found.log_loss  # type: ignore[misc]
    surer = querist.estimate_scores(predicted.astype(np.float32), list(rows), labels[rows], q, floor=1e-4, confidence=0.99)
    assert surer.accuracy.low < found.accuracy.low
    assert surer.accuracy.high > found.accuracy.high


def test_one_function_estimates_every_metric() -> None:
    predicted, labels, rows, q = judged(np.random.default_rng(9), 500, 80)
    draws = {"rows": rows, "labels": labels[rows]}
    every = querist.estimate(predicted, q, metric="all", **draws)
    assert every == querist.estimate_scores(predicted, rows, labels[rows], q)
    assert (
        querist.estimate(predicted, q, **draws) == querist.estimate(predicted, q, metric="accuracy", **draws) == every.accuracy
    )
    assert querist.estimate(predicted, q, metric="log-loss", pool=500, **draws) == every.log_loss
    for c, of_class in enumerate(every.classes):
        for name in ("precision", "recall", "f1"):
            assert querist.estimate(predicted, q, metric=name, pos_label=c, **draws) == getattr(of_class, name)  # type: ignore[call-overload]


def test_a_metric_without_a_relevant_draw_is_undecided() -> None:
    predicted = np.full((50, 2), [0.6, 0.4])
    found = querist.estimate(predicted, [0.02] * 3, rows=[0, 1, 2], labels=[0, 0, 0], metric="recall")
    assert np.isnan(found.value)
    assert (found.low, found.high, found.anytime_low, found.anytime_high, found.draws) == (0, 1, 0, 1, 3)
    assert found.warning is not None


def test_a_model_may_be_certain_unless_its_log_loss_is_estimated() -> None:
    predicted = np.array([[1.0, 0.0], [0.0, 1.0]] * 50)
    draws = {"rows": np.arange(40), "labels": np.array([0, 1] * 19 + [1, 1])}
    q = 1 / (100 - np.arange(40))
    found = querist.estimate(predicted, q, **draws)
    assert found.low < 0.975 < found.high
    with pytest.raises(ValueError, match="^predicted"):
        querist.estimate(predicted, q, metric="log-loss", **draws)


class Overconfident:
    """A model whose scores are several times too large: most of its probabilities are 0 or 1 to many digits."""

    classes_ = np.array([0, 1])

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        positive = 1 / (1 + np.exp(-np.clip(self.factor * X[:, 0], -30, 30)))
        return np.column_stack([1 - positive, positive])


@pytest.mark.parametrize(
    ("rule", "factor"), [("entropy", 8.0), ("least-confidence", 12.0), ("entropy", 1.5), ("boundary", 3.0)]
)
@pytest.mark.parametrize("labels", [50, 300])
def test_estimates_of_a_foreign_model_cover_or_warn(rule: str, factor: float, labels: int) -> None:
    rng = np.random.default_rng(11)
    X = 2 * rng.normal(size=(2000, 1))
    y = (rng.uniform(size=2000) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    model = Overconfident(factor)
    predicted = model.predict_proba(X)
    is_right = predicted.argmax(axis=1) == y
    covered = warned = 0
    for seed in range(150):
        rows, q = querist.query(model, X, n=labels, rule=rule, random_state=seed, return_probabilities=True)
        from_draws = querist.estimate(is_right[rows], q, pool=2000)
        from_pool = querist.estimate(predicted, q, rows=rows, labels=y[rows])
        for found in (from_draws, from_pool):
            covered += found.low <= is_right.mean() <= found.high
            warned += found.warning is not None and not found.low <= is_right.mean() <= found.high
            assert found.anytime_low <= found.low <= found.high <= found.anytime_high
    # At least 285 of 300 are expected; 270 is four standard deviations below.
    assert covered + warned >= 270, (covered, warned)


def test_scores_of_a_fully_drawn_pool_are_exact() -> None:
    predicted, labels, rows, q = judged(np.random.default_rng(5), 60, 60)
    found = querist.estimate_scores(predicted, rows, labels[rows], q)
    assert found.accuracy.value == pytest.approx((predicted.argmax(axis=1) == labels).mean())
    for (name, c), ratio in each(found).items():
        numerator, denominator = parts(predicted, labels, name, c)
        assert ratio is not None
        assert [ratio.low, ratio.value, ratio.high] == pytest.approx([numerator.sum() / denominator.sum()] * 3)


def test_scores_account_for_rows_not_drawn() -> None:
    # An uncertainty rule drew mostly uncertain rows, one in ten of the pool, and six confident ones. All were right.
    predicted = np.full((1000, 2), [0.99, 0.01])
    predicted[:100] = [0.6, 0.4]
    rows = np.append(np.arange(40), [200, 300, 400, 500, 600, 700])
    q = np.append(np.full(40, 0.009), np.full(6, 1 / 7000))
    found = querist.estimate_scores(predicted, rows, [0] * 46, q).accuracy
    unaware = querist.estimate(np.ones(46, dtype=bool), q, pool=1000)
    assert found.value == pytest.approx(1.0)
    # Six confident rows say little about 900, with the model's predictions or without them.
    assert found.low < 0.75
    assert found.low == pytest.approx(unaware.low, abs=0.05)


def test_scores_without_a_relevant_draw_are_none() -> None:
    predicted = np.full((50, 4), [0.4, 0.3, 0.2, 0.1])
    predicted[1] = [0.1, 0.2, 0.3, 0.4]
    found = querist.estimate_scores(predicted, [0, 1, 2], [0, 0, 1], [0.02, 0.02, 0.02])
    first, missed, never, only_predicted = found.classes
    assert first.precision is not None
    assert first.recall is not None
    assert first.recall.value > 0
    assert (missed.precision, missed.recall and missed.recall.value, missed.f1 and missed.f1.value) == (None, 0, 0)
    assert never == querist.ClassScores(None, None, None)
    assert (only_predicted.precision and only_predicted.precision.value, only_predicted.recall) == (0, None)


def test_the_predicted_class_is_the_likeliest_and_the_first_if_tied() -> None:
    # The second and third are tied; a logarithm hardly distinguishes them from the others.
    fifth = np.nextafter(0.2, 1)
    predicted = np.full((50, 5), [0.2, fifth, fifth, 0.2, 0.2])
    found = querist.estimate_scores(predicted, [0, 1], [1, 1], [0.02, 0.02])
    assert [of_class.precision is None for of_class in found.classes] == [True, False, True, True, True]
    assert found.accuracy.value == 1


def test_very_many_classes_have_scores() -> None:
    rng = np.random.default_rng(6)
    predicted = rng.dirichlet(np.ones(5000), size=20) + 1e-9
    predicted /= predicted.sum(axis=1, keepdims=True)
    rows = np.arange(10)
    found = querist.estimate_scores(predicted, rows, predicted[rows].argmax(axis=1), 1 / (20 - rows))
    assert found.accuracy.value == 1
    assert sum(of_class.f1 is not None for of_class in found.classes) == len(set(predicted[rows].argmax(axis=1)))


def test_intervals_of_scores_cover_the_truth() -> None:
    rng = np.random.default_rng(7)
    covered: dict[tuple[str, int], int] = {}
    errors = []
    for _ in range(300):
        predicted, labels, rows, q = judged(rng, 600, 120)
        found = querist.estimate_scores(predicted, rows, labels[rows], q)
        right, losses = predicted.argmax(axis=1) == labels, -np.log(predicted[np.arange(600), labels])
        estimates = each(found) | {("accuracy", 0): found.accuracy, ("log loss", 0): found.log_loss}
        for which, estimate in estimates.items():
            assert estimate is not None
            if which[0] in ("accuracy", "log loss"):
                truth = (right if which[0] == "accuracy" else losses).mean()
            else:
                numerator, denominator = parts(predicted, labels, *which)
                truth = numerator.sum() / denominator.sum()
            covered[which] = covered.get(which, 0) + (estimate.low <= truth <= estimate.high)
        errors.append((found.accuracy.value - right.mean(), found.log_loss.value - losses.mean()))
    # The mean of 300 errors is within four of its standard deviations.
    assert (abs(np.mean(errors, axis=0)) < 4 * np.std(errors, axis=0) / np.sqrt(300)).all()
    # At least 285 of 300 are expected, with a standard deviation of 3.8; 270 is four of these below.
    assert min(covered.values()) >= 270, covered


def test_the_estimate_of_a_fully_drawn_pool_is_exact() -> None:
    rng = np.random.default_rng(1)
    U = rng.uniform(0.1, 1, size=50)
    losses = rng.uniform(size=50)
    left, q = U.sum(), []
    for u in U:
        q.append(u / left)
        left -= u
    found = querist.estimate(losses, np.minimum(q, 1.0), pool=50)
    assert found.value == pytest.approx(losses.mean())
    assert found.low == pytest.approx(found.high)


def test_the_estimate_is_unbiased_and_covers_where_the_plain_mean_is_biased() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2000, 1))
    y = (X[:, 0] + 0.5 * rng.normal(size=2000) > 0).astype(int)
    clf = querist.ActiveClassifier(rule="margin:mu=1", l2=1.0, random_state=5).fit([[-1.0], [1.0]], [0, 1])
    right = clf.predict(X) == y
    plain, found = [], []
    for _ in range(200):
        indices, p = clf.query(X, n=150, return_probabilities=True)
        plain.append(right[indices].mean())
        found.append(querist.estimate(right[indices], p, pool=2000))
    truth = right.mean()
    values = np.array([estimate.value for estimate in found])
    # The mean of 200 runs is within four of its standard deviations; the plain mean is far outside of its own.
    assert abs(values.mean() - truth) < 4 * values.std() / np.sqrt(200)
    assert abs(np.mean(plain) - truth) > 4 * np.std(plain) / np.sqrt(200)
    # At least 190 of 200 are expected; 178 is four standard deviations below.
    assert sum(estimate.low <= truth <= estimate.high for estimate in found) >= 178
    assert sum(estimate.anytime_low <= truth <= estimate.anytime_high for estimate in found) >= 178


def test_the_estimate_of_a_run_is_in_its_ledger(program: str, tmp_path: Path) -> None:
    ledger = tmp_path / "run.ledger"
    flags = [
        "pool",
        "data/spambase.csv",
        "--label",
        "label",
        "--fit",
        "refit",
        "--draw",
        "scan",
        "--budget",
        "60",
        "--seed",
        "1",
    ]
    done = subprocess.run(
        [program, *flags, "--ledger", str(ledger), "--json"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    printed = json.loads(done.stdout)["estimate"]
    found = querist.estimate(ledger)
    assert (found.value, found.low, found.high) == (printed["accuracy"], printed["low"], printed["high"])
    assert (found.anytime_high, found.warning) == (printed["anytime_high"], printed["warning"])
    assert found == querist.estimate(str(ledger))
    assert (found.draws, found.confidence) == (60, 0.95)
    with pytest.raises(TypeError, match="^probabilities"):
        querist.estimate(ledger, [0.1])
    for name, argument in {
        "metric": "recall",
        "rows": [0],
        "labels": [1],
        "pos_label": 1,
        "pool": 4601,
        "floor": 1e-4,
        "bounds": None,
        "confidence": 0.99,
    }.items():
        with pytest.raises(TypeError, match=f"^{name}: .* ledger"):
            querist.estimate(ledger, **{name: argument})  # type: ignore[call-overload]
    assert querist.estimate(ledger, bounds=[0, 1], floor=0, confidence=0.95) == found  # type: ignore[arg-type]
    # A ledger that is marked open and has no journal was copied while a process wrote to it.
    connection = sqlite3.connect(ledger)
    connection.execute("UPDATE head SET state = 'open'")
    connection.commit()
    connection.close()
    with pytest.warns(UserWarning, match="acknowledged events may be missing: it was copied without its journal"):
        incomplete = querist.estimate(ledger)
    assert incomplete.value == found.value
    assert incomplete.warning is not None
    assert "may be missing" in incomplete.warning


def test_a_recorded_estimate_can_have_no_upper_end(program: str, tmp_path: Path) -> None:
    ledger = tmp_path / "run.ledger"
    flags = ["pool", "data/forest_fires.csv", "--label", "target", "--budget", "60", "--ledger", str(ledger), "--json"]
    done = subprocess.run([program, *flags], cwd=ROOT, check=True, capture_output=True, text=True)
    printed = json.loads(done.stdout)["estimate"]
    found = querist.estimate(ledger)
    assert printed["high"] == "inf"
    assert (found.value, found.low, found.high) == (printed["loss"], printed["low"], float("inf"))
    assert (found.anytime_low, found.anytime_high, found.draws) == (None, None, 60)
    assert f"(at least {found.low:.4g}, no upper bound, with 95% confidence, 60 draws)" in repr(found)


def test_a_ledger_without_an_estimate_is_an_error(program: str, tmp_path: Path) -> None:
    ledger = tmp_path / "stream.ledger"
    flags = ["stream", "data/spambase.csv", "--label", "label", "--shuffle", "--ledger", str(ledger)]
    subprocess.run([program, *flags], cwd=ROOT, check=True, capture_output=True)
    with pytest.raises(querist.QueristError, match="recorded no estimate"):
        querist.estimate(ledger)
    with pytest.raises(FileNotFoundError):
        querist.estimate(tmp_path / "none.ledger")
    other = tmp_path / "other"
    other.write_text("not a ledger")
    with pytest.raises(querist.QueristError):
        querist.estimate(other)
