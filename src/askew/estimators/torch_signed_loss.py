"""What training of signed late interaction goes down: the loss of a batch, and how far ordinary texts have moved."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from askew.errors import ParameterError
from askew.estimators.signed_lessons import Ordinary, SignedLessons
from askew.estimators.tokens_ragged import Ragged
from askew.estimators.torch_signed import Side, SignedModel, signed_scores, tensors
from askew.linalg.fixed import IntArray

__all__ = ["SignedPlan", "batch_loss", "mean_loss", "moved"]


@dataclass(frozen=True, kw_only=True)
class SignedPlan:
    """One training run.

    Attributes:
        rate: the highest learning rate of the heads.
        encoder_rate: that of the encoder, where it is tuned.
        epochs: passes over the examples.
        steps: at most; None for whole epochs.
        batch: examples a step.
        temperature: that scores are divided by.
        in_batch: whether other queries' documents are negatives too.
        pull: what it counts for how far heads and encoder have moved on ordinary texts: the mean squared distance of
            weights from +1, and, where the encoder is tuned, one less the mean cosine of a vector with what it was.
        calm: ordinary texts of each side that a step draws; None for as many as `batch`.
        decay: decoupled weight decay.
        clip: the largest norm of a gradient; 0 for none.
        warm_up: share of the steps in which the rate rises, after which it falls to 0; None for a constant one.
        judge_every: steps between judgements and snapshots.
        patience: judgements without a better one before it stops.
        mixed: bfloat16 in the encoder, on CUDA alone; False for float32 there too.

    Raises:
        ParameterError: a number is out of its range.
    """

    rate: float = 1e-3
    encoder_rate: float = 1e-4
    epochs: int = 1
    steps: int | None = None
    batch: int = 64
    temperature: float = 0.1
    in_batch: bool = True
    pull: float = 0.0
    calm: int | None = None
    decay: float = 0.0
    clip: float = 1.0
    warm_up: float | None = 0.1
    judge_every: int = 100
    patience: int = 5
    mixed: bool = True

    def __post_init__(self) -> None:
        drawn = self.batch if self.calm is None else self.calm
        counts = (self.epochs, self.batch, self.judge_every, self.patience, self.steps or 1, drawn)
        if not (self.rate > 0 and self.encoder_rate > 0 and self.temperature > 0 and min(counts) >= 1):
            raise ParameterError(
                f"rates {self.rate} and {self.encoder_rate}, temperature {self.temperature}, batches of {self.batch}",
                where="plan",
                remedy="Give positive numbers",
            )
        if not 0 <= self.pull < math.inf:
            raise ParameterError(f"the pull is {self.pull}", where="pull", remedy="Give a number from 0 on")

    def total(self, examples: int) -> int:
        """Steps for so many examples."""
        whole = self.epochs * math.ceil(examples / self.batch)
        return whole if self.steps is None else min(whole, self.steps)


@torch.no_grad()  # type: ignore[untyped-decorator]  # torch is not looked into
def mean_loss(model: SignedModel, lessons: SignedLessons, plan: SignedPlan, *, device: str = "cpu") -> float:
    """The loss on all of some lessons, in their order, by the plan's batches."""
    model.eval()
    rows = np.array_split(np.arange(len(lessons)), math.ceil(len(lessons) / plan.batch))
    parts = [float(batch_loss(model, lessons, plan, part, device)) * len(part) for part in rows]
    return math.fsum(parts) / len(lessons)


def batch_loss(model: SignedModel, lessons: SignedLessons, plan: SignedPlan, rows: IntArray, device: str) -> Tensor:
    """Cross-entropy of each query's document among the candidates that are not known to be relevant."""
    queries, positive, negatives = lessons.query[rows], lessons.positive[rows], lessons.negatives[rows]
    found = np.unique(np.concatenate([positive, negatives.ravel()]))
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=plan.mixed and device.startswith("cuda")):
        asked = model(*tensors(lessons.queries, queries, device), "query")
        told = model(*tensors(lessons.documents, found, device), "document")
    scores = signed_scores(asked, told) / plan.temperature
    own = np.searchsorted(found, positive)
    barred = lessons.known(queries, found) if lessons.known is not None else np.zeros(scores.shape, dtype=bool)
    if not plan.in_batch:
        barred = np.ones_like(barred)
    barred[np.arange(len(rows))[:, None], np.searchsorted(found, negatives)] = False
    barred[np.arange(len(rows)), own] = False
    scores = scores.masked_fill(torch.from_numpy(barred).to(device), -torch.inf)
    return functional.cross_entropy(scores, torch.from_numpy(own).to(device))


def moved(model: SignedModel, ordinary: Ordinary, plan: SignedPlan, rng: np.random.Generator, device: str) -> Tensor:
    """How far heads and encoder have moved on a draw of ordinary texts, of both sides."""
    total = torch.zeros((), device=device)
    sides: tuple[tuple[Side, Ragged, Ragged | None], ...] = (
        ("query", ordinary.queries, ordinary.query_vectors),
        ("document", ordinary.documents, ordinary.document_vectors),
    )
    for side, texts, before in sides:
        rows = rng.choice(len(texts), min(plan.calm or plan.batch, len(texts)), replace=False)
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=plan.mixed and device.startswith("cuda")):
            found = model(*tensors(texts, rows, device), side)
        total = total + (found.weights - 1)[found.mask].square().mean()
        if before is not None:
            vectors, mask = tensors(before, rows, device)
            total = total + 1 - (found.vectors[found.mask] * vectors[mask]).sum(dim=1).mean()
    return total
