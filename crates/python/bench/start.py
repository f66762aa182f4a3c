"""The duration of `import querist` in a fresh process, without numpy and with it.

pip install .
python crates/python/bench/start.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys

CODE = """
import time
clocks = lambda: (time.perf_counter(), time.process_time())
start = clocks()
import numpy
middle = clocks()
import querist
end = clocks()
print(*(1e3 * (end[k] - before[k]) for before in (middle, start) for k in (0, 1)))
"""


def main() -> None:
    runs = []
    for _ in range(15):
        output = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True).stdout
        runs.append([float(part) for part in output.split()])
    own, own_cpu, whole, whole_cpu = (statistics.median(part) for part in zip(*runs, strict=True))
    print(f"import querist: {own:.1f} ms after numpy ({own_cpu:.1f} of CPU), {whole:.1f} with it ({whole_cpu:.1f} of CPU)")


if __name__ == "__main__":
    main()
