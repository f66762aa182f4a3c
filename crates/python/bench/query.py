"""`clf.query` on a million rows, compared with modAL and scikit-activeml.

    pip install . scikit-learn scikit-activeml modAL-python
    python crates/python/bench/query.py

modAL 0.4.2.1 cannot be imported with scikit-learn 1.8 or newer. In that case its two formulas are timed as in its sources:
`predict_proba`, the difference of the two largest probabilities, `argpartition`; and the `np.delete` of its documentation.
"""

from __future__ import annotations

import importlib.metadata
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import querist

ROWS, FEATURES, DRAWN = 1_000_000, 20, 10


def timed(work: Callable[[], Any], repeat: int) -> tuple[float, float, float]:
    """Returns the minimum and median of wall times, and the median of CPU times, in milliseconds."""
    wall, cpu = [], []
    for _ in range(repeat):
        started, used = time.perf_counter(), time.process_time()
        work()
        wall.append(1e3 * (time.perf_counter() - started))
        cpu.append(1e3 * (time.process_time() - used))
    return min(wall), statistics.median(wall), statistics.median(cpu)


def modal_by_formula(estimator: Any, X: np.ndarray) -> np.ndarray:
    """modAL's `margin_sampling` with `multi_argmax`."""
    part = np.partition(-estimator.predict_proba(X), 1, axis=1)
    margin = -part[:, 0] + part[:, 1]
    indices: np.ndarray = np.argpartition(margin, DRAWN - 1)[:DRAWN]
    return indices


def modal(estimator: Any, X: np.ndarray) -> tuple[str, Callable[[], Any]]:
    try:
        from modAL.uncertainty import margin_sampling
    except ImportError as error:
        return f"modAL margin, by its formula ({error})"[:70], lambda: modal_by_formula(estimator, X)
    return "modAL margin_sampling", lambda: margin_sampling(estimator, X, n_instances=DRAWN)


def activeml(X: np.ndarray, y: np.ndarray, labelled: int) -> tuple[str, Callable[[], Any]] | None:
    try:
        from skactiveml.classifier import SklearnClassifier
        from skactiveml.pool import UncertaintySampling
        from sklearn.linear_model import LogisticRegression
    except ImportError as error:
        print(f"scikit-activeml cannot be imported: {error}")
        return None
    known = np.full(len(X), np.nan)
    known[:labelled] = y[:labelled]
    clf = SklearnClassifier(LogisticRegression(), classes=[0, 1]).fit(X, known)
    strategy = UncertaintySampling(method="margin_sampling", random_state=0)
    return (
        "scikit-activeml UncertaintySampling",
        lambda: strategy.query(X=X, y=known, clf=clf, fit_clf=False, batch_size=DRAWN),
    )


def main() -> None:
    warnings.simplefilter("ignore")
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, FEATURES)).astype(np.float32)
    y = (X[:, 0] + 0.5 * rng.normal(size=ROWS) > 0).astype(int)
    labelled = 200
    estimator = LogisticRegression().fit(X[:labelled], y[:labelled])
    work: list[tuple[str, Callable[[], Any], int]] = []
    for rule in ("margin:mu=1", "entropy", "margin"):
        clf = querist.ActiveClassifier(rule=rule, l2=1.0, random_state=0).fit(X[:labelled], y[:labelled])
        work.append((f"clf.query, rule {rule}", lambda clf=clf: clf.query(X, n=DRAWN), 21))
    clf = querist.ActiveClassifier(rule="margin:mu=1", l2=1.0, random_state=0).fit(X[:labelled], y[:labelled])
    wide = X.astype(np.float64)
    work.append(("clf.query, float64", lambda: clf.query(wide, n=DRAWN), 11))
    columns = np.asfortranarray(X)
    work.append(("clf.query, by columns", lambda: clf.query(columns, n=DRAWN), 11))
    work.append(("querist.query of LogisticRegression", lambda: querist.query(estimator, X, DRAWN, rule="entropy"), 5))
    work.append((*modal(estimator, X), 5))
    work.append(("modAL's removal of the rows, np.delete", lambda: np.delete(X, np.arange(DRAWN), axis=0), 5))
    if (other := activeml(X, y, labelled)) is not None:
        work.append((*other, 3))
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "scikit-learn")]
    print(f"{DRAWN} of {ROWS} rows of {FEATURES} float32; Python {sys.version.split()[0]}, {', '.join(versions)}")
    print(f"{'milliseconds':<72}{'least':>9}{'median':>9}{'CPU':>9}")
    for name, run, repeat in work:
        run()
        least, middle, cpu = timed(run, repeat)
        print(f"{name:<72}{least:>9.1f}{middle:>9.1f}{cpu:>9.1f}", flush=True)


if __name__ == "__main__":
    main()
