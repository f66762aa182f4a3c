#!/usr/bin/env python3
"""Labels data with known labels through the HTTP API of `querist label`, and measures the exported models.

    python3 label_over_http.py sms.csv --label label --seeds 20

For every seed, 30 % of the rows are held out. A server on the loopback interface gets the others without their labels.
An annotator answers every item by its true label, and waits until the model of all answers is in use before the next
item. Then the model is exported, and it predicts the held-out rows. All draws of a seed use the same split. Prints mean
accuracy with its standard error, the worst seed, the recall of the rarest class, and differences to the first draw.
The data are a CSV file with a column `id`. Needs nothing but Python.
"""

import argparse
import csv
import http.client
import json
import math
import os
import random
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from urllib.parse import urlsplit

TEST_SHARE = 0.3
ANNOTATOR = "ada"
WAIT_SECONDS = 120
POLL_SECONDS = 0.005


class Client:
    """A connection to a labeling server."""

    def __init__(self, announced):
        self.connection = http.client.HTTPConnection(urlsplit(announced["url"]).netloc)
        self.headers = {
            "Authorization": f"Bearer {announced['token']}",
            "Content-Type": "application/json",
            "X-Querist": "1",
        }

    def request(self, method, path, body=None):
        self.connection.request(method, path, body and json.dumps(body), self.headers)
        reply = self.connection.getresponse()
        text = reply.read()
        if reply.status != 200:
            raise RuntimeError(f"{method} {path}: {reply.status} {text.decode()}")
        return json.loads(text)

    def answer_next(self, labels):
        """Answers the next item by its true label."""
        [item] = self.request("POST", "/api/next", {"annotator": ANNOTATOR, "n": 1})["items"]
        answer = {"ask": item["ask"], "annotator": ANNOTATOR, "key": f"{item['ask']:032x}", "label": labels[item["item"]]}
        [saved] = self.request("POST", "/api/answers", [answer])
        if saved["status"] != "saved":
            raise RuntimeError(f"item {item['item']}: {saved}")
        return answer["label"]

    def wait_for_fit(self, answers):
        """Waits until the model in use is that of this many answers."""
        deadline = time.monotonic() + WAIT_SECONDS
        while self.request("GET", "/api/status")["model"]["answers"] < answers:
            if deadline < time.monotonic():
                raise RuntimeError(f"no model of {answers} answers after {WAIT_SECONDS} seconds")
            time.sleep(POLL_SECONDS)


def write_rows(path, names, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)


def run(arguments, rows, draw, seed):
    """Labels with one draw and seed; returns the accuracy and the recall of the rarest class on the held-out rows."""
    shuffled = rows.copy()
    random.Random(seed).shuffle(shuffled)
    held_out = shuffled[: int(TEST_SHARE * len(rows))]
    labels = {row["id"]: row[arguments.label] for row in rows}
    names = [name for name in rows[0] if name != arguments.label]
    without_label = [{name: row[name] for name in names} for row in shuffled]
    classes = sorted(set(labels.values()))
    with tempfile.TemporaryDirectory() as folder:
        [pool, test, ledger, model] = [os.path.join(folder, name) for name in ("pool.csv", "test.csv", "a.ledger", "model")]
        write_rows(pool, names, without_label[len(held_out) :])
        write_rows(test, names, without_label[: len(held_out)])
        command = [arguments.querist, "label", pool, "--labels", ",".join(classes), "--ledger", ledger, "--port", "0"]
        command += ["--no-browser", "--json", "--draw", draw, "--seed", str(seed), *arguments.option]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                client = Client(json.loads(server.stdout.readline()))
                seen = set()
                for answers in range(1, arguments.answers + 1):
                    seen.add(client.answer_next(labels))
                    # The cold start ends with all classes after 10 labels or two per class, or after five times that.
                    least = max(10, 2 * len(classes))
                    if least <= answers and len(seen) == len(classes) or 5 * least <= answers:
                        client.wait_for_fit(answers)
            finally:
                server.terminate()
        subprocess.run([arguments.querist, "export", ledger, "--model", model], check=True, capture_output=True)
        predict = [arguments.querist, "predict", model, test]
        predicted = subprocess.run(predict, check=True, capture_output=True, text=True).stdout
    predicted = {row["id"]: row["label"] for row in csv.DictReader(predicted.splitlines())}
    rarest = min(Counter(labels.values()).items(), key=lambda item: item[1])[0]
    hits = [predicted[row["id"]] == row[arguments.label] for row in held_out]
    found = [predicted[row["id"]] == rarest for row in held_out if row[arguments.label] == rarest]
    return statistics.mean(hits), statistics.mean(found)


def summary(values):
    return f"{statistics.mean(values):.4f} ± {statistics.stdev(values) / math.sqrt(len(values)):.4f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="CSV file with the columns id and LABEL")
    parser.add_argument("--label", default="label", help="column with the true labels")
    parser.add_argument("--querist", default="querist", help="path of the program")
    parser.add_argument("--draws", default="top,scan", help="values of --draw, separated by commas")
    parser.add_argument("--answers", type=int, default=150, help="number of answers")
    parser.add_argument("--seeds", type=int, default=20, help="number of seeds, at least 2")
    parser.add_argument("--option", action="append", default=[], help="another argument for `querist label`")
    arguments = parser.parse_args()
    with open(arguments.data, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    results = {draw: [] for draw in arguments.draws.split(",")}
    for seed in range(arguments.seeds):
        for draw, of_draw in results.items():
            of_draw.append(run(arguments, rows, draw, seed))
            print(f"seed {seed}, {draw}: accuracy {of_draw[-1][0]:.4f}, recall {of_draw[-1][1]:.3f}", flush=True)
    first = next(iter(results))
    for draw, of_draw in results.items():
        accuracy, recall = zip(*of_draw)
        worst = min(range(arguments.seeds), key=lambda seed: accuracy[seed])
        print(f"{draw}: accuracy {summary(accuracy)}, worst {accuracy[worst]:.4f} (seed {worst}), recall {summary(recall)}")
        if draw != first:
            differences = [own - other[0] for own, other in zip(accuracy, results[first])]
            print(f"{draw} − {first}: {summary(differences)}")


if __name__ == "__main__":
    main()
