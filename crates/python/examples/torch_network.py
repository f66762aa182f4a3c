"""Trains a small network on queried labels, and on all labels with the equivalent loss: both end at the same place.

    python crates/python/examples/torch_network.py [FIGURE.png]

The figure needs matplotlib.
"""

from __future__ import annotations

import sys

import torch
from torch import Tensor, nn

import querist.torch

LOSS, RULE, ROWS, STEPS = "squared-hinge", "margin:mu=3", 2000, 800
EQUIVALENT = querist.torch.EquivalentLoss(LOSS, RULE, reduction="none")
RUNS = {
    "queried": "queried labels, squared hinge",
    "equivalent": "all labels, equivalent loss",
    "original": "all labels, squared hinge",
}


def squared_hinge(logits: Tensor, y: Tensor) -> Tensor:
    return torch.clamp(1 - torch.where(y == 1, logits, -logits), min=0) ** 2


def sample() -> tuple[Tensor, Tensor]:
    """Returns two classes: three quarters of each on its side, and the others far on the other side."""
    generator = torch.Generator().manual_seed(0)
    y = torch.randint(0, 2, (ROWS,), generator=generator)
    far = torch.rand(ROWS, generator=generator) < 0.25
    centers = torch.stack([torch.where(y == 1, 1.0, -1.0) * torch.where(far, -3.0, 1.0), torch.where(far, 1.5, 0.0)], 1)
    return centers + 0.7 * torch.randn(ROWS, 2, generator=generator), y


def train(run: str, seed: int) -> tuple[list[Tensor], int]:
    """Returns the scores of all rows during training, and the mean number of labels of a step."""
    x, y = sample()
    torch.manual_seed(seed)
    network = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1), nn.Flatten(0))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.001, STEPS)
    history, labels = [], 0
    for step in range(STEPS):
        logits = network(x)
        if step % 20 == 0:
            history.append(logits.detach())
        asked = torch.ones(ROWS, dtype=torch.bool)
        if run == "queried":
            # Only these labels are used. The mean of the gradient is U times that of all labels.
            asked, _ = querist.torch.ask(logits, RULE, ids=range(step * ROWS, (step + 1) * ROWS), seed=seed)
        loss = EQUIVALENT if run == "equivalent" else squared_hinge
        optimizer.zero_grad()
        (loss(logits[asked], y[asked]).sum() / ROWS).backward()
        optimizer.step()
        schedule.step()
        labels += int(asked.sum())
    return [*history, network(x).detach()], labels // STEPS


def distance(one: Tensor, other: Tensor) -> float:
    return (one - other).square().mean().sqrt().item()


def main(seeds: int = 5) -> list[dict[str, list[float]]]:
    """Prints the results, and returns the distances of two runs from that with the equivalent loss, for each seed."""
    print("root mean square distance of the final scores from those with the equivalent loss")
    print("seed  queried labels  all labels, same loss  labels of a step")
    found = []
    for seed in range(seeds):
        runs = {run: train(run, seed) for run in RUNS}
        goal = runs.pop("equivalent")[0]
        found.append({run: [distance(*pair) for pair in zip(history, goal, strict=True)] for run, (history, _) in runs.items()})
        queried, original = found[-1]["queried"][-1], found[-1]["original"][-1]
        print(f"{seed:>4}  {queried:>14.3f}  {original:>21.3f}  {runs['queried'][1]:>8} of {ROWS}", flush=True)
    return found


def draw(found: list[dict[str, list[float]]], path: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), dpi=130)
    for run, color in (("original", "0.55"), ("queried", "tab:orange")):
        for seed, runs in enumerate(found):
            steps = range(20, 20 * len(runs[run]), 20)
            axes.semilogy(steps, runs[run][1:], color=color, lw=1.4, label=None if seed else RUNS[run])
    axes.set(xlabel="step", ylabel="distance of scores (root mean square)")
    axes.set_title(f"Distance from training on all labels with the equivalent loss, {len(found)} starts", fontsize=11)
    axes.set_ylim(0.002, 1.2)
    axes.legend(frameon=False, loc="lower left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path)


if __name__ == "__main__":
    results = main()
    if len(sys.argv) > 1:
        draw(results, sys.argv[1])
