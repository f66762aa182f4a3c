"""The lesson on labeling runs: its commands, with the true labels as answers; and the HTTP reference lists the requests.

``TRYCMD=overwrite`` writes the list of requests into its page.
"""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
LESSON = ROOT / "docs/tutorial/label-200-texts.md"
REFERENCE = ROOT / "docs/reference/http-api.md"
GENERATED = re.compile(
    r"(?<=^<!-- generated: TRYCMD=overwrite crates/python/check -k lesson -->\n).*?(?=^<!-- end -->$)", re.M | re.S
)
ANSWERS = 200


def test_the_lesson_runs(program: str, tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to(ROOT / "data")
    with open(ROOT / "data/sms_spam_text.csv", encoding="utf-8", newline="") as file:
        truth = {row["id"]: row["label"] for row in csv.DictReader(file)}
    blocks = re.findall(r"^```sh\n(.*?)^```$", LESSON.read_text(), flags=re.M | re.S)
    started = [block for block in blocks if block.startswith("querist label")]
    assert len(started) == 2, "the lesson starts the server, and resumes"
    assert len(blocks) == 6
    status: dict[str, Any] = {}
    path = f"{Path(program).parent}{os.pathsep}{os.environ['PATH']}"
    printed = ""
    for block in blocks:
        if block in started:
            with server(block, path, tmp_path) as ask:
                label(ask, truth, ANSWERS // 2)
                status = ask("status")
                list_requests(ask("openapi.json"))
        else:
            done = subprocess.run(
                ["bash", "-ec", block], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True
            )
            assert done.returncode == 0, done.stderr
            printed += done.stdout
    assert status["answered"] == ANSWERS
    assert status["estimate"] is not None
    accuracy = float(re.findall(r"true accuracy: ([0-9.]+)", printed)[0])
    assert accuracy > 0.94
    # An interval may miss now and then, but not by two points.
    assert status["estimate"]["anytime_low"] - 0.02 <= accuracy <= status["estimate"]["anytime_high"] + 0.02
    with open(tmp_path / "labels.csv", encoding="utf-8", newline="") as file:
        exported = list(csv.DictReader(file))
    assert len(exported) == ANSWERS
    assert all(truth[row["id"]] == row["label"] for row in exported)


@contextmanager
def server(command: str, path: str, folder: Path) -> Iterator[Any]:
    """Starts the server for the duration of a block; gives a function that sends requests."""
    arguments = [*command.split(), "--port", "0", "--no-browser", "--json"]
    running = subprocess.Popen(arguments, cwd=folder, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout is not None
        access = json.loads(running.stdout.readline())
        headers = {"Authorization": f"Bearer {access['token']}", "Content-Type": "application/json", "X-Querist": "1"}

        def ask(name: str, body: Any = None) -> Any:
            address = access["url"].split("?")[0] + "api/" + name
            data = None if body is None else json.dumps(body).encode()
            with urllib.request.urlopen(urllib.request.Request(address, data, headers), timeout=60) as reply:
                return json.load(reply)

        yield ask
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 0
    finally:
        running.kill()
        running.wait()


def label(ask: Any, truth: dict[str, str], count: int) -> None:
    """Answers items by their true labels, at a pace at which models keep up."""
    for _ in range(count):
        (item,) = ask("next", {"annotator": "me", "n": 1})["items"]
        answer = {"ask": item["ask"], "annotator": "me", "key": f"lesson-{item['ask']}", "label": truth[item["item"]]}
        (reply,) = ask("answers", [answer])
        assert reply["status"] == "saved"
        time.sleep(0.03)


def list_requests(document: dict[str, Any]) -> None:
    """Compares the requests of the OpenAPI document with the reference page."""
    rows = [
        f"| `{method.upper()} {path}` | {operation['summary']} |\n"
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if path.startswith("/api/")
    ]
    table = "| request | purpose |\n|---|---|\n" + "".join(rows)
    text = REFERENCE.read_text()
    listed = GENERATED.sub(lambda _: table, text, count=1)
    if os.environ.get("TRYCMD") == "overwrite":
        REFERENCE.write_text(listed)
    else:
        assert listed == text
