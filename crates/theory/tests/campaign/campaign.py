"""Compares the certificates of random pairs with an independent judge.

    campaign.py --querist PATH --pairs 2000 --seed 19
    campaign.py --querist PATH --pairs 300 --seed 7 --table judged.tsv   writes the table for the quick test

Ends with 1 if a proved claim fails, or a refuted claim holds and its witness is not confirmed.
"""

import argparse
import json
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import judge
import pairs


def certificate(querist, loss, rule):
    """The certificate as JSON, or None where the program accepts no such pair."""
    run = subprocess.run([querist, "certify", loss, rule, "--json"], capture_output=True, text=True, check=False)
    return json.loads(run.stdout) if run.returncode == 0 else None


def numbers(at):
    return [float(x) for x in (at if isinstance(at, list) else [at])]


def contradictions(loss, rule, claims, judged):
    found = []
    for claim, verdict in zip(claims, judged):
        if claim["verdict"] == "proved" and verdict == "fails":
            found.append(f"{claim['claim']} is proved but fails")
        if claim["verdict"] != "refuted":
            continue
        confirmed = None
        if "limit" not in claim["quantity"]:
            confirmed = judge.confirm(loss, rule, claim["claim"], {**claim, "at": numbers(claim["at"])})
        if confirmed is False or (confirmed is None and verdict == "holds"):
            found.append(f"{claim['claim']} is refuted at {claim['at']} but {verdict}, witness {confirmed}")
    return found


def work(job):
    querist, loss, rule = job
    known = certificate(querist, loss, rule)
    if known is None:
        return None
    judged = judge.judge(loss, rule)
    words = [claim["verdict"] for claim in known["claims"]]
    return loss, rule, words, judged, contradictions(loss, rule, known["claims"], judged)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--querist", required=True)
    arguments.add_argument("--pairs", type=int, default=2000)
    arguments.add_argument("--seed", type=int, default=19)
    arguments.add_argument("--table")
    given = arguments.parse_args()
    jobs = ((given.querist, *pair) for pair in pairs.pairs(given.seed))
    rows = []
    with ProcessPoolExecutor() as pool:
        while len(rows) < given.pairs:
            batch = [next(jobs) for _ in range(min(200, 2 * (given.pairs - len(rows)) + 8))]
            rows += [row for row in pool.map(work, batch, chunksize=4) if row is not None]
            print(f"{len(rows)} pairs judged", file=sys.stderr)
    rows = rows[: given.pairs]
    if given.table:
        with open(given.table, "w", encoding="utf-8") as table:
            table.writelines("\t".join([loss, rule, *judged]) + "\n" for loss, rule, _, judged, _ in rows)
    verdicts = [word for _, _, words, _, _ in rows for word in words]
    counts = {word: verdicts.count(word) for word in ("proved", "refuted", "unknown")}
    print(f"{len(rows)} pairs, seed {given.seed}: {counts}, {100 * counts['unknown'] / len(verdicts):.1f} % unknown")
    wrong = [(loss, rule, text) for loss, rule, _, _, found in rows for text in found]
    for loss, rule, text in wrong:
        print(f"{loss} | {rule} | {text}")
    print(f"{len(wrong)} contradictions")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
