"""Threads, forks, Ctrl-C and arrays that change do not cause hangs or crashes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import querist


@pytest.fixture(scope="module")
def clf() -> querist.ActiveClassifier:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    return querist.ActiveClassifier(rule="entropy", l2=1.0, random_state=0).fit(X, X[:, 0] > 0)


def test_eight_threads_give_the_same_result_as_one(clf: querist.ActiveClassifier) -> None:
    X = np.random.default_rng(1).normal(size=(20_000, 8))

    def work(seed: int) -> list[int]:
        found: list[int] = querist.query(clf, X, 5, rule="entropy", random_state=seed).tolist()
        return found

    alone = [work(seed) for seed in range(40)]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(work, range(40))) == alone


def test_eight_threads_can_learn_at_the_same_time() -> None:
    X = np.random.default_rng(1).normal(size=(500, 4))
    y = X[:, 0] > 0
    alone = querist.ActiveClassifier(l2=1.0).fit(X, y).coef_
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: querist.ActiveClassifier(l2=1.0).fit(X, y).coef_, range(24)))
    assert all(np.array_equal(coef, alone) for coef in found)


def test_eight_threads_can_offer_to_one_stream() -> None:
    X = np.random.default_rng(1).normal(size=(400, 4))
    run = querist.Stream(random_state=0)

    def work(part: int) -> int:
        done = 0
        for x in X[part::8]:
            # Python may switch threads inside a call; then the other call is rejected, never half done.
            try:
                ask = run.offer(x)
                if ask is not None:
                    run.answer(ask, int(x[0] > 0))
                done += 1
            except RuntimeError as error:
                if "borrowed" not in str(error):
                    raise
        return done

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(work, range(8))) >= run.counts.asked


def _in_child(clf: Any, X: np.ndarray, into: Any) -> None:
    into.send(querist.query(clf, X, 5, rule="entropy", random_state=1).tolist())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_creates_its_own_threads(clf: querist.ActiveClassifier) -> None:
    X = np.random.default_rng(1).normal(size=(50_000, 8))
    wanted = querist.query(clf, X, 5, rule="entropy", random_state=1).tolist()
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    child = fork.Process(target=_in_child, args=(clf, X, theirs))
    child.start()
    assert ours.poll(120), "the child hangs"
    assert ours.recv() == wanted
    child.join(60)
    assert child.exitcode == 0


def test_an_array_that_changes_during_a_call_gives_numbers_or_an_error(clf: querist.ActiveClassifier) -> None:
    X = np.random.default_rng(1).normal(size=(200_000, 8)).astype(np.float32)
    stop = threading.Event()

    def disturb() -> None:
        rng = np.random.default_rng(2)
        while not stop.is_set():
            X[rng.integers(len(X), size=1000)] = rng.choice([0.0, 1e30, np.nan, np.inf, -3.0], size=(1000, 8))

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for seed in range(30):
            try:
                indices, p = querist.query(clf, X, 5, rule="entropy", random_state=seed, return_probabilities=True)
                assert ((indices >= 0) & (indices < len(X))).all()
                assert ((p > 0) & (p <= 1)).all()
            except ValueError as error:
                if "NaN, infinity" not in str(error):
                    raise
    finally:
        stop.set()
        thread.join()


def test_other_threads_run_during_a_fit() -> None:
    X = np.random.default_rng(0).normal(size=(60_000, 60))
    done = threading.Event()

    def learn() -> None:
        querist.ActiveClassifier(l2=1.0).fit(X, X[:, 0] > 0)
        done.set()

    thread = threading.Thread(target=learn)
    thread.start()
    steps = 0
    while not done.is_set():
        steps += 1
    thread.join()
    assert steps > 1000


LONG = {
    "fit": "querist.ActiveClassifier().fit(np.random.default_rng(0).normal(size=(40000, 900)), np.arange(40000) % 7)",
    "query": "[clf.query(X, n=1) for _ in iter(int, 1)]",
    "draws": "[clf.query(X, n=len(X)) for _ in iter(int, 1)]",
    "scores": "[clf.decision_function(X) for _ in iter(int, 1)]",
}


@pytest.mark.parametrize("what", LONG)
def test_ctrl_c_interrupts_long_work(what: str) -> None:
    code = f"""
import numpy as np, querist, sys
X = np.random.default_rng(0).normal(size=(300_000, 20))
clf = querist.ActiveClassifier(l2=1.0).fit(X[:100], X[:100, 0] > 0)
print("ready", flush=True)
try:
    {LONG[what]}
except KeyboardInterrupt:
    print("interrupted", clf.predict(X[:1]).shape)
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    threading.Event().wait(1.0)
    assert child.poll() is None, "it was to be long"
    os.kill(child.pid, signal.SIGINT)
    output, _ = child.communicate(timeout=120)
    assert output == "interrupted (1,)\n"
