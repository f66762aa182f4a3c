"""Shared fixtures."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def program() -> str:
    """The `querist` program, whose output must match the package."""
    program = Path(os.environ.get("QUERIST_PROGRAM", ROOT / "target/debug/querist"))
    if not program.exists():
        subprocess.run(["cargo", "build", "-q", "-p", "querist-cli"], cwd=ROOT, check=True)
    return str(program)


@pytest.fixture(scope="session")
def pool() -> tuple[np.ndarray, np.ndarray]:
    """3000 rows of 6 features, and labels that follow two of them."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 6)).astype(np.float32)
    y = (X[:, 0] - 0.5 * X[:, 1] + 0.5 * rng.normal(size=3000) > 0).astype(int)
    return X, y
