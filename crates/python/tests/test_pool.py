"""Pools that any model scores: exact probabilities, estimates that cover, and ledgers that survive a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import querist


def table(rows: int, classes: int, seed: int = 0) -> np.ndarray:
    P = np.random.default_rng(seed).gamma(0.4, size=(rows, classes)) + 1e-4
    return np.asarray(P / P.sum(axis=1, keepdims=True))


def entropy(P: np.ndarray) -> np.ndarray:
    return np.asarray(-(P * np.log(P)).sum(axis=1))


# Probabilities.


@pytest.mark.parametrize("rule", ["entropy", "least-confidence", "boundary", "rare"])
def test_stated_probabilities_are_the_frequencies_of_draws(rule: str) -> None:
    """20,000 pools draw two rows each."""
    rows, runs = 12, 20_000
    P = table(rows, 3, seed=4)
    first, second = np.zeros(rows), np.zeros(rows)
    stated: dict[int, float] = {}
    drawn = []
    for seed in range(runs):
        draw = querist.Pool(n=rows, rule=rule, seed=seed, cold_start="none").draw(P, n=2)
        (one, two), (p, q) = draw.rows.tolist(), draw.probabilities.tolist()
        first[one] += 1
        second[two] += 1
        assert stated.setdefault(one, p) == p
        drawn.append((one, two, q))
    expected = np.array([stated[row] for row in range(rows)])
    assert expected.sum() == pytest.approx(1, rel=1e-9)
    # Given the first draw, the others share what is left in proportion to U.
    for one, two, q in drawn:
        assert abs(q - expected[two] / (1 - expected[one])) < 1e-9
    # A χ² of 11 degrees of freedom is above 40 with probability 4e-5.
    for seen, probabilities in ((first, expected), (second, seconds(expected))):
        assert ((seen - runs * probabilities) ** 2 / (runs * probabilities)).sum() < 40


def seconds(p: np.ndarray) -> np.ndarray:
    """Returns the probability that each row is drawn second."""
    return np.array([sum(p[i] * p[j] / (1 - p[i]) for i in range(len(p)) if i != j) for j in range(len(p))])


@pytest.mark.parametrize("classes", [2, 4])
def test_probabilities_follow_the_rule_given_the_previous_draws(classes: int) -> None:
    P = table(3000, classes)
    pool = querist.Pool(n=3000, rule="entropy", seed=5, cold_start="none")
    left = np.ones(3000, bool)
    for step in range(4):
        predictions = table(3000, classes, seed=step)
        draw = pool.draw(predictions, n=25)
        U = entropy(predictions) * left
        for row, probability in zip(draw.rows, draw.probabilities, strict=True):
            assert probability == pytest.approx(U[row] / U.sum(), rel=1e-9)
            U[row] = 0
        left[draw.rows] = False
        pool.answer(draw, draw.rows % classes)
    assert len(set(pool.rows.tolist())) == 100
    assert pool.n_left == 2900
    assert P.shape == (3000, classes)


def test_the_floor_of_a_rule_is_kept() -> None:
    P = table(20_000, 3)
    pool = querist.Pool(n=20_000, seed=5, cold_start="none")
    draw = pool.draw(P, n=200)
    left = 20_000 - np.arange(200)
    # A fifth of the draws is spread evenly; the scale comes from a sample of the pool.
    assert (draw.floors * left > 0.15).all()
    assert (draw.floors <= draw.probabilities).all()


def test_all_forms_of_predictions_draw_the_same() -> None:
    P = table(500, 2)
    forms: list[dict[str, Any]] = [dict(probabilities=P), dict(probabilities=P[:, 1]), dict(probabilities=P[:, [1]])]
    forms += [dict(logits=np.log(P[:, 1]) - np.log(P[:, 0])), dict(scores=np.log(P)), dict(logits=np.log(P))]
    drawn = []
    for form in forms:
        pool = querist.Pool(n=500, seed=2, cold_start="none")
        drawn.append(pool.draw(n=30, **form).rows.tolist())
    assert all(rows == drawn[0] for rows in drawn)


def test_rows_without_uncertainty_are_drawn_uniformly_and_last() -> None:
    P = np.zeros((40, 2))
    P[:, 1] = 1
    P[::10] = 0.5
    pool = querist.Pool(n=40, rule="entropy", cold_start="none")
    with pytest.warns(UserWarning, match="^2 of 6 rows were drawn uniformly"):
        draw = pool.draw(P, n=6)
    assert set(draw.rows[:4].tolist()) == {0, 10, 20, 30}
    assert draw.probabilities[4:] == pytest.approx([1 / 36, 1 / 35])


# Cold starts.


@pytest.mark.parametrize("cold", ["random", "coverage"])
def test_a_cold_start_lasts_until_every_class_was_seen(cold: Any) -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (150, 4)), rng.normal(6, 1, (50, 4))])
    y = np.repeat(["ham", "spam"], [150, 50])
    pool = querist.Pool(n=200, classes=["ham", "spam"], features=X if cold == "coverage" else None, cold_start=cold)
    while pool.is_cold:
        draw = pool.draw(n=1)
        assert draw.method == f"cold start: {cold}"
        assert draw.floors[0] >= 0.09 / pool.n_left
        if cold == "random":
            assert draw.probabilities[0] == 1 / (pool.n_left + 1)
        pool.answer(draw, y[draw.rows])
    assert set(pool.labels) == {"ham", "spam"}
    with pytest.raises(ValueError, match="^probabilities: every class has a label"):
        pool.draw()
    assert pool.draw(table(200, 2)).method.startswith("boundary:half=0.01")


# Estimates.


@pytest.mark.parametrize("rule", ["entropy", "least-confidence", "boundary"])
def test_estimates_of_an_overconfident_model_cover(rule: str) -> None:
    """The truth is the pool's own, by numpy. With a coverage of 95 %, 300 runs cover in at least 91 % except in 1 of 700."""
    runs, rows = 300, 1500
    missed = dict.fromkeys(["accuracy", "log_loss", "brier", "f1", "accuracy anytime", "brier anytime"], 0)
    for run in range(runs):
        rng = np.random.default_rng(run)
        logit = rng.normal(0, 1.5, rows)
        y = (rng.random(rows) < 1 / (1 + np.exp(-logit))).astype(int)
        # Three times as confident as it should be.
        p = np.clip(1 / (1 + np.exp(-3 * logit)), 1e-6, 1 - 1e-6)
        pool = querist.Pool(n=rows, rule=rule, seed=run, cold_start="none")
        for _ in range(6):
            draw = pool.draw(p, n=50)
            pool.answer(draw, y[draw.rows])
        found = pool.estimate(p)
        chosen = p > 0.5
        truth = {
            "accuracy": (chosen == y).mean(),
            "log_loss": -np.log(np.where(y == 1, p, 1 - p)).mean(),
            "brier": ((p - y) ** 2).mean(),
            "f1": 2 * (chosen & (y == 1)).sum() / (chosen.sum() + y.sum()),
        }
        for name, value in truth.items():
            estimate = getattr(found, name)
            missed[name] += not estimate.low <= value <= estimate.high
            if f"{name} anytime" in missed:
                missed[f"{name} anytime"] += not estimate.anytime_low <= value <= estimate.anytime_high
    assert all(count <= 0.09 * runs for count in missed.values()), missed
    assert missed["accuracy anytime"] <= 0.05 * runs


def test_the_estimate_is_that_of_the_draws() -> None:
    P = table(800, 3)
    y = np.random.default_rng(1).integers(0, 3, 800)
    pool = querist.Pool(n=800, seed=3, cold_start="none")
    for _ in range(4):
        draw = pool.draw(P, n=30)
        pool.answer(draw, y[draw.rows])
    everything = pool.draw(P, n=5)
    assert len(pool.pending) == 5
    found = pool.estimate(P)
    drawn = pool._drawn()
    expected = querist.estimate(P, drawn[1][:120], metric="all", rows=pool.rows, labels=pool.labels, floor=drawn[2][:120])
    assert found.accuracy.value == pytest.approx(expected.accuracy.value, rel=1e-9)
    assert found.accuracy.anytime_low == pytest.approx(expected.accuracy.anytime_low, rel=1e-6)
    assert found.log_loss.value == pytest.approx(expected.log_loss.value, rel=1e-9)
    # Leveled weights, by hand.
    N, M, m = 800, 120, np.arange(1, 121)
    v = 1 + (N - M) / (N - m) * (1 / ((N - m + 1) * drawn[1][:120]) - 1)
    of_row = ((P[pool.rows] - np.eye(3)[pool.labels]) ** 2).sum(axis=1)
    assert found.brier.value == pytest.approx((v * of_row).mean(), rel=1e-9)
    pool.answer(everything, y[everything.rows])
    assert pool.estimate(P).accuracy.draws == 125
    with pytest.raises(ValueError, match="more than two classes"):
        _ = found.f1
    assert json.loads(json.dumps(found.to_dict()))["brier"]["draws"] == 120
    assert "accuracy" in repr(found)


def test_a_gap_in_the_answers_limits_estimates_to_the_draws_before_it() -> None:
    P = table(400, 2)
    pool = querist.Pool(n=400, cold_start="none")
    first, second = pool.draw(P, n=20), pool.draw(P, n=20)
    with pytest.raises(querist.QueristError, match="no answer yet"):
        pool.estimate(P)
    pool.answer(second, [0] * 20)
    with pytest.raises(querist.QueristError, match="no answer yet"):
        pool.estimate(P)
    pool.answer(first, [0] * 19 + [None])
    assert pool.estimate(P).accuracy.draws == 19
    pool.answer(pool.pending, [1])
    assert pool.estimate(P).accuracy.draws == 40


def test_weights_level_the_sample() -> None:
    P = table(600, 2)
    pool = querist.Pool(n=600, rule="entropy", cold_start="none")
    draw = pool.draw(P, n=100)
    pool.answer(draw, [0] * 100)
    N, M, m = 600, 100, np.arange(1, 101)
    v = 1 + (N - M) / (N - m) * (1 / ((N - m + 1) * draw.probabilities) - 1)
    assert pool.weights("as-asked").tolist() == [1.0] * 100
    assert pool.weights("original") == pytest.approx(v, rel=1e-9)
    assert pool.weights("equivalent") == pytest.approx(v * entropy(P)[draw.rows], rel=1e-6)
    later = table(600, 2, seed=8)
    assert pool.weights("equivalent", later) == pytest.approx(v * entropy(later)[draw.rows], rel=1e-6)


def test_a_wanted_precision_spreads_later_draws_and_says_when_to_stop() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(0.4, 0.4, 5000)
    y = (rng.random(5000) < p).astype(int)

    def labels_until_stop(**settings: Any) -> int:
        pool = querist.Pool(n=5000, seed=1, cold_start="none", **settings)
        for _ in range(40):
            draw = pool.draw(p, n=25)
            pool.answer(draw, y[draw.rows])
            if pool.advice(p):
                found = pool.estimate(p).accuracy
                assert found.high - found.low <= 0.12
                return len(pool.rows)
        raise AssertionError("it never stops")

    assert 50 < labels_until_stop(precision=0.06) < 800
    pool = querist.Pool(n=5000, precision="f1:spam=0.1", classes=["ham", "spam"], cold_start="none")
    draw = pool.draw(p, n=40)
    pool.answer(draw, ["spam" if label else "ham" for label in y[draw.rows]])
    advice = pool.advice(p, stop="target=0.99")
    assert not advice.stop
    assert "F1" in advice.why
    assert "too few labels" in querist.Pool(n=9, cold_start="none").advice(p[:9]).why


# Ledgers.


def test_a_pool_continues_from_its_ledger(tmp_path: Path, program: str) -> None:
    P, path = table(900, 3), tmp_path / "run.ledger"
    settings: dict[str, Any] = dict(n=900, seed=7, classes=["a", "b", "c"])
    whole, parts = querist.Pool(**settings), None
    for step in range(12):
        # The file is opened again for every draw.
        parts = querist.Pool(ledger=path, **settings)
        one, other = whole.draw(P, n=5), parts.draw(P, n=5)
        assert one.rows.tolist() == other.rows.tolist()
        assert one.probabilities.tolist() == other.probabilities.tolist()
        assert one.floors.tolist() == other.floors.tolist()
        parts.close()
        parts = querist.Pool(ledger=path, **settings)
        assert parts.pending.rows.tolist() == one.rows.tolist()
        for pool in (whole, parts):
            pool.answer(one, ["abc"[(row + step) % 3] for row in one.rows])
        parts.close()
    with pytest.raises(querist.QueristError, match="the pool is closed"):
        parts.draw(P)
    with querist.Pool(ledger=path, **settings) as parts:
        assert parts.labels == whole.labels
        assert parts.estimate(P) == whole.estimate(P)
        assert parts.weights("original").tolist() == whole.weights("original").tolist()
    command = [program, "replay", str(path), "--json"]
    printed = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert (printed["asked"], printed["answered"], printed["disagreeing"]) == (60, 60, 0)
    assert printed["confirmed"] == 60


def test_a_ledger_of_another_pool_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "run.ledger"
    querist.Pool(n=9, ledger=path).close()
    for change in (dict(n=10), dict(seed=1), dict(rule="entropy"), dict(classes=["a", "b"]), dict(precision=0.1)):
        with pytest.raises(querist.QueristError, match=f"another pool: {'rows' if 'n' in change else next(iter(change))} was"):
            querist.Pool(**{"n": 9, "ledger": path, **change})
    pool = querist.Pool(n=9, ledger=path)
    with pytest.raises(querist.QueristError, match="is writing to it"):
        querist.Pool(n=9, ledger=path)
    pool.close()


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path, program: str) -> None:
    """A program is killed between two calls, and another one continues."""
    code = """
        import sys, numpy as np, querist
        P = np.random.default_rng(0).dirichlet([0.4, 0.4, 0.4], size=500)
        pool = querist.Pool(n=500, seed=3, ledger=sys.argv[1], cold_start="none")
        if len(pool.pending):
            pool.answer(pool.pending, pool.pending.rows % 3)
        while True:
            draw = pool.draw(P, n=2)
            print("drew", *draw.rows, flush=True)
            sys.stdin.readline()
            pool.answer(draw, draw.rows % 3)
            print("answered", *draw.rows, flush=True)
            sys.stdin.readline()
        """
    path, acknowledged = tmp_path / "run.ledger", {"drew": [], "answered": []}  # type: dict[str, Any]
    for lines in (3, 4, 7):
        command = [sys.executable, "-c", textwrap.dedent(code), str(path)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(lines):
            kind, *rows = process.stdout.readline().split()
            acknowledged[kind] += map(int, rows)
            process.stdin.write("\n")
            process.stdin.flush()
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdin.close()
        process.stdout.close()
    with querist.Pool(n=500, seed=3, ledger=path, cold_start="none") as pool:
        drawn = [*pool.rows.tolist(), *pool.pending.rows.tolist()]
        assert set(acknowledged["answered"]) <= set(pool.rows.tolist())
        assert acknowledged["drew"] == drawn[: len(acknowledged["drew"])]
        assert pool.labels == [row % 3 for row in pool.rows]
    # The same draws as without a kill.
    P = np.random.default_rng(0).dirichlet([0.4, 0.4, 0.4], size=500)
    whole = querist.Pool(n=500, seed=3, cold_start="none")
    expected: list[int] = []
    while len(expected) < len(drawn):
        draw = whole.draw(P, n=2)
        whole.answer(draw, draw.rows % 3)
        expected += draw.rows.tolist()
    assert drawn == expected[: len(drawn)]
    subprocess.run([program, "verify", str(path)], check=True, capture_output=True)


def test_concurrent_draws_take_different_rows(tmp_path: Path) -> None:
    P = table(4000, 3)
    pool = querist.Pool(n=4000, ledger=tmp_path / "run.ledger", cold_start="none")

    def work(_: int) -> list[int]:
        draw = pool.draw(P, n=5)
        pool.answer(draw, draw.rows % 3)
        return draw.rows.tolist()

    with ThreadPoolExecutor(4) as threads:
        rows = [row for drawn in threads.map(work, range(40)) for row in drawn]
    assert len(set(rows)) == 200
    assert sorted(pool.rows.tolist()) == sorted(rows)
    assert pool.estimate(P).accuracy.draws == 200


# Misuse.


MISUSE: dict[str, tuple[Any, Any, str]] = {
    "n of 0": (lambda: querist.Pool(n=0), ValueError, "^n: 0"),
    "n of a float": (lambda: querist.Pool(n=2.5), TypeError, "^n"),
    "unknown rule": (lambda: querist.Pool(n=9, rule="entrop"), ValueError, "^rule:.*did you mean `entropy`"),
    "rule of a run": (lambda: querist.Pool(n=9, rule="conditional-loss"), ValueError, "^rule"),
    "negative seed": (lambda: querist.Pool(n=9, seed=-1), ValueError, "^seed"),
    "one class": (lambda: querist.Pool(n=9, classes=["a"]), ValueError, "^classes"),
    "equal classes": (lambda: querist.Pool(n=9, classes=["a", "a"]), ValueError, "^classes"),
    "classes of floats": (lambda: querist.Pool(n=9, classes=[0.5, 1.5]), TypeError, "^classes"),
    "unknown cold start": (lambda: querist.Pool(n=9, cold_start="warm"), ValueError, "^cold_start"),
    "coverage of nothing": (lambda: querist.Pool(n=9, cold_start="coverage"), ValueError, "^features"),
    "features of other rows": (lambda: querist.Pool(n=9, features=np.zeros((8, 2))), ValueError, "^features"),
    "features with NaN": (lambda: querist.Pool(n=2, features=[[0.0], [np.nan]]), ValueError, "^features"),
    "precision of 1": (lambda: querist.Pool(n=9, precision=1.0), ValueError, "^precision"),
    "precision of a list": (lambda: querist.Pool(n=9, precision=[0.1]), TypeError, "^precision"),
    "precision without a floor": (lambda: querist.Pool(n=9, rule="entropy", precision=0.1), ValueError, "^precision"),
    "ledger in no folder": (lambda: querist.Pool(n=9, ledger="nowhere/run.ledger"), querist.QueristError, "nowhere"),
    "two predictions": (lambda: fresh().draw(table(9, 2), scores=table(9, 2)), TypeError, "^scores: pass only one"),
    "predictions of other rows": (lambda: fresh().draw(table(8, 2)), ValueError, "^probabilities: predictions for 8 rows"),
    "no probabilities": (lambda: fresh().draw(table(9, 2) * 2), ValueError, "^probabilities: row 0"),
    "NaN": (lambda: fresh().draw(logits=np.full(9, np.nan)), ValueError, "^logits: row 0"),
    "no predictions": (lambda: asked().draw(), ValueError, "^probabilities"),
    "other classes": (lambda: asked().draw(table(9, 3)), ValueError, "^probabilities: predictions of 3 classes, need 2"),
    "too many": (lambda: fresh().draw(table(9, 2), n=10), ValueError, "^n: 10"),
    "more than are left": (lambda: asked().draw(table(9, 2), n=9), ValueError, "^n: 9 rows are wanted, but only 7"),
    "row not drawn": (lambda: fresh().answer([3], [0]), ValueError, "^draw: row 3 was not drawn"),
    "row of a name": (lambda: fresh().answer(["a"], [0]), TypeError, "^draw"),
    "negative row": (lambda: fresh().answer([-1], [0]), ValueError, "^draw"),
    "answered twice": (None, ValueError, "^draw: row .* has an answer"),
    "too few labels": (lambda: asked().answer(ASKED[0].pending, [0]), ValueError, "^labels: 1 for 2 rows"),
    "label of a name": (lambda: asked().answer(ASKED[0].pending, ["a", "b"]), TypeError, "^labels.*classes="),
    "label of no column": (lambda: asked().answer(ASKED[0].pending, [0, 2]), ValueError, "^labels: there is no class 2"),
    "estimate of nothing": (lambda: asked().estimate(), TypeError, "^probabilities"),
    "confidence of 2": (lambda: asked().estimate(table(9, 2), confidence=2), ValueError, "^confidence"),
    "unknown objective": (lambda: asked().weights("asked"), ValueError, "^objective"),
    "unknown stop": (lambda: asked().advice(stop="never"), ValueError, "^stop"),
}

ASKED: list[querist.Pool] = []


def fresh() -> querist.Pool:
    return querist.Pool(n=9, cold_start="none")


def asked() -> querist.Pool:
    pool = fresh()
    pool.draw(table(9, 2), n=2)
    ASKED[:] = [pool]
    return pool


@pytest.mark.parametrize("what", MISUSE)
def test_misuse_names_the_argument(what: str) -> None:
    call, kind, pattern = MISUSE[what]
    if what == "answered twice":
        pool = asked()
        draw = pool.pending
        pool.answer(draw, [0, 1])
        with pytest.raises(kind, match=pattern):
            pool.answer(draw, [0, 1])
        return
    with pytest.raises(kind, match=pattern):
        call()
