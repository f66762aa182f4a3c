#!/usr/bin/env python3
"""Uncertainty sampling as scikit-learn's users write it, on the splits and the first labels of `querist compare`.

    querist compare pool.csv --label label --budget 400 --rules margin --json > querist.json
    python scikit.py pool.csv querist.json

LogisticRegression(C=1) is fitted after every 10 labels, and the 10 rows with the smallest gap between the two largest
probabilities among at most 6,000 rows of the pool are asked next. Columns of a CSV file are standardized; sparse rows and
embeddings are left as they are. Seed s keeps the rows for the test, and begins with the labels, that `querist compare`
does with seed s, so accuracies are compared seed by seed: for every rule the mean difference to scikit-learn's in points,
with its standard error. Needs scikit-learn, and pyarrow for Parquet.
"""

import argparse
import csv
import gzip
import json

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

STAGES = [50, 100, 200, 400]
BATCH = 10
LOOKED_AT = 6000
TEST_FRACTION = 0.3

BITS = (1 << 64) - 1
STRIDE = 0x9E3779B97F4A7C15


def mix(z, twist):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & BITS) ^ twist
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & BITS
    return z ^ (z >> 31)


def coin(seed, purpose):
    """The chance of a run for one purpose, a number in [0, 1) for every time: crates/engine/src/coin.rs once more."""
    key = mix(seed + STRIDE & BITS, 0)
    for byte in purpose.encode():
        key = mix(key ^ byte, STRIDE)
    twist = mix(key, ~STRIDE & BITS)
    return lambda at: (mix(key + at * STRIDE & BITS, twist) >> 12) / (1 << 52)


def load(path, label):
    """Features, labels as whole numbers, and whether columns are to be standardized."""
    if ".svm" in path:
        rows, labels = load_svmlight_file(path)
    elif path.endswith(".parquet"):
        import pyarrow.parquet
        table = pyarrow.parquet.read_table(path)
        labels = table.column(label).to_numpy()
        names = [name for name in table.column_names if name not in ("id", label)]
        rows = np.stack([table.column(name).to_numpy() for name in names], 1).astype(float)
    else:
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", newline="") as file:
            records = list(csv.DictReader(file))
        labels = [record[label] for record in records]
        names = [name for name in records[0] if name not in ("id", label)]
        rows = np.array([[float(record[name]) for name in names] for record in records])
    return rows, np.unique(labels, return_inverse=True)[1], ".csv" in path


def start(labels, pool, classes, seed):
    """The first rows `querist compare` asks: at random, until every class was seen, but not for ever."""
    left, asked, accept = list(pool), [], coin(seed, "accept")
    least = max(10, 2 * classes)
    while len(asked) < least or len(set(labels[asked])) < classes and len(asked) < 5 * least:
        asked.append(left.pop(int(accept(len(asked)) * len(left))))
    return asked


def curve(rows, labels, standardize, seed):
    """The accuracy at each stage."""
    kept = coin(seed, "test")
    is_test = np.array([kept(row + 1) < TEST_FRACTION for row in range(len(labels))])
    pool, test = np.flatnonzero(~is_test), np.flatnonzero(is_test)
    if standardize:
        rows = StandardScaler().fit(rows[pool]).transform(rows)
    fit = lambda asked: LogisticRegression(C=1, max_iter=3000).fit(rows[asked], labels[asked])
    asked = start(labels, pool, labels.max() + 1, seed)
    left = np.setdiff1d(pool, asked)
    random = np.random.default_rng(seed)
    # A start that goes on for long passes the first stages.
    accuracies = [fit(asked[:stage]).score(rows[test], labels[test]) for stage in STAGES if stage < len(asked)]
    while True:
        model = fit(asked)
        if len(asked) in STAGES:
            accuracies.append(model.score(rows[test], labels[test]))
        if len(asked) == STAGES[-1]:
            return accuracies
        seen = random.choice(left, LOOKED_AT, replace=False) if LOOKED_AT < len(left) else left
        largest = np.sort(model.predict_proba(rows[seen]), 1)
        nearest = np.argsort(largest[:, -1] - largest[:, -2], kind="stable")[: BATCH - len(asked) % BATCH]
        asked.extend(seen[nearest])
        left = np.setdiff1d(left, seen[nearest])


def tell(name, values):
    """Mean and standard error over the seeds, in percent or points."""
    error = values.std(0, ddof=1) / len(values) ** 0.5
    print(f"{name:14}", *(f"{100 * m:8.2f} ± {100 * e:.2f}" for m, e in zip(values.mean(0), error)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="CSV, svmlight or Parquet, as it was given to `querist compare`")
    parser.add_argument("querist", help="what `querist compare --json` printed")
    parser.add_argument("--label", default="label", help="the column of the label; `id` is no feature either")
    parser.add_argument("--seed", type=int, default=0, help="the first seed, as it was given to `querist compare`")
    arguments = parser.parse_args()
    with open(arguments.querist) as file:
        told = json.load(file)
    rows, labels, standardize = load(arguments.data, arguments.label)
    seeds = range(arguments.seed, arguments.seed + told["seeds"])
    own = np.array([curve(rows, labels, standardize, seed) for seed in seeds])
    print(f"{'labels':14}", *(f"{stage:15}" for stage in STAGES))
    tell("scikit-learn", own)
    for rule in told["rules"]:
        by_labels = {stage["labels"]: stage["accuracy"] for stage in rule["curve"]}
        tell(rule["rule"], np.array([by_labels[stage] for stage in STAGES]).T - own)


if __name__ == "__main__":
    main()
