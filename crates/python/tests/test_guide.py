"""The Python blocks of the documentation run, and print what the pages show.

``TRYCMD=overwrite`` writes the printed text into the pages.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
GUIDES = {"docs/how-to/use-python.md": 6, "docs/tutorial/active-learning-in-python.md": 5}
# A block, and the output below it if the page shows it.
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```$(?:\n\n```text output\n(?P<shown>.*?)^```$)?", flags=re.MULTILINE | re.DOTALL
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", GUIDES)
def test_the_guide_runs(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = Path(page).read_text()
    names: dict[str, object] = {}
    blocks = 0

    def run(block: re.Match[str]) -> str:
        nonlocal blocks
        blocks += 1
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block["code"], page, "exec"), names)
        if block["shown"] is None:
            return block[0]
        return f"```python\n{block['code']}```\n\n```text output\n{printed.getvalue()}```"

    ran = BLOCK.sub(run, text)
    assert blocks >= GUIDES[page]
    if os.environ.get("TRYCMD") == "overwrite":
        Path(page).write_text(ran)
    else:
        assert ran == text
