"""A strict type checker accepts programs like those of the README."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

NAMES = """
import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame

X: NDArray[np.float32]
y: NDArray[np.str_]
X_pool: NDArray[np.float32]
correct: NDArray[np.bool_]
forest: object
df: DataFrame
"""

MORE = """
from typing import assert_type

pool = querist.Pool(n=9, classes=["ham", "spam"], ledger="run.ledger")
with pool:
    draw = pool.draw(y, n=2)
    pool.answer(draw, ["ham", None])
    assert_type(draw.probabilities, NDArray[np.float64])
    assert_type(pool.estimate(logits=y).accuracy.low, float)
    assert_type(pool.weights("original"), NDArray[np.float64])
    assert_type(pool.advice().stop, bool)
assert_type(querist.query(y, n=2), NDArray[np.int64])
assert_type(clf.query(X, return_probabilities=True), tuple[NDArray[np.int64], NDArray[np.float64]])
assert_type(querist.uncertainty("entropy", [0.0]), NDArray[np.float64])
"""


def test_the_readme_is_well_typed(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), flags=re.M | re.S)
    assert blocks
    program = tmp_path / "readme.py"
    program.write_text(NAMES + "\n".join(blocks) + MORE)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--python-version",
        "3.11",
        "--cache-dir",
        str(ROOT / "target/mypy"),
        program,
    ]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout
