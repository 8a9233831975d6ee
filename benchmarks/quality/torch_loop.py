"""One training loop for every peer that descends: a linear map of queries, a loss, Adam, and perhaps early stopping."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from examples import Examples
from lessons import IntArray, Lessons
from measure import CUTOFF, Deployed, affine
from tuning import Settings

Draw = Callable[[Lessons, np.random.Generator], Examples]
Loss = Callable[[Tensor, Tensor, Tensor, "Plan"], Tensor]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One run.

    Attributes:
        draw: what the examples are.
        loss: of (B, d) mapped queries, (B, d) relevant documents and (B, k, d) negatives.
        start: the map at the start: the identity, or torch's default for a linear layer.
        rate: the learning rate, at its highest.
        epochs: passes over the examples.
        checkpoints: epochs whose map is a configuration; none for the map at the end.
        batch: examples a step.
        temperature: that similarities are divided by.
        margin: of a triplet.
        decay: decoupled weight decay.
        clip: the largest norm of a gradient; 0 for none.
        warm_up: share of the steps in which the rate rises, after which it falls to 0; None for a constant one.
        shuffle: draw a new order every epoch.
        judge: what a held-out fifth of the queries is judged by, if the best epoch is to be kept: mean
            reciprocal rank among unseen documents, or the loss.
        patience: epochs without a better judgement before it stops.
    """

    draw: Draw
    loss: Loss
    start: Literal["identity", "random"] = "identity"
    rate: float
    epochs: int
    checkpoints: tuple[int, ...] = ()
    batch: int
    temperature: float = 0.05
    margin: float = 0.0
    decay: float = 0.0
    clip: float = 0.0
    warm_up: float | None = None
    shuffle: bool = True
    judge: Literal["", "rank", "loss"] = ""
    patience: int = 5

    def points(self) -> Sequence[Settings]:
        plain: dict[str, Any] = {**asdict(self), "draw": self.draw.__name__, "loss": self.loss.__name__}
        del plain["checkpoints"]
        return [{**plain, "epochs": epochs} for epochs in self.checkpoints or (self.epochs,)]

    def train(self, lessons: Lessons, seed: int) -> Sequence[Deployed]:
        return train(lessons, self, seed)


class Adapter:
    """x ↦ A x + b, on rows."""

    def __init__(self, plan: Plan, width: int, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        if plan.start == "identity":
            self.matrix, self.offset = torch.eye(width), torch.zeros(width)
        else:
            bound = 1 / math.sqrt(width)
            self.matrix = torch.empty(width, width).uniform_(-bound, bound, generator=generator)
            self.offset = torch.empty(width).uniform_(-bound, bound, generator=generator)
        self.parameters = [self.matrix.requires_grad_(), self.offset.requires_grad_()]

    def __call__(self, rows: Tensor) -> Tensor:
        return functional.linear(rows, self.matrix, self.offset)

    def deployed(self) -> Deployed:
        matrix, offset = (part.detach().numpy().copy() for part in self.parameters)
        return Deployed(affine(matrix.T, offset))


def train(lessons: Lessons, plan: Plan, seed: int) -> list[Deployed]:
    """Train by a plan: the map at every checkpoint, or the last one, or the best by the plan's judge."""
    rng = np.random.default_rng([seed, len(lessons)])
    fitting, held = lessons.parted("fresh" if plan.judge == "rank" else "recurring") if plan.judge else (lessons, None)
    adapter = Adapter(plan, lessons.documents.shape[1], seed)
    best = _Best(plan, held, adapter) if held is not None else None
    examples, kept = plan.draw(fitting, rng), []
    batches = _Batches(fitting, examples)
    optimiser = torch.optim.AdamW(adapter.parameters, lr=plan.rate, weight_decay=plan.decay, fused=True)
    total = plan.epochs * math.ceil(len(examples.query) / plan.batch)
    step = 0
    for epoch in range(1, plan.epochs + 1):
        for rows in batches.orders(plan, rng):
            optimiser.param_groups[0]["lr"] = plan.rate * _share(step, total, plan.warm_up)
            _descend(
                plan.loss(adapter(batches.queries[rows]), *batches.documents(rows), plan), adapter, optimiser, plan
            )
            step += 1
        if epoch in plan.checkpoints:
            kept.append(adapter.deployed())
        if best is not None and best.stops():
            break
    return kept or [adapter.deployed() if best is None else best.deployed]


def _descend(loss: Tensor, adapter: Adapter, optimiser: torch.optim.Optimizer, plan: Plan) -> None:
    if not math.isfinite(loss.item()):
        raise FloatingPointError(f"the loss is {loss.item()} under {plan}")
    optimiser.zero_grad()
    loss.backward()
    if plan.clip:
        torch.nn.utils.clip_grad_norm_(adapter.parameters, plan.clip)
    optimiser.step()


def _share(step: int, total: int, warm_up: float | None) -> float:
    """Of the rate at a step: a linear rise, then a linear fall to 0."""
    if warm_up is None:
        return 1.0
    rise = int(warm_up * total)
    return step / rise if step < rise else (total - step) / max(1, total - rise)


class _Batches:
    """Examples as tensors."""

    def __init__(self, lessons: Lessons, examples: Examples) -> None:
        self.corpus = torch.from_numpy(lessons.documents)
        self.queries = torch.from_numpy(lessons.queries[examples.query])
        self.positive, self.negative = torch.from_numpy(examples.positive), torch.from_numpy(examples.negative)

    def orders(self, plan: Plan, rng: np.random.Generator) -> Iterator[Tensor]:
        """Rows of examples, a batch at a time."""
        count = len(self.queries)
        order: IntArray = rng.permutation(count) if plan.shuffle else np.arange(count)
        return iter(torch.from_numpy(order).split(plan.batch))

    def documents(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        return self.corpus[self.positive[rows]], self.corpus[self.negative[rows]]


class _Best:
    """The best map so far on held-out queries; judged by rank, the start is one of them."""

    def __init__(self, plan: Plan, held: Lessons, adapter: Adapter) -> None:
        self.plan, self.held, self.adapter = plan, held, adapter
        self.batches = _Batches(held, plan.draw(held, np.random.default_rng(1)))
        self.queries = torch.from_numpy(held.queries)
        self.deployed, self.waited = adapter.deployed(), 0
        self.value = self._judged() if plan.judge == "rank" else -math.inf

    def stops(self) -> bool:
        """Judge the map as it is now; True once patience is at an end."""
        value = self._judged()
        if value > self.value:
            self.deployed, self.value, self.waited = self.adapter.deployed(), value, 0
        else:
            self.waited += 1
        return self.waited >= self.plan.patience

    @torch.no_grad()  # type: ignore[untyped-decorator]  # torch is not looked into
    def _judged(self) -> float:
        if self.plan.judge == "rank":
            return self._reciprocal_rank()
        rows = torch.arange(len(self.batches.queries))
        mapped = self.adapter(self.batches.queries)
        return -float(self.plan.loss(mapped, *self.batches.documents(rows), self.plan))

    def _reciprocal_rank(self) -> float:
        ranked = (self.adapter(self.queries) @ self.batches.corpus.T).topk(CUTOFF, dim=1).indices.numpy()
        relevant = np.zeros(self.held.closed.shape, dtype=bool)
        relevant[self.held.pair_query, self.held.pair_row] = True
        hits = np.take_along_axis(relevant, ranked, axis=1)
        return float(np.mean(np.where(hits.any(axis=1), 1 / (1 + hits.argmax(axis=1)), 0.0)))
