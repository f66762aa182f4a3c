"""Estimates: by the formula of the paper they are from, by coverage, and from ledgers of the program."""

from __future__ import annotations

import json
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
    assert found.anytime_high == told["anytime_high"]
    assert found == querist.estimate(str(ledger))
    with pytest.raises(TypeError, match="^probabilities"):
        querist.estimate(ledger, [0.1])


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
