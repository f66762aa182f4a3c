"""Querist with PyTorch: equivalent losses as modules, queries of a batch, and batches drawn by uncertainty.

The other modules of the package never import PyTorch; this one needs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils import data

from querist import _querist
from querist._arguments import excluded, positive_integer
from querist._ask import ask as _ask
from querist._ask import checked_seed, score_table
from querist._query import query_scores

__all__ = ["Batch", "EquivalentLoss", "Sampler", "ask"]


class _Derivative(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    """The equivalent loss at margins, or its first or second derivative, computed in double precision on the CPU."""

    @staticmethod
    def forward(ctx, margins, loss, rule, order):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(margins)
        ctx.settings = (loss, rule, order)
        points = margins.detach().to(device="cpu", dtype=torch.float64).numpy()
        found = torch.from_numpy(_querist.equivalent(loss, rule, points.ravel(), order))
        return found.reshape(margins.shape).to(device=margins.device, dtype=margins.dtype)

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        loss, rule, order = ctx.settings
        if order == 2:
            raise RuntimeError("EquivalentLoss has two derivatives; a third was asked for")
        (margins,) = ctx.saved_tensors
        return gradient * _Derivative.apply(margins, loss, rule, order + 1), None, None, None


class EquivalentLoss(nn.Module):  # type: ignore[misc, unused-ignore]
    """The loss that is minimized if a rule queries the labels of ``loss``: its slope is U times that of ``loss``.

    Training on all labels with this module follows, in the mean, the same gradients as training on queried labels with
    ``loss``. Value and gradient equal :func:`querist.equivalent_loss` and its slope, for every loss and rule of two classes.
    They are computed on the CPU in double precision, whatever the device and precision of the logits.

    Parameters
    ----------
    loss, rule : str
        As in :func:`querist.certify`.
    reduction : {"mean", "sum", "none"}
        As in the losses of PyTorch.

    Shape
    -----
    The logits are a number for each row, of any shape, with targets 0 and 1 of the same shape; or two columns, of which the
    second minus the first is that number. More than two classes need ``"constant"`` as the rule: for any other rule
    U times the gradient of cross-entropy is not a gradient, so there is no equivalent loss.

    >>> import torch, querist.torch
    >>> logits = torch.tensor([-3.0, 0.0], requires_grad=True)
    >>> loss = querist.torch.EquivalentLoss("squared-hinge", "margin:mu=1", reduction="sum")
    >>> loss(logits, torch.tensor([1, 1])).backward()
    >>> logits.grad.tolist()
    [-2.0, -2.0]
    """

    def __init__(self, loss: str, rule: str, *, reduction: Literal["mean", "sum", "none"] = "mean") -> None:
        super().__init__()
        for name, value in (("loss", loss), ("rule", rule)):
            if not isinstance(value, str):
                raise TypeError(f"{name}: need a name, not {type(value).__name__}")
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(f"reduction: {reduction!r}, need 'mean', 'sum' or 'none'")
        self.loss = "logistic" if loss == "cross-entropy" else loss
        self.rule = rule
        self.reduction = reduction
        if self.loss.partition(":")[0] == "squared":
            raise ValueError("loss: 'squared' is for regression, where no rule is a function of the score alone")
        # Unknown names fail here, and not in the first step.
        _querist.equivalent(self.loss, rule, np.zeros(1), 1)

    def extra_repr(self) -> str:
        """Returns the arguments, for ``repr``."""
        return f"{self.loss!r}, {self.rule!r}, reduction={self.reduction!r}"

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        """Returns the equivalent loss of logits, reduced."""
        _check(logits, target)
        if logits.ndim >= 2 and logits.shape[-1] > 2 and target.shape == logits.shape[:-1]:
            values = self._of_classes(logits, target)
        else:
            values = _Derivative.apply(_margins(logits, target), self.loss, self.rule, 0)
        if self.reduction == "none":
            return values
        return values.mean() if self.reduction == "mean" else values.sum()

    def _of_classes(self, logits: Tensor, target: Tensor) -> Tensor:
        classes = logits.shape[-1]
        if self.loss != "logistic":
            raise ValueError(f"logits: {classes} classes need the loss 'cross-entropy', not {self.loss!r}")
        if self.rule.partition(":")[0] != "constant":
            raise ValueError(
                f"logits: no equivalent loss of {self.rule!r} exists for {classes} classes, because U times the gradient of "
                "cross-entropy is the gradient of no function (only of 'constant'). To follow the same mean gradients, weight "
                "the cross-entropy of each row with the detached probabilities of querist.torch.ask"
            )
        if bool(((target < 0) | (target >= classes)).any()):
            raise ValueError(f"target: need classes from 0 to {classes - 1}")
        share = _querist.class_uncertainties(self.rule, np.full((1, classes), 1 / classes))[0]
        flat = nn.functional.cross_entropy(logits.reshape(-1, classes), target.reshape(-1).long(), reduction="none")
        return share * flat.reshape(target.shape)


def _check(logits: Tensor, target: Tensor) -> None:
    for name, value in (("logits", logits), ("target", target)):
        if not isinstance(value, Tensor):
            raise TypeError(f"{name}: need a tensor, not {type(value).__name__}")
    if not logits.is_floating_point():
        raise TypeError(f"logits: need floating-point numbers, not {logits.dtype}")
    if logits.device != target.device:
        raise ValueError(f"target: is on {target.device}, but the logits are on {logits.device}")


def _margins(logits: Tensor, target: Tensor) -> Tensor:
    """Returns the logit of the right class minus that of the other."""
    if logits.ndim >= 2 and target.shape == logits.shape[:-1] and logits.shape[-1] <= 2:
        logits = logits[..., -1] - logits[..., 0] if logits.shape[-1] == 2 else logits.squeeze(-1)
    if logits.shape != target.shape:
        raise ValueError(
            f"target: has shape {tuple(target.shape)}, but the logits have {tuple(logits.shape)}; need a target for each row"
        )
    if not bool(((target == 0) | (target == 1)).all()):
        raise ValueError("target: need classes 0 and 1")
    return torch.where(target == 1, logits, -logits)


def ask(logits: Tensor, rule: str, ids: object, seed: int = 0, *, loss: str = "logistic") -> tuple[Tensor, Tensor]:
    """Decides for each row on its own whether to query its label: :func:`querist.ask` for tensors.

    Returns a mask and the probability U of every row, on the device of the logits and without a gradient. The probabilities
    are in double precision if the logits are, otherwise in single precision.

    >>> import torch, querist.torch
    >>> mask, p = querist.torch.ask(torch.tensor([-3.0, 0.0, 1.0]), "margin:mu=1", ids=["a", "b", "c"], seed=8)
    >>> mask.tolist(), p.tolist()
    ([False, True, True], [0.25, 1.0, 0.5])
    """
    if not isinstance(logits, Tensor):
        raise TypeError(f"logits: need a tensor, not {type(logits).__name__}")
    mask, probabilities = _ask(logits, rule, ids, seed, loss=loss)
    kind = torch.float64 if logits.dtype == torch.float64 else torch.float32
    return torch.from_numpy(mask).to(logits.device), torch.from_numpy(probabilities).to(logits.device, kind)


class Batch(NamedTuple):
    """A batch that a :class:`Sampler` drew."""

    rows: np.ndarray
    """The indices of the rows, in the order of their draws."""
    probabilities: np.ndarray
    """The probability of each draw given the draws before it: U over the sum of U of the remaining rows."""


class Sampler(data.Sampler[list[int]]):  # type: ignore[misc, unused-ignore]
    """Draws batches of rows by their uncertainty and records the probability of every draw.

    It is a ``batch_sampler`` of a ``DataLoader``. One iteration is a pass over the rows without replacement: each row is
    drawn with probability U/ΣU among the rows that remain. :attr:`batches` has the batches of the last pass, and
    :func:`querist.estimate` accepts its rows and probabilities. ``update`` sets new logits at any time, also within a pass.

    Parameters
    ----------
    logits : Tensor or array-like
        The scores of all rows: the logit of the second of two classes, or a logit for each class.
    rule : str
        One of :func:`querist.rules`.
    batch_size : int
        The number of rows of a batch; the last one may be smaller.
    n_batches : int, optional
        The number of batches of a pass; by default, until every row was drawn.
    seed : int
        The seed of the draws. Each pass has its own draws.
    exclude : array-like of int or bool, optional
        Rows that are never drawn.

    >>> import torch, querist.torch
    >>> sampler = querist.torch.Sampler(torch.linspace(-3, 3, 10), "entropy", batch_size=4, n_batches=2)
    >>> rows = [row for batch in sampler for row in batch]
    >>> len(set(rows)), len(sampler.probabilities)
    (8, 8)
    """

    def __init__(
        self,
        logits: object,
        rule: str = "boundary",
        *,
        batch_size: int,
        n_batches: int | None = None,
        seed: int = 0,
        exclude: object = None,
    ) -> None:
        self._scores = score_table(logits)
        count = len(self._scores)
        if count == 0:
            raise ValueError("logits: has no rows")
        self._without = np.zeros(count, dtype=bool)
        self._without[excluded(exclude, count)] = True
        left = int(count - self._without.sum())
        if left == 0:
            raise ValueError("exclude: excludes every row")
        self.rule = rule
        self.batch_size = positive_integer(batch_size, "batch_size", left)
        most = -(-left // self.batch_size)
        self.n_batches = most if n_batches is None else positive_integer(n_batches, "n_batches", most)
        self._n_rows = min(self.n_batches * self.batch_size, left)
        self._seed = checked_seed(seed)
        self._calls = 0
        self._planned: Batch | None = None
        self.batches: list[Batch] = []

    def update(self, logits: object) -> None:
        """Sets the logits for the next batches. They need the same shape."""
        scores = score_table(logits)
        if scores.shape != self._scores.shape:
            raise ValueError(f"logits: have shape {scores.shape}, but those of the sampler have {self._scores.shape}")
        self._scores, self._planned = scores, None

    @property
    def rows(self) -> np.ndarray:
        """The rows of the last pass, in the order of their draws."""
        return np.concatenate([batch.rows for batch in self.batches] or [np.empty(0, dtype=np.int64)])

    @property
    def probabilities(self) -> np.ndarray:
        """The probability of each draw of the last pass."""
        return np.concatenate([batch.probabilities for batch in self.batches] or [np.empty(0)])

    def __len__(self) -> int:
        return self.n_batches

    def __iter__(self) -> Iterator[list[int]]:
        without, self._planned = self._without.copy(), None
        self.batches = batches = []
        for first in range(0, self._n_rows, self.batch_size):
            left = self._n_rows - first
            # Draws one after another are the same in one call as in many; new logits need new draws.
            rows, probabilities = self._planned or self._draw(left, without)
            n = min(self.batch_size, left)
            batches.append(Batch(rows[:n], probabilities[:n]))
            self._planned = Batch(rows[n:], probabilities[n:])
            without[rows[:n]] = True
            yield rows[:n].tolist()

    def _draw(self, n: int, without: np.ndarray) -> Batch:
        self._calls += 1
        return Batch(*query_scores(self._scores, n, rule=self.rule, seed=self._seed, call=self._calls, exclude=without))
