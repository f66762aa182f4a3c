#!/usr/bin/env python3
"""Vowpal Wabbit over the yardstick's text: one JSON line a file, in CPU nanoseconds a line.

VW reads and learns in a process of its own, without a cache, by plain SGD of the logistic loss on every line. There
is no switch for one thread: a parser and a learner run side by side, "ns" is the CPU time of both and "wall_ns" what a
clock shows. The time of an empty file is taken off. Run it by a Python that has the vowpalwabbit package.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

CASES = [
    ("2", 1_000_000, 18),
    ("30", 200_000, 18),
    ("100", 60_000, 18),
    ("50/10000", 200_000, 18),
    ("50/1000000", 1_000_000, 20),
]

CHILD = """
import sys, time, vowpalwabbit
cpu, wall = time.process_time(), time.perf_counter()
workspace = vowpalwabbit.Workspace(sys.argv[1])
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
count = workspace.get_weighted_examples()
print(cpu, wall, count, workspace.get_sum_loss() / max(count, 1))
workspace.finish()
"""


def run(path, bits, step):
    """One pass over a file: CPU seconds, wall seconds, lines and mean loss."""
    options = f"--quiet --loss_function logistic --sgd -l {step} --power_t 0 --no_stdin -b {bits} -d {path}"
    done = subprocess.run([sys.executable, "-c", CHILD, options], check=True, capture_output=True, text=True)
    return [float(word) for word in done.stdout.split()]


def medians(path, bits, arguments):
    runs = [run(path, bits, arguments.step) for _ in range(arguments.repeat)]
    return [statistics.median(column) for column in zip(*runs)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--yardstick", default="./yardstick", help="the built yardstick, which writes the files")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--step", type=float, default=0.01)
    parser.add_argument("--rows", type=float, default=1.0, help="factor on the number of rows")
    names = [features for features, _, _ in CASES]
    parser.add_argument("--features", nargs="+", choices=names, default=names, help="the cases, all by default")
    arguments = parser.parse_args()
    try:
        import vowpalwabbit
    except ImportError:
        sys.exit("vw.py: vowpalwabbit is not installed for this Python; nothing was measured. "
                 "Make a virtual environment, run `pip install vowpalwabbit` in it, and call vw.py by its python")
    with tempfile.TemporaryDirectory() as folder:
        empty = os.path.join(folder, "empty.vw")
        open(empty, "w").close()
        for features, rows, bits in CASES:
            if features not in arguments.features:
                continue
            rows = max(1, int(rows * arguments.rows))
            path = os.path.join(folder, "rows.vw")
            subprocess.run([arguments.yardstick, "generate", "vw", features, str(rows), path], check=True)
            with open(path, "rb") as written:
                os.fsync(written.fileno())
            start_cpu, start_wall, _, _ = medians(empty, bits, arguments)
            cpu, wall, count, loss = medians(path, bits, arguments)
            if count != rows:
                sys.exit(f"vw.py: VW read {count:.0f} lines of {rows}")
            ns, wall_ns = (cpu - start_cpu) / rows * 1e9, (wall - start_wall) / rows * 1e9
            checks = {"rows": rows, "mean_loss": loss, "start_seconds": start_cpu, "version": vowpalwabbit.__version__}
            line = {"name": f"vw/{features}", "ns": round(ns, 1), "wall_ns": round(wall_ns, 1), "checks": checks}
            print(json.dumps(line), flush=True)
            os.remove(path)


if __name__ == "__main__":
    main()
