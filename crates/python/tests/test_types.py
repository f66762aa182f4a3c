"""A strict type checker accepts programs like those of the README."""

from __future__ import annotations

import ast
import json
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


def readme(folder: Path) -> Path:
    """Writes the README's examples as a program."""
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), flags=re.M | re.S)
    assert blocks
    program = folder / "readme.py"
    program.write_text(NAMES + "\n".join(blocks) + MORE)
    return program


def test_pyright_accepts_the_readme(tmp_path: Path) -> None:
    program = readme(tmp_path)
    settings = {
        "include": [str(program)],
        "typeCheckingMode": "standard",
        "extraPaths": [str(ROOT / "crates/python")],
        # The program declares its inputs without values.
        "reportUnboundVariable": False,
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--level", "error", "--pythonpath", sys.executable, "-p", tmp_path]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout


def test_no_public_name_has_the_type_any() -> None:
    package = ROOT / "crates/python/querist"
    names = listed(ast.parse((package / "__init__.py").read_text()))
    found = []
    for path in sorted(package.glob("*.py")):
        module = ast.parse(path.read_text())
        public = listed(module) & names if path.name.startswith("_") else listed(module)
        for node in module.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name in public:
                found += [f"{path.name}, {node.name}: {ast.unparse(one)}" for one in annotations(node) if mentions_any(one)]
    assert found == []


def listed(module: ast.Module) -> set[str]:
    """Returns ``__all__``."""
    values = (node.value for node in module.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__")
    return set(ast.literal_eval(next(values))) if module.body else set()


def annotations(node: ast.AST) -> list[ast.expr]:
    """Returns the annotations of a function, or of the public fields and methods of a class."""
    if isinstance(node, ast.ClassDef):
        return [one for each in node.body for one in annotations(each)]
    if isinstance(node, ast.AnnAssign):
        return [] if ast.unparse(node.target).startswith("_") else [node.annotation]
    if not isinstance(node, ast.FunctionDef) or (node.name.startswith("_") and node.name != "__init__"):
        return []
    arguments = [argument.annotation for argument in ast.walk(node.args) if isinstance(argument, ast.arg)]
    return [one for one in [*arguments, node.returns] if one is not None]


def mentions_any(annotation: ast.expr) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "Any" for one in ast.walk(annotation))


def test_the_readme_is_well_typed(tmp_path: Path) -> None:
    program = readme(tmp_path)
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
