"""An active learner that knows what it is optimizing.

>>> import querist
>>> querist.certify("logistic", "entropy").verdict("convex-in-score")
'refuted'
"""

from typing import TYPE_CHECKING

from querist._arguments import NotFittedError
from querist._ask import ask
from querist._certificate import Certificate, certify, losses, rules
from querist._classifier import ActiveClassifier
from querist._estimate import ClassScores, Estimate, Scores, estimate, estimate_log_loss, estimate_scores
from querist._model import Model, load
from querist._pool import Advice, Draw, Pool, PoolEstimate
from querist._querist import QueristError
from querist._query import query
from querist._select import Selection, select
from querist._stream import Ask, Counts, Stream
from querist._theory import equivalent_loss, tabulate, uncertainty

if TYPE_CHECKING:
    from querist import spark as spark
    from querist import torch as torch

__version__ = "0.1.0"
__all__ = [
    "ActiveClassifier",
    "Advice",
    "Ask",
    "Certificate",
    "ClassScores",
    "Counts",
    "Draw",
    "Estimate",
    "Model",
    "NotFittedError",
    "Pool",
    "PoolEstimate",
    "QueristError",
    "Scores",
    "Selection",
    "Stream",
    "ask",
    "certify",
    "equivalent_loss",
    "estimate",
    "estimate_log_loss",
    "estimate_scores",
    "load",
    "losses",
    "query",
    "rules",
    "select",
    "tabulate",
    "uncertainty",
]


def __getattr__(name: str) -> object:
    # Spark and PyTorch are imported only on first use.
    if name in ("spark", "torch"):
        import importlib

        return importlib.import_module(f"querist.{name}")
    raise AttributeError(f"module 'querist' has no attribute {name!r}")
