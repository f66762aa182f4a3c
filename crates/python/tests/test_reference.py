"""The page on the Python API lists what the package has.

``TRYCMD=overwrite`` writes the list into the page.
"""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "crates/python/querist"
PAGE = ROOT / "docs/reference/python-api.md"
GENERATED = re.compile(
    r"(?<=^<!-- generated: TRYCMD=overwrite crates/python/check -k reference -->\n).*?(?=^<!-- end -->$)", re.M | re.S
)


def test_the_reference_lists_the_package() -> None:
    text = PAGE.read_text()
    listed = GENERATED.sub(lambda _: f"```pyi\n{reference()}```\n", text, count=1)
    if os.environ.get("TRYCMD") == "overwrite":
        PAGE.write_text(listed)
    else:
        assert listed == text


def reference() -> str:
    """Returns the signatures of all public names, with the first sentence of each docstring."""
    public = set(names(ast.parse((PACKAGE / "__init__.py").read_text())))
    found: dict[str, str] = {}
    for path in [*sorted(PACKAGE.glob("_*.py")), PACKAGE / "_querist.pyi"]:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name in public and not is_overload(node):
                found.setdefault(node.name, described(node, "querist."))
    assert set(found) == public, public - set(found)
    spark = ast.parse((PACKAGE / "spark.py").read_text()).body
    functions = [node for node in spark if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    entries = [found[name] for name in sorted(found, key=lambda name: (name.lower(), name))]
    entries += [described(node, "querist.spark.") for node in functions]
    torch = ast.parse((PACKAGE / "torch.py").read_text())
    nodes = [node for node in torch.body if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name in names(torch)]
    return "\n".join(entries + [described(node, "querist.torch.") for node in nodes])


def is_overload(node: ast.ClassDef | ast.FunctionDef) -> bool:
    return any(isinstance(decorator, ast.Name) and decorator.id == "overload" for decorator in node.decorator_list)


def names(module: ast.Module) -> list[str]:
    """Returns ``__all__``."""
    for node in module.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            value: list[str] = ast.literal_eval(node.value)
            return value
    raise AssertionError("no __all__")


def described(node: ast.ClassDef | ast.FunctionDef, prefix: str, indent: str = "") -> str:
    """Returns the signature and summary of a function, or of a class and its public methods."""
    if isinstance(node, ast.FunctionDef):
        return f"{indent}{prefix}{node.name}{signature(node)}\n{summary(node, indent)}"
    methods = [each for each in node.body + inherited(node) if isinstance(each, ast.FunctionDef) and not is_overload(each)]
    made = next((each for each in methods if each.name in ("__init__", "__new__") and len(each.args.args) > 1), None)
    head = f"{prefix}{node.name}{signature(made, result=False) if made else ''}"
    fields = [each for each in node.body if isinstance(each, ast.AnnAssign) and not ast.unparse(each.target).startswith("_")]
    shown = [each for each in methods if not each.name.startswith("_")]
    lines = [f"    .{ast.unparse(each.target)}: {ast.unparse(each.annotation)}\n" for each in fields]
    return f"{head}\n{summary(node)}" + "".join(lines + [described(each, ".", "    ") for each in shown])


def inherited(node: ast.ClassDef) -> list[ast.stmt]:
    """Returns what a class has from its base in the extension module."""
    bases = [base.attr for base in node.bases if isinstance(base, ast.Attribute)]
    stubs = ast.parse((PACKAGE / "_querist.pyi").read_text()).body
    return [each for stub in stubs if isinstance(stub, ast.ClassDef) and stub.name in bases for each in stub.body]


def signature(node: ast.FunctionDef, *, result: bool = True) -> str:
    """Returns the arguments of a function without ``self`` and annotations; properties have none."""
    if any(isinstance(each, ast.Name) and each.id == "property" for each in node.decorator_list):
        return ""
    arguments = ast.parse(ast.unparse(node.args).join(["def f(", "): pass"])).body[0]
    assert isinstance(arguments, ast.FunctionDef)
    for each in [*arguments.args.posonlyargs, *arguments.args.args, *arguments.args.kwonlyargs]:
        each.annotation = None
    for star in (arguments.args.vararg, arguments.args.kwarg):
        if star:
            star.annotation = None
    if arguments.args.args and arguments.args.args[0].arg in ("self", "cls"):
        del arguments.args.args[0]
    returned = f" -> {ast.unparse(node.returns)}" if result and node.returns else ""
    return f"({ast.unparse(arguments.args)}){returned}"


def summary(node: ast.ClassDef | ast.FunctionDef, indent: str = "") -> str:
    """Returns the first paragraph of a docstring as a comment, or nothing."""
    text = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
    return f"{indent}    # {text}\n" if text else ""
