"""One training loop for every recipe that descends: a map, a loss, AdamW, and perhaps early stopping."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from askew.errors import LabelError, ParameterError
from askew.estimators.examples import Examples
from askew.estimators.layers import Layers
from askew.estimators.lessons import Lessons
from askew.estimators.torch_descent import Descent, steady
from askew.linalg.fixed import IntArray

__all__ = ["Batch", "Draw", "Loss", "Network", "Plan", "train"]

Draw = Callable[[Lessons, np.random.Generator], Examples]
Loss = Callable[["Network", "Batch", "Plan"], Tensor]
# What early stopping by rank looks down to.
_CUTOFF = 10


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One training run.

    Attributes:
        draw: what the examples are.
        loss: of the network on a batch.
        start: the map at the start: the identity, or torch's default for a linear layer.
        layers: 1, or 2 with a rectifier between, as wide as the queries.
        bias: whether layers have an offset.
        shared: one map with a skip connection for both sides, x ↦ x + f(x), in place of a map of queries.
        rate: the learning rate, at its highest.
        epochs: passes over the examples.
        checkpoints: epochs whose map is kept; none for the map at the end.
        batch: examples a step.
        temperature: that similarities are divided by.
        margin: of a triplet.
        recovery: what keeping vectors where they were counts for (Search-Adaptor's α).
        prediction: what foretelling the query from the document counts for (its β).
        decay: decoupled weight decay.
        clip: the largest norm of a gradient; 0 for none.
        warm_up: share of the steps in which the rate rises, after which it falls to 0; None for a constant one.
        shuffle: draw a new order every epoch.
        judge: what held-out queries are judged by, if the best epoch is to be kept: mean reciprocal rank, or the loss.
        patience: epochs without a better judgement before it stops.

    Raises:
        ParameterError: a number is out of its range.
    """

    draw: Draw
    loss: Loss
    start: Literal["identity", "random"] = "identity"
    layers: Literal[1, 2] = 1
    bias: bool = True
    shared: bool = False
    rate: float
    epochs: int
    checkpoints: tuple[int, ...] = ()
    batch: int
    temperature: float = 0.05
    margin: float = 0.0
    recovery: float = 0.0
    prediction: float = 0.0
    decay: float = 0.0
    clip: float = 0.0
    warm_up: float | None = None
    shuffle: bool = True
    judge: Literal["", "rank", "loss"] = ""
    patience: int = 5

    def __post_init__(self) -> None:
        counts = (self.epochs, self.batch, self.patience)
        if self.layers == 2 and self.start == "identity" and not self.shared:
            raise ParameterError("two layers without a skip connection have no identity to start at", where="start")
        if not (self.rate > 0 and self.temperature > 0 and min(counts) >= 1 and self.layers in (1, 2)):
            raise ParameterError(
                f"rate {self.rate}, temperature {self.temperature}, {self.epochs} epochs, batches of {self.batch}, "
                f"patience {self.patience}, {self.layers} layers",
                remedy="Give positive numbers, and 1 or 2 layers",
            )


@dataclass(frozen=True, eq=False)
class Batch:
    """B examples: queries (B, d_query), positives (B, d), negatives (B, k, d), gaps in grade (B, k) or None."""

    queries: Tensor
    positives: Tensor
    negatives: Tensor
    gaps: Tensor | None


class Network:
    """The map being learned, on rows; the parameters are leaves that AdamW moves.

    Args:
        plan: its kind.
        d_query: dimensions of the queries.
        d_document: dimensions of the documents.
        seed: of a random start.
        device: where it lives.
        start: layers to begin with, in place of the plan's start.

    Raises:
        ParameterError: the identity, or one map for both sides, between unequal dimensions; or other layers to begin
            with than the plan's.
    """

    def __init__(
        self, plan: Plan, d_query: int, d_document: int, *, seed: int, device: str, start: Layers | None = None
    ) -> None:
        if d_query != d_document and (plan.shared or (plan.start == "identity" and start is None)):
            raise ParameterError(
                f"queries of {d_query} dimensions and documents of {d_document} have no identity between them",
                where="start",
                remedy="Start at random, or at an alignment",
            )
        if start is not None and (start.shape != (d_query, d_document) or len(start.weights) != plan.layers):
            raise ParameterError(f"the map to start at is {start.shape}, of {len(start.weights)} layers", where="start")
        self.plan, generator = plan, torch.Generator().manual_seed(seed)
        found = _given(start, bias=plan.bias) if start is not None else _layers(plan, d_query, d_document, generator)
        self.weights = [_leaf(weight, device) for weight, _ in found]
        self.offsets = [None if offset is None else _leaf(offset, device) for _, offset in found]
        self.parameters = [
            part for pair in zip(self.weights, self.offsets, strict=True) for part in pair if part is not None
        ]
        self.predictor = None
        if plan.prediction:
            self.predictor = _leaf(_random(d_query, d_document, plan, generator)[0], device)
            self.parameters.append(self.predictor)

    def __call__(self, rows: Tensor) -> Tensor:
        """(n, d_query) → (n, d_document)."""
        found = rows
        for place, (weight, offset) in enumerate(zip(self.weights, self.offsets, strict=True)):
            found = functional.linear(functional.relu(found) if place else found, weight, offset)
        return rows + found if self.plan.shared else found

    def documents(self, rows: Tensor) -> Tensor:
        """Documents as they are searched: mapped too where one map serves both sides."""
        return self(rows) if self.plan.shared else rows

    def shipped(self) -> Layers:
        """The map as it is now, in numpy."""
        weights = tuple(weight.detach().cpu().numpy().copy() for weight in self.weights)
        offsets = tuple(None if offset is None else offset.detach().cpu().numpy().copy() for offset in self.offsets)
        return Layers(weights, offsets, skip=self.plan.shared)


def train(
    lessons: Lessons,
    plan: Plan,
    *,
    seed: int = 0,
    held: Lessons | None = None,
    start: Layers | None = None,
    device: str = "cpu",
) -> list[Layers]:
    """Train by a plan.

    One thread on the CPU, and every draw from the seed: the same bits every time. On CUDA the draws are the same and
    the last bits of sums are the device's.

    Args:
        lessons: what to learn from.
        plan: how.
        seed: of the start, the examples and their order.
        held: queries that judge, where the plan asks for it.
        start: a map to begin with, such as an alignment.
        device: ``"cpu"``, ``"cuda"`` or another name of torch's.

    Returns:
        The map at every checkpoint, or the last one, or the best by the plan's judge.

    Raises:
        LabelError: the plan judges, and there is nothing to judge by.
        ParameterError: the loss or a weight left the finite numbers (it says at which step; nothing is returned, so
            nothing can be written), there is no such device, or the map does not fit the dimensions.
    """
    if plan.judge and not (held is not None and len(held)):
        raise LabelError("early stopping needs held-out queries", where="held", remedy="Hold some out, or set judge=''")
    rng = np.random.default_rng([seed, len(lessons) + (len(held) if held is not None else 0)])
    with steady(device):
        widths = lessons.queries.shape[1], lessons.documents.shape[1]
        network = Network(plan, *widths, seed=seed, device=device, start=start)
        best = _Best(plan, held, network, device) if plan.judge and held is not None else None
        examples, kept = plan.draw(lessons, rng), list[Layers]()
        batches = _Batches(lessons, examples, device)
        descent = Descent(
            [(network.parameters, plan.rate)],
            total=plan.epochs * math.ceil(len(examples.query) / plan.batch),
            decay=plan.decay,
            clip=plan.clip,
            warm_up=plan.warm_up,
        )
        for epoch in range(1, plan.epochs + 1):
            for rows in batches.orders(plan, rng):
                descent.down(plan.loss(network, batches.at(rows), plan), epoch=epoch)
            if epoch in plan.checkpoints:
                descent.check(epoch=epoch)
                kept.append(network.shipped())
            if best is not None and best.stops():
                break
        if kept:
            return kept
        if best is not None:
            return [best.shipped]
        descent.check(epoch=epoch)
        return [network.shipped()]


class _Batches:
    """Examples as tensors."""

    def __init__(self, lessons: Lessons, examples: Examples, device: str) -> None:
        self.device = device
        self.corpus = self._there(lessons.documents)
        self.queries = self._there(lessons.queries[examples.query])
        self.positive, self.negative = self._there(examples.positive), self._there(examples.negative)
        self.gap = None if examples.gap is None else self._there(examples.gap.astype(np.float32))

    def _there(self, rows: npt.NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(rows)).to(self.device)

    def orders(self, plan: Plan, rng: np.random.Generator) -> Iterator[Tensor]:
        """Rows of examples, a batch at a time."""
        count = len(self.queries)
        order: IntArray = rng.permutation(count) if plan.shuffle else np.arange(count)
        return iter(self._there(order).split(plan.batch))

    def at(self, rows: Tensor) -> Batch:
        gaps = None if self.gap is None else self.gap[rows]
        return Batch(self.queries[rows], self.corpus[self.positive[rows]], self.corpus[self.negative[rows]], gaps)

    def all(self) -> Batch:
        return self.at(torch.arange(len(self.queries), device=self.device))


class _Best:
    """The best map so far on held-out queries; judged by rank, the start is one of them."""

    def __init__(self, plan: Plan, held: Lessons, network: Network, device: str) -> None:
        self.plan, self.held, self.network = plan, held, network
        # The same strategy mines for the judge, from another seed than the examples'.
        self.batches = _Batches(held, plan.draw(held, np.random.default_rng(1)), device)
        self.queries = torch.from_numpy(held.queries).to(device)
        self.shipped, self.waited = network.shipped(), 0
        self.value = self._judged() if plan.judge == "rank" else -math.inf

    def stops(self) -> bool:
        """Judge the map as it is now; True once patience is at an end."""
        value = self._judged()
        if value > self.value:
            self.shipped, self.value, self.waited = self.network.shipped(), value, 0
        else:
            self.waited += 1
        return self.waited >= self.plan.patience

    @torch.no_grad()  # type: ignore[untyped-decorator]  # torch is not looked into
    def _judged(self) -> float:
        if self.plan.judge == "rank":
            return self._reciprocal_rank()
        return -float(self.plan.loss(self.network, self.batches.all(), self.plan))

    def _reciprocal_rank(self) -> float:
        scores = self.network(self.queries) @ self.network.documents(self.batches.corpus).T
        ranked = scores.topk(min(_CUTOFF, scores.shape[1]), dim=1).indices.cpu().numpy()
        relevant = np.zeros((len(self.held), len(self.held.documents)), dtype=bool)
        relevant[self.held.pair_query, self.held.pair_row] = True
        hits = np.take_along_axis(relevant, ranked, axis=1)
        return float(np.mean(np.where(hits.any(axis=1), 1 / (1 + hits.argmax(axis=1)), 0.0)))


_Layer = tuple[Tensor, Tensor | None]


def _given(start: Layers, *, bias: bool) -> list[_Layer]:
    pairs = zip(start.weights, start.offsets, strict=True)
    made = [(torch.tensor(weight), None if offset is None else torch.tensor(offset)) for weight, offset in pairs]
    if not bias:
        return [(weight, None) for weight, _ in made]
    return [(weight, torch.zeros(len(weight)) if offset is None else offset) for weight, offset in made]


def _layers(plan: Plan, d_query: int, d_document: int, generator: torch.Generator) -> list[_Layer]:
    first = [_random(d_query, d_query, plan, generator)] if plan.layers == 2 else []
    if plan.start == "random":
        return [*first, _random(d_document, d_query, plan, generator)]
    # Beside a skip connection it is f = 0 that makes the identity.
    matrix = torch.zeros(d_document, d_query) if plan.shared else torch.eye(d_query)
    return [*first, (matrix, torch.zeros(d_document) if plan.bias else None)]


def _random(d_out: int, d_in: int, plan: Plan, generator: torch.Generator) -> _Layer:
    """As torch starts a linear layer."""
    bound = 1 / math.sqrt(d_in)
    weight = torch.empty(d_out, d_in).uniform_(-bound, bound, generator=generator)
    return weight, torch.empty(d_out).uniform_(-bound, bound, generator=generator) if plan.bias else None


def _leaf(part: Tensor, device: str) -> Tensor:
    return part.to(device).requires_grad_()
