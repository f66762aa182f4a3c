"""Estimates: by the formula of the paper they are from, by coverage, and from ledgers of the program."""

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


def levelled(q: np.ndarray, N: int) -> np.ndarray:
    """v = 1 + (N−M)/(N−m)·(1/((N−m+1)q) − 1), Farquhar, Gal and Rainforth (2021)."""
    M, m = len(q), np.arange(1, len(q) + 1)
    found: np.ndarray = 1 + (N - M) / (N - m) * (1 / ((N - m + 1) * q) - 1)
    return found


def test_it_is_the_levelled_mean() -> None:
    rng = np.random.default_rng(0)
    q = rng.uniform(0.0005, 0.02, size=60)
    losses = rng.uniform(size=60)
    for values in (losses, losses > 0.5):
        found = querist.estimate(values, q, pool=500)
        assert found.value == pytest.approx((levelled(q, 500) * values).mean())
        assert found.low <= found.value <= found.high
        assert found.draws == 60
        assert found.effective_n == pytest.approx(levelled(q, 500).sum() ** 2 / (levelled(q, 500) ** 2).sum())
    unbounded = querist.estimate(10 * losses, q, pool=500, bounds=None)
    assert unbounded.value == pytest.approx(10 * querist.estimate(losses, q, pool=500, bounds=None).value)
    assert unbounded.anytime_low is None
    assert unbounded.to_dict()["confidence"] == 0.95
    assert "confidence" in repr(unbounded)
    assert "<p>" in unbounded._repr_html_()


def test_a_log_loss_knows_what_was_not_drawn() -> None:
    rng = np.random.default_rng(3)
    said = rng.dirichlet([0.3, 0.5, 1.0], size=500) + 1e-6
    said /= said.sum(axis=1, keepdims=True)
    labels = said.argmax(axis=1)[:60]
    q = rng.uniform(0.001, 0.01, size=60)
    found = querist.estimate_log_loss(said, np.arange(60), labels, q)
    losses = -np.log(said[np.arange(60), labels])
    assert found.value == pytest.approx((levelled(q, 500) * losses).mean(), rel=1e-12)
    # No mistake was met; the interval does not take that for an end to them.
    unaware = querist.estimate(losses, q, pool=500, bounds=None)
    assert found.high > unaware.high
    assert found.anytime_high is None
    assert querist.estimate_log_loss(said, range(60), labels, q, confidence=0.99).high > found.high


Judged = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def judged(rng: np.random.Generator, pool: int, draws: int) -> Judged:
    """What a model, too sure by a third, says of a pool, all labels, and draws by uncertainty with their probabilities."""
    scores = 2 * rng.normal(size=(pool, 3))
    said, chances = (np.exp(b * scores) for b in (1.0, 0.75))
    said /= said.sum(axis=1, keepdims=True)
    chances /= chances.sum(axis=1, keepdims=True)
    labels = (rng.uniform(size=(pool, 1)) > chances.cumsum(axis=1)[:, :2]).sum(axis=1)
    U = 0.1 + 1 - said.max(axis=1)
    rows = np.argsort(rng.exponential(size=pool) / U)[:draws]
    before = np.concatenate([[0.0], U[rows].cumsum()[:-1]])
    return said, labels, rows, np.minimum(U[rows] / (U.sum() - before), 1.0)


def parts(said: np.ndarray, labels: np.ndarray, name: str, c: int) -> tuple[np.ndarray, np.ndarray]:
    """What each row adds to the two sums of a ratio."""
    says, is_one = said.argmax(axis=1) == c, labels == c
    whole = {"precision": says * 1.0, "recall": is_one * 1.0, "f1": says * 1.0 + is_one}[name]
    return (says & is_one) * (2.0 if name == "f1" else 1.0), whole


def each(found: querist.Scores) -> dict[tuple[str, int], querist.Estimate | None]:
    names = ("precision", "recall", "f1")
    return {(name, c): getattr(of_class, name) for c, of_class in enumerate(found.classes) for name in names}


def levelled_ratio(part: np.ndarray, whole: np.ndarray, q: np.ndarray, N: int) -> float:
    """Of two levelled means, less its bias −cov(residual, whole)/whole to second order."""
    M, m = len(q), np.arange(1, len(q) + 1)
    mean = (levelled(q, N) * whole).mean()
    ratio = (levelled(q, N) * part).mean() / mean
    residual = (part - ratio * whole) / mean

    def errors(values: np.ndarray, about: float) -> np.ndarray:
        readings = (values.cumsum() - values + values / q) / N
        found: np.ndarray = N * (N - M) / (M * (N - m) * (N - m + 1)) * (readings - about)
        return found

    return float(np.clip(ratio + (errors(residual, 0.0) * errors(whole, mean)).sum() / mean, 0.0, 1.0))


def test_scores_are_levelled_means_and_their_ratios() -> None:
    said, labels, rows, q = judged(np.random.default_rng(4), 500, 80)
    found = querist.estimate_scores(said, rows, labels[rows], q)
    wrong = said[rows].argmax(axis=1) != labels[rows]
    assert found.accuracy.value == pytest.approx(1 - (levelled(q, 500) * wrong).mean(), rel=1e-12)
    assert found.log_loss == querist.estimate_log_loss(said, rows, labels[rows], q)
    assert len(found.classes) == 3
    for (name, c), ratio in each(found).items():
        part, whole = parts(said[rows], labels[rows], name, c)
        assert ratio is not None
        assert ratio.value == pytest.approx(levelled_ratio(part, whole, q, 500), rel=1e-9)
        assert 0 <= ratio.low <= ratio.value <= ratio.high <= 1
        assert ratio.anytime_low <= ratio.value <= ratio.anytime_high
        assert ratio.draws == 80
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.accuracy = found.log_loss  # type: ignore[misc]
    surer = querist.estimate_scores(said.astype(np.float32), list(rows), labels[rows], q, floor=1e-4, confidence=0.99)
    assert surer.accuracy.low < found.accuracy.low
    assert surer.accuracy.high > found.accuracy.high


def test_scores_of_the_whole_pool_drawn_are_the_scores_themselves() -> None:
    said, labels, rows, q = judged(np.random.default_rng(5), 60, 60)
    found = querist.estimate_scores(said, rows, labels[rows], q)
    assert found.accuracy.value == pytest.approx((said.argmax(axis=1) == labels).mean())
    for (name, c), ratio in each(found).items():
        part, whole = parts(said, labels, name, c)
        assert ratio is not None
        assert [ratio.low, ratio.value, ratio.high] == pytest.approx([part.sum() / whole.sum()] * 3)


def test_scores_know_what_was_not_drawn() -> None:
    # A rule that hunts for doubt drew the one row in ten that is doubtful, and three sure ones for the rest. All were right.
    said = np.full((1000, 2), [0.99, 0.01])
    said[:100] = [0.6, 0.4]
    rows = np.append(np.arange(40), [200, 300, 400])
    q = np.append(np.full(40, 0.009), np.full(3, 1 / 9000))
    found = querist.estimate_scores(said, rows, [0] * 43, q).accuracy
    unaware = querist.estimate(np.ones(43, dtype=bool), q, pool=1000)
    assert found.value == pytest.approx(1.0)
    # Three sure rows say little of 900, but the model says of each that it is hardly ever wrong.
    assert unaware.low < found.low < 1


def test_scores_that_no_drawn_row_speaks_of_are_none() -> None:
    said = np.full((50, 4), [0.4, 0.3, 0.2, 0.1])
    said[1] = [0.1, 0.2, 0.3, 0.4]
    found = querist.estimate_scores(said, [0, 1, 2], [0, 0, 1], [0.02, 0.02, 0.02])
    first, missed, never, only_said = found.classes
    assert first.precision is not None
    assert first.recall is not None
    assert first.recall.value > 0
    assert (missed.precision, missed.recall and missed.recall.value, missed.f1 and missed.f1.value) == (None, 0, 0)
    assert never == querist.ClassScores(None, None, None)
    assert (only_said.precision and only_said.precision.value, only_said.recall) == (0, None)


def test_the_class_said_is_the_likeliest_and_the_first_of_equals() -> None:
    # The second and third are equal; a logarithm hardly tells them from the others.
    fifth = np.nextafter(0.2, 1)
    said = np.full((50, 5), [0.2, fifth, fifth, 0.2, 0.2])
    found = querist.estimate_scores(said, [0, 1], [1, 1], [0.02, 0.02])
    assert [of_class.precision is None for of_class in found.classes] == [True, False, True, True, True]
    assert found.accuracy.value == 1


def test_very_many_classes_have_scores() -> None:
    rng = np.random.default_rng(6)
    said = rng.dirichlet(np.ones(5000), size=20) + 1e-9
    said /= said.sum(axis=1, keepdims=True)
    rows = np.arange(10)
    found = querist.estimate_scores(said, rows, said[rows].argmax(axis=1), 1 / (20 - rows))
    assert found.accuracy.value == 1
    assert sum(of_class.f1 is not None for of_class in found.classes) == len(set(said[rows].argmax(axis=1)))


def test_intervals_of_scores_cover() -> None:
    rng = np.random.default_rng(7)
    covered: dict[tuple[str, int], int] = {}
    errors = []
    for _ in range(300):
        said, labels, rows, q = judged(rng, 600, 120)
        found = querist.estimate_scores(said, rows, labels[rows], q)
        right, losses = said.argmax(axis=1) == labels, -np.log(said[np.arange(600), labels])
        told = each(found) | {("accuracy", 0): found.accuracy, ("log loss", 0): found.log_loss}
        for which, estimate in told.items():
            assert estimate is not None
            if which[0] in ("accuracy", "log loss"):
                truth = (right if which[0] == "accuracy" else losses).mean()
            else:
                part, whole = parts(said, labels, *which)
                truth = part.sum() / whole.sum()
            covered[which] = covered.get(which, 0) + (estimate.low <= truth <= estimate.high)
        errors.append((found.accuracy.value - right.mean(), found.log_loss.value - losses.mean()))
    # The mean of 300 errors within four of its deviations.
    assert (abs(np.mean(errors, axis=0)) < 4 * np.std(errors, axis=0) / np.sqrt(300)).all()
    # 285 of 300 are expected at the least, with a deviation of 3.8; 270 is four of those below.
    assert min(covered.values()) >= 270, covered


def test_the_whole_pool_drawn_is_the_mean_itself() -> None:
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


def test_it_is_unbiased_where_the_plain_mean_is_not_and_covers() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2000, 1))
    y = (X[:, 0] + 0.5 * rng.normal(size=2000) > 0).astype(int)
    clf = querist.ActiveClassifier(rule="margin:mu=1", l2=1.0, random_state=5).fit([[-1.0], [1.0]], [0, 1])
    right = clf.predict(X) == y
    plain, found = [], []
    for _ in range(200):
        places, p = clf.query(X, n=150, return_probabilities=True)
        plain.append(right[places].mean())
        found.append(querist.estimate(right[places], p, pool=2000))
    truth = right.mean()
    values = np.array([estimate.value for estimate in found])
    # The mean of 200 runs within four of its deviations; the plain mean is far outside of its own.
    assert abs(values.mean() - truth) < 4 * values.std() / np.sqrt(200)
    assert abs(np.mean(plain) - truth) > 4 * np.std(plain) / np.sqrt(200)
    # 190 of 200 are expected at the least; 178 is four deviations below.
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
    told = json.loads(done.stdout)["estimate"]
    found = querist.estimate(ledger)
    assert (found.value, found.low, found.high) == (told["accuracy"], told["low"], told["high"])
    assert (found.anytime_high, found.warning) == (told["anytime_high"], told["warning"])
    assert found == querist.estimate(str(ledger))
    with pytest.raises(TypeError, match="^probabilities"):
        querist.estimate(ledger, [0.1])
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


def test_a_ledger_without_an_estimate_says_so(program: str, tmp_path: Path) -> None:
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
