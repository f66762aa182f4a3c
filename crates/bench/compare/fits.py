#!/usr/bin/env python3
"""Measures scikit-learn's LogisticRegression on the problems that `querist-bench fits` writes to a folder.

Every solver fits the same rows, labels and penalty (C = 1/λ), cold and warm, in one thread. The fastest configuration
counts whose objective exceeds its minimum by at most 1e-6 of it, or the fastest of all if there is none. Minima are found by scipy's L-BFGS on a numpy formula
that neither program uses. The objective of the other program, which also penalizes intercepts, is judged by the same
formula with its own penalty. Prints one JSON line per result, in CPU nanoseconds per fit.
"""

import argparse
import json
import math
import os
import time
import warnings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np
import scipy.optimize
import scipy.sparse
import scipy.special
from sklearn.linear_model import LogisticRegression

INTERCEPT = 1e-2
ENOUGH = 1e-6
# The fastest first.
WARM = ["newton-cg", "lbfgs"]
COLD = ["newton-cholesky", "liblinear", "newton-cg", "lbfgs"]
# The dense Hessian of newton-cholesky.
MOST_FACTORED = 2000


class Problem:
    """A folder of rows, labels and settings."""

    def __init__(self, folder):
        with open(os.path.join(folder, "problem.json")) as file:
            self.settings = json.load(file)
        read = lambda name, kind: np.fromfile(os.path.join(folder, name), kind)
        dim = self.settings["dim"]
        parts = (read("values", "f4").astype(float), read("indices", "u4").astype("i4"), read("starts", "u4").astype("i4"))
        self.rows = scipy.sparse.csr_matrix(parts, shape=(len(parts[2]) - 1, dim))
        if self.settings["dense"]:
            self.rows = self.rows.toarray()
        self.labels = read("labels", "f8").astype(int)
        self.classes, self.strength = self.settings["classes"], self.settings["strength"]
        self.outputs = 1 if self.classes == 2 else self.classes
        self.theta = read("theta", "f8").reshape(-1, dim + 1, self.outputs)

    def objective(self, count, theta, intercept):
        """The value and the gradient for the first answers, with this penalty of intercepts."""
        x, y = self.rows[:count], self.labels[:count]
        theta = theta.reshape(-1, self.outputs)
        scores = x @ theta[1:] + theta[0]
        if self.outputs == 1:
            sign = 2 * (y == 1) - 1
            value = np.logaddexp(0, -sign * scores[:, 0]).sum()
            slope = -(sign * scipy.special.expit(-sign * scores[:, 0]))[:, None]
        else:
            log_sum = scipy.special.logsumexp(scores, axis=1, keepdims=True)
            at = np.arange(count)
            value = (log_sum[:, 0] - scores[at, y]).sum()
            slope = np.exp(scores - log_sum)
            slope[at, y] -= 1
        penalty = np.full((len(theta), 1), self.strength)
        penalty[0] = intercept
        gradient = np.vstack([slope.sum(0, keepdims=True), x.T @ slope]) + penalty * theta
        return value + 0.5 * (penalty * theta * theta).sum(), gradient.ravel()

    def excess(self, count, theta, intercept):
        """The objective relative to its minimum, less 1. The search for the minimum starts from θ."""
        value = self.objective(count, theta, intercept)[0]
        found = scipy.optimize.minimize(
            lambda flat: self.objective(count, flat, intercept), theta.ravel(), jac=True, method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 300, "maxfun": 400, "maxcor": 20})
        return value / found.fun - 1

    def usable(self, solver):
        """Whether a solver can fit this problem in reasonable time."""
        parameters = self.rows.shape[1] * self.outputs
        return {"liblinear": self.outputs == 1, "newton-cholesky": parameters <= MOST_FACTORED}.get(solver, True)

    def model(self, solver, tolerance, warm):
        options = {"intercept_scaling": INTERCEPT ** -0.5} if solver == "liblinear" else {}
        return LogisticRegression(
            C=1 / self.strength, solver=solver, tol=tolerance, warm_start=warm, max_iter=10_000, **options)

    def theta_of(self, model):
        """The parameters of a model, intercepts first. Every class has an answer from the first fit on."""
        return np.vstack([model.intercept_[None, :], model.coef_.T])

    def fit(self, model, count):
        """Fits a model to the first answers and returns the CPU seconds."""
        start = time.process_time()
        model.fit(self.rows[:count], self.labels[:count])
        return time.process_time() - start


def series(problem, solver, tolerance, warm, counts, checked, limit=math.inf):
    """Seconds per fit, and the largest excess at the checked counts. Stops above a limit of the seconds."""
    model, seconds, worst = problem.model(solver, tolerance, warm), 0.0, 0.0
    intercept = INTERCEPT * problem.strength if solver == "liblinear" else 0.0
    for count in counts:
        if not warm:
            model = problem.model(solver, tolerance, warm)
        seconds += problem.fit(model, count)
        if limit * len(counts) < seconds:
            break
        if count in checked:
            worst = max(worst, problem.excess(count, problem.theta_of(model), intercept))
    return seconds / len(counts), worst


def report(problem, name, warm, counts, checked):
    """Prints the best configuration of scikit-learn for one series of fits."""
    tried, tolerances = [], problem.settings["tolerances"]
    for solver in filter(problem.usable, WARM if warm else COLD):
        for tolerance in tolerances:
            # The best so far, if it is exact enough.
            limit = min((seconds for inexact, seconds, *_ in tried if not inexact), default=math.inf)
            seconds, worst = series(problem, solver, tolerance, warm, counts, checked, limit)
            # A smaller tolerance takes longer.
            if limit < seconds:
                break
            tried.append((ENOUGH < worst, seconds, solver, tolerance, worst))
            if worst <= ENOUGH:
                break
    _, seconds, solver, tolerance, worst = min(tried)
    for _ in range(problem.settings["repeat"] - 1):
        seconds = min(seconds, series(problem, solver, tolerance, warm, counts, ())[0])
    every = {f"{solver} {tolerance}": {"ns": 1e9 * seconds, "excess": worst} for _, seconds, solver, tolerance, worst in tried}
    print(json.dumps({"name": name, "ns": 1e9 * seconds, "excess": worst, "tried": every}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="a folder that `querist-bench fits` wrote")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    problem = Problem(arguments.folder)
    checked = problem.settings["checked"]
    for one in problem.settings["series"]:
        report(problem, one["name"], one["warm"], one["counts"], set(checked))
    intercept = INTERCEPT * problem.strength
    excesses = [problem.excess(count, theta, intercept) for count, theta in zip(checked, problem.theta)]
    print(json.dumps({"name": "ours", "excess": max(excesses)}), flush=True)


if __name__ == "__main__":
    main()
