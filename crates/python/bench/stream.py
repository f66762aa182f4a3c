"""Observations offered one by one through Python, compared with river's entropy sampler around its logistic regression.

    pip install . river
    python crates/python/bench/stream.py

Both see the same rows in the same order and get a label for every query. Rates are observations per second of CPU time, the
median of several alternating runs; building dicts or rows is not counted.
"""

from __future__ import annotations

import importlib.metadata
import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import querist

OBSERVATIONS, ROUNDS = 50_000, 5


def ours(rows: Sequence[Any], labels: list[int]) -> tuple[float, int]:
    run = querist.Stream("logistic", "entropy", random_state=0)
    offer, answer = run.offer, run.answer
    started = time.process_time()
    for x, label in zip(rows, labels, strict=True):
        ask = offer(x)
        if ask is not None:
            answer(ask, label)
    return len(rows) / (time.process_time() - started), run.counts.asked


def rivers(rows: Sequence[Any], labels: list[int]) -> tuple[float, int]:
    from river import active, linear_model

    model = active.EntropySampler(linear_model.LogisticRegression(), seed=0)
    predict, learn, asked = model.predict_one, model.learn_one, 0
    started = time.process_time()
    for x, label in zip(rows, labels, strict=True):
        _, ask = predict(x)
        if ask:
            learn(x, label)
            asked += 1
    return len(rows) / (time.process_time() - started), asked


def main() -> None:
    print(f"numpy {importlib.metadata.version('numpy')}, river {importlib.metadata.version('river')}")
    print(f"{'observations a second of CPU':<40}{'rate':>12}{'to river':>10}{'asked':>9}")
    for features in (2, 20, 100):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(OBSERVATIONS, features)).astype(np.float32)
        y = (X[:, 0] + 0.5 * rng.normal(size=OBSERVATIONS) > 0).astype(int).tolist()
        lists = X.tolist()
        names = [f"f{j}" for j in range(features)]
        dicts = [dict(zip(names, x, strict=True)) for x in lists]
        forms = {
            "river, dicts": (rivers, dicts),
            "querist, dicts": (ours, dicts),
            "querist, lists": (ours, lists),
            "querist, float32 rows": (ours, list(X)),
            "querist, float64 rows": (ours, list(X.astype(np.float64))),
        }
        found: dict[str, list[tuple[float, int]]] = {name: [] for name in forms}
        for _ in range(ROUNDS):
            for name, (run, rows) in forms.items():
                found[name].append(run(rows, y))
        river = statistics.median(rate for rate, _ in found["river, dicts"])
        for name, runs in found.items():
            rate = statistics.median(rate for rate, _ in runs)
            print(f"{name + f', {features} features':<40}{rate:>12,.0f}{rate / river:>10.1f}{runs[0][1]:>9}", flush=True)


if __name__ == "__main__":
    main()
